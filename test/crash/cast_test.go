package crash

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"deerflow/internal/testkit"
)

// cast is the model of all threads of a system. Each question names its thread,
// so that a request is answered by what belongs there.
type cast struct {
	model *testkit.Model

	mu    sync.Mutex
	parts map[string]part // by thread
}

// part answers the requests of one thread.
type part interface {
	answer(r *testkit.Request) testkit.Reply
}

func newCast(t *testing.T) *cast {
	t.Helper()
	c := &cast{model: testkit.NewModel(t), parts: map[string]part{}}
	c.model.Respond(c.respond)
	return c
}

func (c *cast) enter(threadID string, p part) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts[threadID] = p
}

// mark is what a question says to be found.
func mark(threadID string) string { return "[" + threadID + "]" }

var marked = regexp.MustCompile(`\[([0-9a-f-]{36})\]`)

func (c *cast) respond(r *testkit.Request) testkit.Reply {
	for _, m := range r.Messages {
		if found := marked.FindStringSubmatch(m.Text()); m.Role == "user" && found != nil {
			c.mu.Lock()
			p := c.parts[found[1]]
			c.mu.Unlock()
			if p != nil {
				return p.answer(r)
			}
		}
	}
	return testkit.APIError(400, "nobody", "no thread is marked in this request")
}

// plain begins the questions that are not what a scene is about.
const plain = "plain: "

// answerPlain answers one of those.
func answerPlain(r *testkit.Request) (testkit.Reply, bool) {
	if !strings.HasPrefix(r.LastUser(), plain) {
		return testkit.Reply{}, false
	}
	return testkit.Text("re: "+strings.Fields(r.LastUser())[1], testkit.WithChunks(2)), true
}
