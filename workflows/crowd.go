package workflows

import (
	"fmt"

	"deerflow/internal/step"
)

// Temporal takes 2,000 updates in one run of a workflow, and none after that,
// not even a stop. Refused ones do not count.
const (
	// renewAfter is how many updates are taken before the workflow continues as
	// new, between turns or while nothing is to be done.
	renewAfter = 1000
	// reserved are the last ones, which are kept for stops and answers when a
	// single turn lasts for long: new runs have to wait for its end.
	mostTaken = 2000
	reserved  = 200
)

// longestQueue is how many runs may wait: they are carried.
const longestQueue = 64

// crowded refuses a run, or an update of the state, for which there is no room
// at the moment.
func (c *conversation) crowded() error {
	switch waiting := len(c.st.Queue) + len(c.dropped); {
	case waiting >= longestQueue:
		return refuse(step.ErrCrowded, fmt.Sprintf("%d runs wait on thread %s already, which is as many as may; try again when some have ended", waiting, c.in.Thread))
	case c.taken >= mostTaken-reserved:
		return refuse(step.ErrCrowded, fmt.Sprintf("Thread %s was sent too many requests during one step; try again when it has ended", c.in.Thread))
	}
	return nil
}
