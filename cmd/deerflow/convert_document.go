package main

import (
	"os"

	"github.com/spf13/cobra"

	"deerflow/internal/daemon"
	"deerflow/internal/documents"
)

// newConvertDocumentCommand is what a worker starts for each document. It is not
// for people: its standard input is the document, its argument an order.
func newConvertDocumentCommand(app App) *cobra.Command {
	return &cobra.Command{
		Use:    daemon.ConvertCommand + " ORDER",
		Short:  "Convert the document on standard input (used by the worker)",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return documents.Serve(cmd.Context(), args[0], os.Stdin, app.Out)
		},
	}
}
