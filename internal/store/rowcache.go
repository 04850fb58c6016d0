package store

import (
	"context"
	"math"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"deerflow/internal/thread"
)

// Bounds of the rows that stay decoded in memory: the transcripts of the threads
// that are being worked on, which every model call reads from the start.
const (
	rowsCached      = 8192
	rowsCachedBytes = 64 << 20 // of their bodies
)

// rowName names one revision of a message. It never changes once it is written;
// the time tells it from one of a deleted thread that had the same ids.
type rowName struct {
	thread string
	id     string
	rev    int
	pos    int64
	at     int64 // microseconds
}

// rowCache keeps decoded rows. What it gives out is shared: read only.
type rowCache struct {
	rows  *lru.Cache[rowName, Row]
	bytes atomic.Int64
}

func newRowCache() (*rowCache, error) {
	c := &rowCache{}
	var err error
	c.rows, err = lru.NewWithEvict(rowsCached, func(_ rowName, row Row) { c.bytes.Add(-weight(&row)) })
	return c, err
}

// weight is about how many bytes a row holds: those of what may be large.
func weight(row *Row) int64 {
	m := &row.Message
	n := len(m.Reasoning()) + len(m.Artifact) + len(row.Digest)
	for _, b := range m.Content.Parts() {
		n += len(b.Text) + len(b.Raw)
	}
	for i := range m.ToolCalls {
		n += len(m.ToolCalls[i].Args)
	}
	return int64(n)
}

// add keeps a row, and lets go of the oldest while there is too much.
func (c *rowCache) add(threadID string, row Row) {
	name := rowName{threadID, row.ID, row.Rev, row.Pos, micros(row.At)}
	if _, known, _ := c.rows.PeekOrAdd(name, row); known {
		return
	}
	c.bytes.Add(weight(&row))
	for c.bytes.Load() > rowsCachedBytes {
		if _, _, some := c.rows.RemoveOldest(); !some {
			return
		}
	}
}

// head is a row without its body.
type head struct {
	pos int64
	id  string
	rev int
	at  int64
}

func scanHead(r scanner) (h head, err error) {
	err = r.Scan(&h.pos, &h.id, &h.rev, &h.at)
	return h, err
}

// read gives the rows of a segment. It asks the database which rows there are,
// and reads the bodies of those that it does not know from the first of them on.
func (c *rowCache) read(ctx context.Context, q querier, threadID string, seg thread.Segment) ([]Row, error) {
	heads, err := all(ctx, q, scanHead, `SELECT m.pos, m.id, m.rev, m.created_at FROM messages AS m
		WHERE m.thread_id = ? AND m.pos >= ? AND m.pos < ? ORDER BY m.pos, m.seq`, threadID, seg.From, seg.To)
	if err != nil {
		return nil, err
	}
	rows := make([]Row, 0, len(heads))
	for i, h := range heads {
		if i+1 < len(heads) && heads[i+1].pos == h.pos {
			continue // a later revision stands at this position
		}
		row, ok := c.rows.Get(rowName{threadID, h.id, h.rev, h.pos, h.at})
		if !ok {
			rest, err := readRange(ctx, q, rowColumns, threadID, h.pos, seg.To, math.MaxInt64)
			if err != nil {
				return nil, err
			}
			for _, r := range rest {
				c.add(threadID, r)
			}
			return append(rows, rest...), nil
		}
		rows = append(rows, row)
	}
	return rows, nil
}
