package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"deerflow/internal/devserver"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "temporald:", err)
		os.Exit(1)
	}
}

// run serves until a signal comes. The line that it prints when it takes calls
// has the address.
func run() error {
	o := devserver.Options{UIPort: devserver.NoUI, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	flag.StringVar(&o.DataDir, "data-dir", "", "directory of the server's files")
	flag.IntVar(&o.Port, "port", 0, "port of the frontend; 0 picks a free one")
	flag.StringVar(&o.Namespace, "namespace", "default", "namespace to make")
	noPush := flag.Bool("no-push", false, "tell a cancelled activity with its next heartbeat only, as a stock server does")
	flag.Parse()
	if *noPush {
		o.Settings = map[string]any{"frontend.WorkerCommandsEnabled": false, "system.enableCancelActivityWorkerCommand": false}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := devserver.Start(ctx, o)
	if err != nil {
		return err
	}
	defer server.Stop()
	fmt.Println("Temporal gRPC", server.FrontendAddress())
	<-ctx.Done()
	return nil
}
