package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// EnvURL is the environment variable with the address of a server whose user
// may create databases.
const EnvURL = "DEERFLOW_TEST_POSTGRES_URL"

// ErrNone says that there is neither an address nor an installed Postgres.
var ErrNone = errors.New("no Postgres to test with: set " + EnvURL + " or install the package postgresql")

// startTimeout bounds how long a server may take to answer.
const startTimeout = 30 * time.Second

// Server is a Postgres for tests. Stop must be called.
type Server struct {
	url string
	cmd *exec.Cmd // nil when the server is not ours
	dir string

	// How to start it.
	bin  string
	attr *syscall.SysProcAttr
	port int
}

// Start finds or starts a server; [ErrNone] when there is no way to.
func Start(ctx context.Context) (*Server, error) {
	if url := os.Getenv(EnvURL); url != "" {
		return &Server{url: url}, nil
	}
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if err := s.start(ctx, bin); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// binaries is the folder of the newest installed version.
func binaries() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", fmt.Errorf("look for postgres: %w", err)
	}
	newest, dir := -1, ""
	for _, path := range found {
		bin := filepath.Dir(path)
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
		if err == nil && version > newest {
			newest, dir = version, bin
		}
	}
	if dir == "" {
		return "", ErrNone
	}
	return dir, nil
}

func (s *Server) start(ctx context.Context, bin string) error {
	attr, err := s.makeDir()
	if err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	var out bytes.Buffer
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), // #nosec G204 -- a fixed program of the system
		"-D", data, "-U", "deerflow", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	initdb.SysProcAttr, initdb.Dir, initdb.Stdout, initdb.Stderr = attr, s.dir, &out, &out
	if err := initdb.Run(); err != nil {
		return fmt.Errorf("make a Postgres cluster: %w: %s", err, out.String())
	}
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	s.bin, s.attr, s.port = bin, attr, port
	s.url = fmt.Sprintf("postgres://deerflow@127.0.0.1:%d/postgres?sslmode=disable", port)
	return s.run(ctx)
}

// run starts the server on the cluster that there is.
func (s *Server) run(ctx context.Context) error {
	var out bytes.Buffer
	// The server outlives ctx and ends with Stop.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(s.bin, "postgres"), // #nosec G204 -- a fixed program of the system
		"-D", filepath.Join(s.dir, "data"), "-h", "127.0.0.1", "-p", strconv.Itoa(s.port), "-k", "",
		"-c", "fsync=off", "-c", "max_connections=200", "-c", "log_min_messages=fatal")
	cmd.SysProcAttr, cmd.Dir, cmd.Stdout, cmd.Stderr = s.attr, s.dir, &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Postgres: %w", err)
	}
	s.cmd = cmd
	return s.wait(ctx)
}

// Halt stops a server that is ours, and keeps its files for [Server.Resume]. It
// reports false for one that is not ours.
func (s *Server) Halt() bool {
	if s.cmd == nil {
		return false
	}
	// A fast shutdown: connections are closed, everything is on disk.
	if err := s.cmd.Process.Signal(syscall.SIGINT); err == nil {
		_ = s.cmd.Wait() // it ends by our signal
	}
	return true
}

// Resume starts a server that was halted, at the same address.
func (s *Server) Resume(ctx context.Context) error { return s.run(ctx) }

// Pid is the id of the process of a server that is ours, 0 of another.
func (s *Server) Pid() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// makeDir makes the folder of the server, and says as whom to run it: Postgres
// refuses to be root.
func (s *Server) makeDir() (*syscall.SysProcAttr, error) {
	dir, err := os.MkdirTemp("", "pgtest")
	if err != nil {
		return nil, fmt.Errorf("make a folder for Postgres: %w", err)
	}
	s.dir = dir
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Geteuid() != 0 {
		return attr, nil
	}
	uid, gid, err := ordinaryUser()
	if err != nil {
		return nil, err
	}
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		return nil, fmt.Errorf("give the folder of Postgres away: %w", err)
	}
	attr.Credential = &syscall.Credential{Uid: uid, Gid: gid}
	return attr, nil
}

// ordinaryUser is a user who owns little.
func ordinaryUser() (uid, gid uint32, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		id, err1 := strconv.ParseUint(u.Uid, 10, 32)
		group, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err1 == nil && err2 == nil {
			return uint32(id), uint32(group), nil
		}
	}
	return 0, 0, errors.New("run Postgres: root may not, and there is neither a user postgres nor nobody")
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil || !ok {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	return addr.Port, nil
}

func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, s.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for Postgres: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Database makes an empty database and gives its address.
func (s *Server) Database(ctx context.Context, name string) (url string, err error) {
	config, err := pgx.ParseConfig(s.url)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", EnvURL, err)
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize()); err != nil {
		return "", fmt.Errorf("make database %s: %w", name, err)
	}
	base, query, _ := strings.Cut(s.url, "?")
	url = base[:strings.LastIndex(base, "/")+1] + name
	if query != "" {
		url += "?" + query
	}
	return url, nil
}

// Drop removes a database that [Server.Database] made.
func (s *Server) Drop(ctx context.Context, name string) (err error) {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	if _, err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+pgx.Identifier{name}.Sanitize()+" WITH (FORCE)"); err != nil {
		return fmt.Errorf("drop database %s: %w", name, err)
	}
	return nil
}

// Stop ends a server that is ours and removes its files.
func (s *Server) Stop() error {
	if s.cmd != nil && s.cmd.Process != nil {
		// Immediate shutdown: nothing is worth saving.
		if err := s.cmd.Process.Signal(syscall.SIGQUIT); err == nil {
			_ = s.cmd.Wait() // it ends by our signal
		}
	}
	if s.dir == "" {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the files of Postgres: %w", err)
	}
	return nil
}
