package main

import (
	"github.com/spf13/cobra"

	"deerflow/config"
	"deerflow/internal/cli"
)

const configLong = `Looks at config.yaml without starting anything: the file of --config, else that of
DEERFLOW_CONFIG or DEER_FLOW_CONFIG_PATH, else config.yaml in the current directory.`

func newConfigCommand(app App, g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check and show the configuration", Long: configLong,
		Args: cobra.NoArgs, // so that an unknown command is one
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheckCommand(app, g), newConfigShowCommand(app, g), newConfigSchemaCommand(app))
	return cmd
}

func newConfigShowCommand(app App, g *globals) *cobra.Command {
	format := cli.FormatText
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print the configuration in force, with its defaults",
		Long: `Prints the configuration that a server would start with, every default filled in, as
YAML or with -o json. Secrets are hidden. Values that the file has are followed by
their line and the variables that they come from.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, _, err := config.Load(config.Options{Path: g.config, Getenv: app.lookup})
			if err != nil {
				return &cli.ExitError{Code: cli.ExitUsage, Err: err}
			}
			if format != cli.FormatText {
				values, err := cfg.Values()
				if err != nil {
					return err
				}
				return format.WriteJSON(app.Out, values)
			}
			text, err := cfg.YAML()
			if err != nil {
				return err
			}
			_, err = app.Out.Write(text)
			return err
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "output format; text is YAML")
	return cmd
}

func newConfigSchemaCommand(app App) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of config.yaml",
		Long: `Prints the JSON Schema of config.yaml, by which editors complete and check it: write
it to a file and name that in the first line of config.yaml.`,
		Example: `  deerflow config schema > config.schema.json
  # and in config.yaml: # yaml-language-server: $schema=config.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := app.Out.Write(config.Schema())
			return err
		},
	}
}
