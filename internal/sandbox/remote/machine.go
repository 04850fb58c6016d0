package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"mvdan.cc/sh/v3/syntax"

	"deerflow/internal/sandbox"
)

// machine is where the commands of one thread run.
type machine struct {
	runner *Runner
	id     string
	user   string
	thread string
	api    *api
	root   string // the directory there that has workspace, uploads and outputs
	data   string // the same one here
	log    func(msg string, args ...any)

	// turn holds one token: commands go one after the other, since the persistent
	// shell of a machine confuses commands that run at once. Whoever has the token
	// may use the fields below.
	turn    chan struct{}
	session string // of the shell; empty: none yet
	base    map[string]pair
	copied  time.Time // when the files were the same on both sides
	partial bool      // not all files are copied

	// noBash: the machine has no call for commands with an environment.
	noBash atomic.Bool
	// remade: the thread had another machine before, and no model has been told.
	remade atomic.Bool
}

// up finds or makes the machine of a job, and waits until it is ready.
func (r *Runner) up(ctx context.Context, j sandbox.Job) (*machine, error) {
	m := &machine{
		runner: r, id: sandbox.MachineID(j.User, j.Thread), user: j.User, thread: j.Thread,
		data: j.UserData(), root: sandbox.UserData, log: r.o.Logger.Warn, turn: make(chan struct{}, 1),
	}
	m.turn <- struct{}{}
	base := strings.ReplaceAll(r.o.BaseURL, idPlaceholder, m.id)
	if r.provisioner != nil {
		var err error
		if base, err = r.provisioner.create(ctx, createRequest{ID: m.id, Thread: j.Thread, User: j.User, Mounts: r.mounts(j)}); err != nil {
			return nil, err
		}
	}
	m.api = &api{base: base, key: r.o.APIKey, http: r.http}
	it, err := m.ready(ctx)
	if err != nil {
		return nil, err
	}
	if r.o.shared() {
		home := it.Home
		if !path.IsAbs(home) {
			home = "/tmp"
		}
		m.root = path.Join(home, ".deerflow", m.id)
	}
	return m, m.settle(ctx, j)
}

// ready waits until the machine answers. Where nobody takes calls, it waits long only
// for a machine that has just been asked for.
func (m *machine) ready(ctx context.Context) (about, error) {
	o := m.runner.o
	late := time.NewTimer(o.Ready)
	defer late.Stop()
	var goneSince time.Time
	for {
		it, err := m.api.about(ctx)
		var refused *sandbox.CommandError
		if err == nil || errors.As(err, &refused) {
			return it, err
		}
		switch {
		case o.provisioned() || !errors.Is(err, errLost):
			goneSince = time.Time{}
		case goneSince.IsZero():
			goneSince = time.Now()
		case time.Since(goneSince) >= o.Refused:
			return it, err
		}
		select {
		case <-ctx.Done():
			return it, ctx.Err()
		case <-late.C:
			return it, fmt.Errorf("the sandbox %s was not ready within %s: %w", m.id, o.Ready, err)
		case <-time.After(o.Poll):
		}
	}
}

// settle makes the directories, and notes whether the machine is a new one.
func (m *machine) settle(ctx context.Context, j sandbox.Job) error {
	there, err := m.scan(ctx)
	if err != nil {
		return err
	}
	before, err := sandbox.NoteMachine(j, m.runner.Name())
	if err != nil {
		m.log("Whether a machine is the first of its thread cannot be told", "sandbox", m.id, "error", err)
	}
	m.remade.Store(there.fresh && before)
	return nil
}

// mounts are those of the operator, for the provisioner.
func (r *Runner) mounts(j sandbox.Job) []extraMount {
	var list []extraMount
	for _, mt := range j.Mounts {
		if mt.Virtual == sandbox.UserData {
			continue // the provisioner knows where the files of a thread are
		}
		if len(list) == maxMounts {
			r.o.Logger.Warn("The provisioner takes no more mounts; the rest is left out", "taken", maxMounts)
			break
		}
		list = append(list, extraMount{HostPath: mt.Host, ContainerPath: mt.Virtual, ReadOnly: mt.ReadOnly})
	}
	return list
}

func (m *machine) release() { m.turn <- struct{}{} }

// file is the name of a file of our own on the machine.
func (m *machine) file(ending string) string { return "/tmp/.deerflow-" + m.id + ending }

// quote makes one word of a shell command.
func quote(text string) string {
	quoted, err := syntax.Quote(text, syntax.LangBash)
	if err != nil {
		return "''" // of a NUL alone, which no path has
	}
	return quoted
}

// forget removes what a thread has on a shared machine.
func (m *machine) forget(ctx context.Context) error {
	if err := m.closeSession(ctx); err != nil || m.root == sandbox.UserData {
		return err
	}
	_, err := m.script(ctx, "rm -rf -- "+quote(m.root)+" "+quote(m.file("")))
	if errors.Is(err, errLost) {
		return nil
	}
	return err
}

// newSession makes a shell on the machine. Without one the machine uses a shell of
// its own choice.
func (m *machine) newSession(ctx context.Context) (string, error) {
	id := "deerflow-" + uuid.NewString()
	err := m.api.post(ctx, "/v1/shell/sessions/create", map[string]string{"id": id}, nil)
	var failed *replyError
	if errors.Is(err, errNoEndpoint) || errors.As(err, &failed) {
		return "", nil
	}
	return id, err
}

// closeSession ends the shell on the machine, with what runs in it.
func (m *machine) closeSession(ctx context.Context) error {
	if m.session == "" {
		return nil
	}
	err := m.api.call(ctx, http.MethodDelete, "/v1/shell/sessions/"+m.session, nil, nil)
	m.session = ""
	var failed *replyError
	if errors.As(err, &failed) || errors.Is(err, errNoEndpoint) || errors.Is(err, errLost) {
		return nil // it is gone, or it cannot be ended
	}
	return err
}
