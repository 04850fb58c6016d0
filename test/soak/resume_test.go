package soak

import (
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// active is how long before a kill a thread has shown a sign of life at most, to
// be one that has to go on after it.
const active = 500 * time.Millisecond

// event is one line of a thread's log.
type event struct {
	at  time.Time
	end bool // of a run
}

// resumes are the times that threads stood still after kills: from the last kill
// to the first event of each thread that was being worked on.
func resumes(t *testing.T, db *sql.DB, times []time.Time, grace time.Duration) []time.Duration {
	t.Helper()
	var all []time.Duration
	for _, events := range logs(t, db) {
		for i := 1; i < len(events); i++ {
			before, next := events[i-1], events[i]
			first := slices.IndexFunc(times, func(at time.Time) bool { return at.After(before.at) })
			if first < 0 || before.end || times[first].Sub(before.at) > active || !next.at.After(times[first].Add(grace)) {
				continue
			}
			last := times[first]
			for _, at := range times[first:] {
				if at.Before(next.at) {
					last = at
				}
			}
			all = append(all, next.at.Sub(last))
		}
	}
	return all
}

// logs are the events of each thread, in order.
func logs(t *testing.T, db *sql.DB) map[string][]event {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT thread_id, at, type FROM events ORDER BY thread_id, seq")
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	found := map[string][]event{}
	for rows.Next() {
		var thread, kind string
		var at int64
		require.NoError(t, rows.Scan(&thread, &at, &kind))
		found[thread] = append(found[thread], event{at: time.UnixMicro(at), end: kind == "run.end"})
	}
	require.NoError(t, rows.Err())
	return found
}

func percentile(list []time.Duration, p float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(float64(len(sorted)-1)*p)]
}
