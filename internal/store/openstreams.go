package store

import (
	"context"

	"deerflow/internal/step"
)

// OpenStreams lists the messages of running runs that were shown in part and have
// neither a row nor a seal, oldest first.
func (s *Store) OpenStreams(ctx context.Context, threadID string) ([]step.Stream, error) {
	var open []step.Stream
	err := s.read(ctx, func(ctx context.Context, q querier) (err error) {
		open, err = all(ctx, q, scanStream, `SELECT c.run_id, c.message_id FROM claims AS c
			JOIN runs AS r ON r.thread_id = c.thread_id AND r.id = c.run_id AND r.status = 'running'
			WHERE c.thread_id = ? AND c.closed = 0 AND EXISTS (SELECT 1 FROM events AS e
				WHERE e.thread_id = c.thread_id AND e.seq > c.from_seq AND e.claim = c.claim AND e.run_id = c.run_id AND e.step = c.step AND e.type = ?)
			ORDER BY c.first_seq`, threadID, EventDelta)
		return err
	})
	return open, wrap(err, "list the open answers of thread %q", threadID)
}

func scanStream(r scanner) (step.Stream, error) {
	var o step.Stream
	err := r.Scan(&o.Run, &o.MessageID)
	return o, err
}
