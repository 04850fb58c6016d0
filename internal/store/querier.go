package store

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// querier runs the statements of one transaction or one snapshot. Parameters
// are written as ?; a statement that is not run again in the same words goes
// through once, which keeps nothing prepared.
type querier interface {
	exec(ctx context.Context, query string, args ...any) (affected int64, err error)
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	once(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// get reads one row into dest; [sql.ErrNoRows] when there is none.
func get(ctx context.Context, q querier, query string, args []any, dest ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	return single(rows, dest...)
}

func single(rows *sql.Rows, dest ...any) error {
	defer func() { _ = rows.Close() }() // Err tells what went wrong
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := rows.Scan(dest...); err != nil {
		return err
	}
	// A statement that changes rows and returns one must run to its end.
	for rows.Next() {
		continue
	}
	return rows.Err()
}

// all reads every row of a query.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return collect(rows, scan)
}

func collect[T any](rows *sql.Rows, scan func(scanner) (T, error)) ([]T, error) {
	defer func() { _ = rows.Close() }() // Err tells what went wrong
	var list []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}

// scanner is a row that can be read.
type scanner interface{ Scan(dest ...any) error }

func scanString(r scanner) (s string, err error) {
	err = r.Scan(&s)
	return s, err
}

// preparer is a connection or a transaction of database/sql.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// prepared keeps the statements of one SQLite connection. One goroutine at a
// time uses it.
type prepared struct {
	conn  preparer
	stmts map[string]*sql.Stmt
}

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := p.stmts[query]; ok {
		return st, nil
	}
	st, err := p.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("prepare %.60q: %w", query, err)
	}
	p.stmts[query] = st
	return st, nil
}

func (p *prepared) exec(ctx context.Context, query string, args ...any) (int64, error) {
	st, err := p.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return 0, err
	}
	result, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (p *prepared) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	st, err := p.stmt(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, args...)
}

func (p *prepared) once(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.conn.QueryContext(ctx, query, args...)
}

// runner is the part of sql.DB and sql.Tx that numbered needs.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// numbered speaks to Postgres, which numbers its parameters. pgx keeps the
// statements of a connection prepared by itself.
type numbered struct {
	run   runner
	texts *sync.Map // query as written → with numbers
}

func (n numbered) text(query string) string {
	if text, ok := n.texts.Load(query); ok {
		return text.(string)
	}
	text := rebind(query)
	n.texts.Store(query, text)
	return text
}

func (n numbered) exec(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := n.run.ExecContext(ctx, n.text(query), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

func (n numbered) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.run.QueryContext(ctx, n.text(query), args...)
}

func (n numbered) once(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return n.run.QueryContext(ctx, rebind(query), args...)
}

// rebind numbers the parameters of a query. No query of this package has a
// question mark in a literal.
func rebind(query string) string {
	var b strings.Builder
	n := 0
	for _, r := range query {
		if r != '?' {
			b.WriteRune(r)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}
