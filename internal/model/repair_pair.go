package model

import "deerflow/internal/thread"

// pair finds the results of the calls of the message at a position. A result is
// used once, the first one first, since providers repeat ids in later turns.
func (r *repairer) pair(at int, calls []repairCall) {
	var open []int // calls without an id
	for i := range calls {
		if blank(calls[i].id) {
			open = append(open, i)
			continue
		}
		calls[i].result = r.takeResult(calls[i].id, at)
	}
	if len(open) > 0 {
		r.pairOpen(at, calls, open)
	}
}

// takeResult takes the first unused result for an id behind a position.
func (r *repairer) takeResult(id string, after int) int {
	for _, i := range r.byID[id] {
		if i > after && !r.used[i] {
			r.used[i] = true
			return i
		}
	}
	return -1
}

// pairOpen finds results for calls without an id among the results without an
// id of the same turn: by name where it is unique, by place where that leaves no
// doubt. A doubtful result is dropped rather than given to the wrong call.
func (r *repairer) pairOpen(at int, calls []repairCall, open []int) {
	var results []int
	for i := at + 1; i < len(r.messages) && r.messages[i].Role != thread.RoleAI; i++ {
		if m := &r.messages[i]; m.Role == thread.RoleTool && blank(m.ToolCallID) && !r.used[i] {
			results = append(results, i)
		}
	}
	for _, c := range open {
		name := calls[c].call.Name
		match, ok := onlyOne(results, func(i int) bool { return !r.used[i] && r.resultName(i) == name })
		if _, alone := onlyOne(open, func(o int) bool { return calls[o].call.Name == name }); ok && alone {
			r.used[match], calls[c].result = true, match
		}
	}
	open = keep(open, func(c int) bool { return calls[c].result < 0 })
	results = keep(results, func(i int) bool { return !r.used[i] })
	if len(open) != len(results) {
		return
	}
	for n, c := range open {
		if name := r.resultName(results[n]); name != "" && name != calls[c].call.Name {
			return
		}
	}
	for n, c := range open {
		r.used[results[n]], calls[c].result = true, results[n]
	}
}

// resultName is the tool that a result says it is from, "" when it does not.
func (r *repairer) resultName(i int) string {
	if blank(r.messages[i].Name) {
		return ""
	}
	return wireName(r.messages[i].Name)
}

func onlyOne(list []int, match func(int) bool) (int, bool) {
	found := keep(list, match)
	if len(found) != 1 {
		return -1, false
	}
	return found[0], true
}

func keep(list []int, match func(int) bool) []int {
	var out []int
	for _, v := range list {
		if match(v) {
			out = append(out, v)
		}
	}
	return out
}
