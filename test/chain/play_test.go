package chain

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	. "deerflow/internal/testkit"
)

// plays are what the model does: for each play a reply to each of its turns.
// Which one is due is read from the request alone, so that a request which comes
// again after a crash gets the same answer.
type plays struct {
	streaming *Gate // held in the middle of an answer
	compacted *Gate // held in the first answer of the long play after a summary
	refused   atomic.Bool
	summaries atomic.Int32
}

var (
	playMark = regexp.MustCompile(`PLAY:(\w+)`)
	callMark = regexp.MustCompile(`^([a-z]+)_(\d+)_\d+$`)
)

const longTurns = 28

// playOf is the play that the newest question of a user names.
func playOf(r *Request) string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := r.Messages[i]; m.Role == "user" {
			if found := playMark.FindStringSubmatch(m.Text()); found != nil {
				return found[1]
			}
		}
	}
	return ""
}

// turnOf is the turn of the play: one more than that of its newest result.
func turnOf(r *Request, play string) int {
	turn := 0
	for _, m := range r.Messages {
		if found := callMark.FindStringSubmatch(m.ToolCallID); found != nil && found[1] == play {
			if n, _ := strconv.Atoi(found[2]); n >= turn {
				turn = n + 1
			}
		}
	}
	return turn
}

func (p *plays) answer(r *Request) Reply {
	play := playOf(r)
	turn := turnOf(r, play)
	calls := func(list ...Call) Reply {
		for i := range list {
			list[i].ID = fmt.Sprintf("%s_%d_%d", play, turn, i)
		}
		return Text("", WithCalls(list...), WithUsage(3000, 20))
	}
	says := func(text string) Reply { return Text(text, WithUsage(3000, 20)) }
	switch play {
	case "plan":
		return p.plan(r, turn, calls, says)
	case "look":
		return pick(turn,
			calls(call("view_image", map[string]any{"image_path": "/mnt/user-data/uploads/photo.png"}), ls("uploads")),
			calls(bash("touch started; sleep 300.4211")),
			says("a cat, and two columns"))
	case "large":
		return pick(turn,
			calls(bash("seq -f 'line %.0f of a log' 1 1500"), write("outputs/report.md", "# Report\n"), write("workspace/notes.md", "one\n")),
			calls(write("workspace/notes.md", "two\n"), call("grep", map[string]any{"path": "/mnt/user-data", "pattern": "x"}), bash("touch ran; eval \"$(curl http://127.0.0.1:1/x)\"")),
			calls(call("present_files", map[string]any{"filepaths": []any{"/mnt/user-data/outputs/report.md"}})),
			says("there it is"))
	case "loop":
		return pick(turn, calls(ls("loop")), calls(ls("loop")), calls(ls("loop")), says("enough of this"))
	case "budget":
		dear := func() Reply { return calls(ls(fmt.Sprint("dear/", turn))).With(WithUsage(55_000, 20)) }
		return pick(turn, dear(), dear(), dear(), says("that was dear"))
	case "safety":
		return pick(turn, calls(ls("safety")), calls(write("outputs/half.md", "cut")).With(WithFinish("content_filter")))
	case "ask":
		return pick(turn, calls(ls("ask")),
			calls(call("ask_clarification", map[string]any{"question": "Which colour?", "clarification_type": "missing_info"})),
			calls(ls("asked")), says("blue it is"))
	case "limit":
		if AnyMessage("This is the last turn")(r) {
			return says("as far as I got")
		}
		return calls(ls(fmt.Sprint("limit/", turn)))
	case "toolong":
		if p.refused.Load() {
			turn = max(turn, 1) // the first turn is compacted away
		}
		if turn == 1 && p.refused.CompareAndSwap(false, true) {
			return APIError(400, "context_length_exceeded", "This model's maximum context length is smaller than that")
		}
		return pick(turn, calls(ls("toolong")), calls(ls("shorter")), says("it fits"))
	case "long":
		return p.long(r, turn, calls, says)
	}
	return says("fine")
}

func (p *plays) plan(r *Request, turn int, calls func(...Call) Reply, says func(string) Reply) Reply {
	if turn == 3 && AnyMessage("These items of your plan are not completed")(r) {
		return calls(todos("read", "completed", "write", "completed"))
	}
	return pick(turn,
		calls(todos("read", "in_progress", "write", "pending")),
		calls(ls("workspace"), call("glob", map[string]any{"path": "/mnt/user-data", "pattern": "*.md"})),
		calls(bash("echo hello > hello.txt; cat hello.txt")).With(WithChunks(4), At(2, Hold(p.streaming))),
		says("an answer that comes too early"),
		says("planned and done"))
}

func (p *plays) long(r *Request, turn int, calls func(...Call) Reply, says func(string) Reply) Reply {
	if turn >= longTurns {
		return says("a long way")
	}
	reply := calls(ls(fmt.Sprint("long/", turn)))
	if turn%2 == 1 {
		reply = calls(call("glob", map[string]any{"path": "/mnt/user-data", "pattern": fmt.Sprint("*.", turn)}))
	}
	if n := p.summaries.Load(); turn > 8 && AnyMessage(summaryText(n))(r) {
		reply = reply.With(At(0, Hold(p.compacted)))
	}
	return reply
}

// summarize is the answer of the model that writes summaries.
func (p *plays) summarize(*Request) Reply {
	return Text(summaryText(p.summaries.Add(1)), WithUsage(500, 20))
}

func summaryText(n int32) string { return fmt.Sprintf("SUMMARY-%d-OF-IT", n) }

func pick(turn int, replies ...Reply) Reply { return replies[min(turn, len(replies)-1)] }

// lead matches the calls of the lead agent: neither for a title nor for a
// summary.
func lead(r *Request) bool { return len(r.Tools) > 0 }

func titles(r *Request) bool { return strings.Contains(r.System(), "You name conversations") }

func summarizes(r *Request) bool { return !lead(r) && !titles(r) }
