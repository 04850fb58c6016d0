package main

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
	"deerflow/internal/cli/doctor"
)

const doctorLong = `Looks whether everything is there that DeerFlow needs, one line a check: ok, warn, fail
or skip, and below it what to do. It changes nothing, sends nothing to a model unless
--model is given, and shows no secret. It works with and without a server.

Exit code 0: nothing failed, though there may be warnings. 1: something failed.`

func newDoctorCommand(app App, g *globals) *cobra.Command {
	at := serverFlags{}
	asJSON, askModels := false, false
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, data, server, Temporal and models",
		Long:  doctorLong,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context(), app.Signals)
			defer stop()
			report := doctor.Run(ctx, doctor.Options{
				ConfigPath: g.config, Getenv: app.lookup, Options: at.options(app, g), Ports: defaultPorts(),
				Model: askModels, Version: readVersion(app.BuildInfo).Version,
			})
			if ctx.Err() != nil {
				return cli.Exitf(cli.ExitInterrupted, "%w", errSignal)
			}
			if err := writeReport(app, &report, asJSON); err != nil {
				return err
			}
			if report.Status == doctor.Fail {
				return &cli.ExitError{Code: cli.ExitFailed}
			}
			return nil
		},
	}
	at.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	cmd.Flags().BoolVar(&askModels, "model", false, "ask each configured model for one token (this may cost money)")
	return cmd
}

func writeReport(app App, report *doctor.Report, asJSON bool) error {
	if asJSON {
		format := cli.FormatJSON
		return format.WriteJSON(app.Out, report)
	}
	style, _ := cli.Terminal(cli.IOStreams{ErrIsTTY: app.OutIsTTY}, app.Env) // the report is data
	return report.WriteText(app.Out, style)
}

// lookup reads the environment as [os.LookupEnv] does; an empty variable of an [App] counts as not set, unless the
// process has it.
func (app App) lookup(name string) (string, bool) {
	if value := app.Env(name); value != "" {
		return value, true
	}
	return os.LookupEnv(name)
}

// defaultPorts are those that dev listens on.
func defaultPorts() []doctor.Port {
	ports := []doctor.Port{{Number: defaultTemporalPort, Flag: "--temporal-port"}, {Number: defaultTemporalUIPort, Flag: "--temporal-ui-port"}}
	_, text, err := net.SplitHostPort(defaultListen)
	if err != nil {
		return ports
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return ports
	}
	return append([]doctor.Port{{Number: n, Flag: fmt.Sprintf("--listen 127.0.0.1:%d", n+1)}}, ports...)
}
