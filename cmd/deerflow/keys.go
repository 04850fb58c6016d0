package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
	"deerflow/internal/store"
)

const keysLong = `Makes, lists and revokes the keys that callers of the HTTP API prove themselves with,
as 'x-api-key: KEY' or 'Authorization: Bearer KEY'. They are asked for when
auth.enabled is true, or auto and the server listens on more than loopback.

Works on the database directly, that of --data-dir or of DEERFLOW_DATABASE_URL, also
while a server runs on it: what changes here is in force there within five seconds.`

// defaultKeyUser owns what was made while nobody had to prove who they are.
const defaultKeyUser = "default"

func newKeysCommand(app App, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make, list and revoke API keys", Long: keysLong,
		Args: cobra.NoArgs, // so that an unknown command is one
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysCreateCommand(app, g), newKeysListCommand(app, g), newKeysRevokeCommand(app, g))
	return cmd
}

func newKeysCreateCommand(app App, g *globals) *cobra.Command {
	user, name, expires := "", "", ""
	admin, format := false, cli.FormatText
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Make a key and print it, once",
		Long: `Makes a key and prints it to standard output. It cannot be shown again: only its
SHA-256 is stored.`,
		Example: `  deerflow keys create --user ann --name "Ann's laptop" --expires 90d
  DEERFLOW_API_KEY=$(deerflow keys create --user ci) deerflow run --server URL "..."`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := store.NewKey{Label: name, Role: store.RoleUser}
			var err error
			if n.User, err = store.UserID(user); err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: fmt.Errorf("--user: %w", err)}
			}
			if n.ExpiresAt, err = expiry(expires, time.Now()); err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			if admin {
				n.Role = store.RoleAdmin
			}
			return createKey(cmd.Context(), app, g, n, format)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&user, "user", defaultKeyUser, "`NAME` of the user whose threads and files the key opens")
	flags.StringVar(&name, "name", "", "`LABEL` to tell the key by, such as where it is used")
	flags.BoolVar(&admin, "admin", false, "let the key do what concerns the whole server, too")
	flags.StringVar(&expires, "expires", "", "`TIME` until the key stops working, such as 90d or 12h (default: never)")
	flags.VarP(&format, "output", "o", "output format")
	return cmd
}

func createKey(ctx context.Context, app App, g *globals, n store.NewKey, format cli.Format) error {
	db, err := openKeys(ctx, app, g, true)
	if err != nil {
		return err
	}
	defer closeKeys(db)
	key, text, err := db.CreateKey(ctx, n)
	if errors.Is(err, store.ErrInvalid) {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	if err != nil {
		return err
	}
	if format != cli.FormatText {
		shape := toKeyShape(&key, time.Now())
		shape.Key = text
		return format.WriteJSON(app.Out, shape)
	}
	_, _ = fmt.Fprintf(app.ErrOut, "deerflow: key %s for user %s (%s). It is shown this once: keep it in a safe place.\n", key.ID, key.User, key.Role)
	_, err = fmt.Fprintln(app.Out, text)
	return err
}

// expiry is the end of a time from now on; zero for the empty text.
func expiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	const (
		day      = 24 * time.Hour
		mostDays = 100 * 365
	)
	length, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		length = time.Duration(min(max(n, 0), mostDays+1)) * day
	}
	if err != nil || length <= 0 || length > mostDays*day {
		return time.Time{}, fmt.Errorf("--expires %q: want a time such as 90d or 12h, at most 100 years", text)
	}
	return now.Add(length), nil
}

func newKeysListCommand(app App, g *globals) *cobra.Command {
	format := cli.FormatText
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without what is secret in them",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, err := listKeys(cmd.Context(), app, g)
			if err != nil {
				return err
			}
			return writeKeys(app, keys, format)
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "output format")
	return cmd
}

func listKeys(ctx context.Context, app App, g *globals) ([]keyShape, error) {
	shapes := []keyShape{}
	db, err := openKeys(ctx, app, g, false)
	if errors.Is(err, fs.ErrNotExist) {
		return shapes, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeKeys(db)
	keys, err := db.ListKeys(ctx)
	for i := range keys {
		shapes = append(shapes, toKeyShape(&keys[i], time.Now()))
	}
	return shapes, err
}

func newKeysRevokeCommand(app App, g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID",
		Short: "Take a key back, for good",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return revokeKey(cmd.Context(), app, g, args[0])
		},
	}
}

func revokeKey(ctx context.Context, app App, g *globals, id string) error {
	if ofKey, ok := store.KeyID(id); ok {
		id = ofKey // somebody has pasted the whole key
	}
	missing := cli.Exitf(cli.ExitNotFound, "there is no key %q; '%s keys list' shows the ids", id, cli.ProgramName(app.Program))
	db, err := openKeys(ctx, app, g, false)
	if errors.Is(err, fs.ErrNotExist) {
		return missing
	}
	if err != nil {
		return err
	}
	defer closeKeys(db)
	key, err := db.RevokeKey(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return missing
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(app.ErrOut, "deerflow: key %s of user %s is revoked; servers refuse it within five seconds\n", key.ID, key.User)
	return err
}
