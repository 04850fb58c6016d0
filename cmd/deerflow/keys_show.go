package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"deerflow/internal/cli"
	"deerflow/internal/store"
)

// keyShape is a key as the commands show it.
type keyShape struct {
	ID         string     `json:"id"`
	Key        string     `json:"key,omitempty"` // once, when it is made
	User       string     `json:"user"`
	Name       string     `json:"name"`
	Role       store.Role `json:"role"`
	Status     string     `json:"status"` // active, expired or revoked
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at"`
	RevokedAt  *time.Time `json:"revoked_at"`
}

func toKeyShape(k *store.Key, now time.Time) keyShape {
	shape := keyShape{
		ID: k.ID, User: k.User, Name: k.Label, Role: k.Role, Status: "active", CreatedAt: k.CreatedAt,
		ExpiresAt: maybe(k.ExpiresAt), LastUsedAt: maybe(k.LastUsedAt), RevokedAt: maybe(k.RevokedAt),
	}
	switch {
	case k.Revoked():
		shape.Status = "revoked"
	case k.Expired(now):
		shape.Status = "expired"
	}
	return shape
}

func maybe(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func writeKeys(app App, keys []keyShape, format cli.Format) error {
	switch format {
	case cli.FormatJSON:
		return format.WriteJSON(app.Out, keys)
	case cli.FormatJSONL:
		for i := range keys {
			if err := format.WriteJSON(app.Out, keys[i]); err != nil {
				return err
			}
		}
		return nil
	case cli.FormatText:
	}
	if len(keys) == 0 {
		_, err := fmt.Fprintln(app.ErrOut, "deerflow: there are no keys; make one with: deerflow keys create")
		return err
	}
	w := tabwriter.NewWriter(app.Out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ID\tUSER\tROLE\tSTATUS\tCREATED\tLAST USED\tEXPIRES\tNAME")
	for i := range keys {
		k := &keys[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.User, k.Role, k.Status,
			day(&k.CreatedAt), day(k.LastUsedAt), day(k.ExpiresAt), k.Name)
	}
	return w.Flush()
}

func day(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}
