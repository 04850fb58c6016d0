package store

import (
	"context"
	"fmt"

	"deerflow/internal/evidence"
)

// putCheck stores what became of the citations of a document, in place of what
// was found the last time the run was there.
func (t *tx) putCheck(ctx context.Context, runID string, c *evidence.Check) error {
	body, err := encode(c)
	if err != nil {
		return err
	}
	_, err = t.exec(ctx, `INSERT INTO citations (thread_id, run_id, place, body, at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (thread_id, run_id, place) DO UPDATE SET body = excluded.body, at = excluded.at`,
		t.thread, runID, clean(c.Place), string(body), micros(t.now))
	return wrap(err, "store the citations of %s", c.Place)
}

// runCheck is a check with the run that it is of.
type runCheck struct {
	run   string
	check evidence.Check
}

func scanCheck(r scanner) (c runCheck, err error) {
	var body string
	if err := r.Scan(&c.run, &body); err != nil {
		return c, err
	}
	if err := decode(body, &c.check); err != nil {
		return c, fmt.Errorf("citations of run %s: %w", c.run, err)
	}
	return c, nil
}

// Checks reads what became of the citations of a thread's runs: by run, files
// before the answer. An empty runID is all runs.
func (s *Store) Checks(ctx context.Context, threadID, runID string) (map[string][]evidence.Check, error) {
	query, args := `SELECT run_id, body FROM citations WHERE thread_id = ?`, []any{threadID}
	if runID != "" {
		query, args = query+` AND run_id = ?`, append(args, runID)
	}
	checks := map[string][]evidence.Check{}
	err := s.read(ctx, func(ctx context.Context, q querier) error {
		list, err := all(ctx, q, scanCheck, query+` ORDER BY run_id, place`, args...)
		for i := range list {
			checks[list[i].run] = append(checks[list[i].run], list[i].check)
		}
		return err
	})
	return checks, wrap(err, "read the citations of thread %q", threadID)
}
