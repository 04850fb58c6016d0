package chain

import (
	"database/sql"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"deerflow/internal/step"
	. "deerflow/internal/testkit"
)

const (
	growthTurns = 206
	mostGrowth  = 1.3
)

// What a turn adds to the history of a workflow and to the database does not
// grow with the conversation: turn 200 against turn 10, each as the median of
// the turns around it, with the whole chain on.
func TestATurnDoesNotGrowWithTheConversation(t *testing.T) {
	t.Parallel()
	m := NewModel(t)
	plans := todos("look around", "completed", "tell of it", "completed")
	plans.ID = "plan"
	looks := looksAround(growthTurns)
	m.Respond(func(r *Request) Reply {
		if r.Turn() == 0 {
			return Text("First a plan.", WithCalls(plans), WithUsage(100, 20))
		}
		return looks(r)
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m, everythingOn, "thread: {max_turns: 1000}")})
	id := newThread(t, p.API())
	r := Say("look around for long")
	require.Equal(t, "success", finish(t, p.API(), id, begin(t, p.API(), id, r)).Status)
	requests := len(m.Requests())
	require.Equal(t, growthTurns+1, requests)

	var history []int // bytes from one model call to the next
	size := 0
	for _, e := range eventsOf(t, p, id) {
		if e.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == step.CallModel {
			history, size = append(history, size), 0
		}
		size += e.Size()
	}
	early, late := around(history, 10), around(history, 200)
	t.Logf("history bytes: turn 10 %d, turn 200 %d", early, late)
	require.Positive(t, early)
	require.LessOrEqual(t, float64(late), mostGrowth*float64(early), "history bytes")

	rows := rowsPerTurn(t, p, id)
	early, late = around(rows, 10), around(rows, 200)
	t.Logf("database bytes: turn 10 %d, turn 200 %d", early, late)
	require.Positive(t, early)
	require.LessOrEqual(t, float64(late), mostGrowth*float64(early), "database bytes")
}

// around is the median of the ten turns around one.
func around(sizes []int, turn int) int {
	near := slices.Clone(sizes[turn-5 : turn+5])
	slices.Sort(near)
	return near[len(near)/2]
}

// rowsPerTurn are the bytes of all rows that the steps of a turn wrote. A turn
// begins with the step of its answer.
func rowsPerTurn(t *testing.T, p *Process, id string) []int {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(p.DataDir, "deerflow.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	steps := map[int]int{}
	var answers []int
	read := func(query string) {
		rows, err := db.QueryContext(patient(t), query, id)
		require.NoError(t, err)
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var at, bytes int
			var answer bool
			require.NoError(t, rows.Scan(&at, &bytes, &answer))
			steps[at] += bytes
			if answer {
				answers = append(answers, at)
			}
		}
		require.NoError(t, rows.Err())
	}
	read(`SELECT step, length(body)+length(digest)+length(id)+length(run_id)+60, digest LIKE '%"ai"%' FROM messages WHERE thread_id = ?`)
	read("SELECT step, length(data)+length(type)+length(run_id)+60, 0 FROM events WHERE thread_id = ?")
	read("SELECT step, length(data)+length(segments)+length(state)+length(interrupts)+length(id)+length(parent)+80, 0 FROM checkpoints WHERE thread_id = ?")
	slices.Sort(answers)
	answers = slices.Compact(answers)
	require.Len(t, answers, growthTurns+1)
	turns := make([]int, len(answers))
	for at, bytes := range steps {
		if i, found := slices.BinarySearch(answers, at); found || i > 0 {
			if !found {
				i--
			}
			turns[i] += bytes
		}
	}
	return turns
}
