package testkit

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// fakeEnv makes this test binary play a program: the tests of processes run it
// in place of the real one.
const fakeEnv = "TESTKIT_FAKE"

func TestMain(m *testing.M) {
	if mode := os.Getenv(fakeEnv); mode != "" {
		os.Exit(fake(mode, os.Args[1:]))
	}
	os.Exit(m.Run())
}

// self returns the path of this test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func fake(mode string, args []string) int {
	switch mode {
	case "cli":
		return fakeCLI(args)
	case "hang":
		select {}
	case "crash":
		fmt.Println("going down")
		return 7
	case "parent":
		return fakeParent(args)
	default:
		return fakeDev(mode, args)
	}
}

// fakeCLI shows what it was given.
func fakeCLI(args []string) int {
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	dir, err := os.Getwd()
	if err != nil {
		return 1
	}
	fmt.Printf("args %v\nstdin %s\ndir %s\nextra %s\nhome %s\nserver %q\n",
		args, input, dir, os.Getenv("EXTRA"), os.Getenv("HOME"), os.Getenv("DEERFLOW_SERVER"))
	fmt.Fprintln(os.Stderr, "to stderr")
	return 5
}

// fakeParent starts a fake `deerflow dev` as a test would and waits for its
// own death.
func fakeParent(args []string) int {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	cmd := exec.CommandContext(context.Background(), path, args...)
	cmd.Env = append(os.Environ(), fakeEnv+"=dev")
	if _, err := startChild(cmd); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {}
}

// fakeDev behaves like `deerflow dev`. Its modes: dev; slow (unhealthy at
// first); stubborn (SIGTERM does not end it); unhealthy (never healthy).
func fakeDev(mode string, args []string) int {
	flags := flag.NewFlagSet("dev", flag.ContinueOnError)
	data := flags.String("data-dir", "", "")
	listen := flags.String("listen", "", "")
	config := flags.String("config", "", "")
	port := flags.String("temporal-port", "", "")
	uiPort := flags.String("temporal-ui-port", "", "")
	exit := flags.Int("exit", 3, "")
	if err := flags.Parse(args[1:]); err != nil || args[0] != "dev" {
		return 2
	}
	fmt.Println("ports", *port, *uiPort)
	if *config != "" {
		text, err := os.ReadFile(*config)
		if err != nil {
			return 2
		}
		fmt.Printf("config %s\n", text)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", *listen)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	go func() { _ = http.Serve(listener, fakeHandler(mode)) }()
	if err := writeServerInfo(*data, listener.Addr().String()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	<-terminate
	if mode == "stubborn" {
		select {}
	}
	fmt.Println("bye")
	return *exit
}

func writeServerInfo(data, addr string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	info, err := json.Marshal(serverInfo{os.Getpid(), "http://" + addr + "/", "127.0.0.1:1", "http://127.0.0.1:2"})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, "server.json"), info, 0o600)
}

func fakeHandler(mode string) http.Handler {
	mux := http.NewServeMux()
	var asked atomic.Int32
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if mode == "unhealthy" || mode == "slow" && asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /hold", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 10))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("GET /threads/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"thread_id":%q}`, r.PathValue("id"))
	})
	return mux
}
