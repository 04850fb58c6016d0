package agent

// The types of a [Measure].
const (
	MeasureMessages = "messages"
	MeasureTokens   = "tokens"
	MeasureFraction = "fraction"
)

// Load is how full a request is.
type Load struct {
	Messages int // in view, the summary among them
	Tokens   int // of these
	Total    int // with prompt and schemas, as the provider is expected to count
}

// Limit is a trigger that has been reached; a zero one is none.
type Limit struct {
	// Tokens of messages that must not stay, since they would be the next
	// trigger; 0 for a trigger that counts messages.
	Tokens int
	// Gain is the least that a compaction must bring to be worth its call.
	Gain    int
	Reached bool
}

// Reached looks for a trigger that is due (spec 10.2, any of them).
func (r *SummarizationRule) Reached(load Load, window WindowRule) Limit {
	for _, t := range r.Triggers {
		limit := int(t.Value)
		switch t.Type {
		case MeasureMessages:
			if load.Messages >= max(limit, 1) {
				return Limit{Reached: true}
			}
			continue
		case MeasureFraction:
			if window.Size == 0 {
				continue // nothing to take a fraction of
			}
			limit = int(float64(window.Size) * t.Value)
		}
		if limit = max(limit, 1); load.Total >= limit {
			return Limit{Tokens: limit, Gain: limit / 10, Reached: true}
		}
	}
	return Limit{}
}
