package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"deerflow/config"
	"deerflow/internal/cli"
)

// checkReport is what a check of a configuration found.
type checkReport struct {
	File     string    `json:"file"` // empty when none was found
	Valid    bool      `json:"valid"`
	Errors   []finding `json:"errors"`
	Warnings []finding `json:"warnings"`
}

// finding is one mistake, or something that is probably not meant.
type finding struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // counted from 1
	Message string `json:"message"`
}

func (f finding) String() string {
	switch {
	case f.File == "":
		return f.Message
	case f.Line == 0:
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

func newConfigCheckCommand(app App, g *globals) *cobra.Command {
	format := cli.FormatText
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Look for mistakes in the configuration",
		Long: `Reads config.yaml and the .env beside it as a server would, and prints every mistake
and every warning with file and line.

Exit code 0: a server would start with it, though there may be warnings. 2: it would
not; a server that runs already goes on with what it read before.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := g.config
			if len(args) == 1 {
				path = args[0]
			}
			report := checkConfig(config.Options{Path: path, Getenv: app.lookup})
			if err := report.write(app, format); err != nil {
				return err
			}
			if !report.Valid {
				return &cli.ExitError{Code: cli.ExitUsage}
			}
			return nil
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "output format")
	return cmd
}

func checkConfig(o config.Options) checkReport {
	cfg, warnings, err := config.Load(o)
	r := checkReport{File: o.Path, Valid: err == nil, Errors: []finding{}, Warnings: []finding{}}
	if cfg != nil {
		r.File = cfg.Path
	}
	for _, e := range config.Mistakes(err) {
		r.Errors = append(r.Errors, finding{File: e.File, Line: e.Line, Message: e.Msg})
	}
	for _, w := range warnings {
		r.Warnings = append(r.Warnings, finding{File: w.File, Line: w.Line, Message: w.Msg})
	}
	return r
}

func (r *checkReport) write(app App, format cli.Format) error {
	if format != cli.FormatText {
		return format.WriteJSON(app.Out, r)
	}
	var text strings.Builder
	for _, f := range r.Errors {
		fmt.Fprintf(&text, "error: %s\n", f)
	}
	for _, f := range r.Warnings {
		fmt.Fprintf(&text, "warning: %s\n", f)
	}
	if r.Valid {
		fmt.Fprintf(&text, "ok: %s\n", firstOf(r.File, "the defaults"))
	}
	_, err := app.Out.Write([]byte(cli.CleanLines(text.String())))
	return err
}
