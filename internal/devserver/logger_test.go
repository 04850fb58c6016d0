package devserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

// recordedLog writes JSON lines to the buffer.
func recordedLog(level slog.Level) (*serverLog, *bytes.Buffer) {
	var b bytes.Buffer
	return newServerLog(slog.New(slog.NewJSONHandler(&b, &slog.HandlerOptions{Level: level}))), &b
}

func TestServerLogLevels(t *testing.T) {
	t.Parallel()
	const warn, failure, dpanic = "WARN w", "ERROR e", "ERROR dp"
	tests := []struct {
		name  string
		level slog.Level
		phase int32
		want  []string
	}{
		{"starting", slog.LevelInfo, starting, []string{warn, failure, dpanic}},
		{"running", slog.LevelInfo, running, []string{warn, failure, "ERROR cut off", dpanic}},
		{"stopping", slog.LevelInfo, stopping, []string{failure, dpanic}},
		{"stopping at debug", slog.LevelDebug, stopping, []string{
			"DEBUG HTTP API port has not been set.", "DEBUG w", failure, "DEBUG trailer", "DEBUG cut off", dpanic,
		}},
		{"tracing", levelTrace, running, []string{
			"DEBUG-4 d", "DEBUG-4 i", "DEBUG HTTP API port has not been set.", warn, failure, "DEBUG trailer", "ERROR cut off", dpanic,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l, out := recordedLog(test.level)
			l.state.phase.Store(test.phase)
			l.Debug("d")
			l.Info("i")
			l.Warn("HTTP API port has not been set.")
			l.Warn("w")
			l.Error("e", tag.Error(io.ErrShortWrite))
			l.Error("trailer", tag.Error(errors.New("transport: SendHeader called multiple times")))
			l.Error("cut off", tag.Error(fmt.Errorf("polling: %w", context.Canceled)))
			l.DPanic("dp")
			var got []string
			for line := range strings.Lines(out.String()) {
				var r struct{ Level, Msg string }
				require.NoError(t, json.Unmarshal([]byte(line), &r))
				got = append(got, r.Level+" "+r.Msg)
			}
			require.Equal(t, test.want, got)
		})
	}
}

func TestServerLogTags(t *testing.T) {
	t.Parallel()
	l, out := recordedLog(slog.LevelInfo)
	child := log.With(log.With(l, tag.Service("history")), tag.ShardID(7))
	child.Warn("slow", tag.Error(io.ErrUnexpectedEOF))
	var got map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &got))
	delete(got, "time")
	require.Equal(t, map[string]any{
		"level": "WARN", "msg": "slow", "component": "temporal",
		"service": "history", "shard-id": 7.0, "error": "unexpected EOF",
	}, got)
}

func TestFatalDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	calls := map[string]func(log.Logger, string, ...tag.Tag){
		"Fatal": log.Logger.Fatal,
		"Panic": log.Logger.Panic,
	}
	for name, call := range calls {
		for _, phase := range []int32{building, running} {
			t.Run(fmt.Sprintf("%s in phase %d", name, phase), func(t *testing.T) {
				t.Parallel()
				l, out := recordedLog(slog.LevelInfo)
				l.state.phase.Store(phase)
				var recovered any
				cameBack := false
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { recovered = recover() }()
					call(log.With(l, tag.Service("frontend")), "no listener", tag.Address("x"), tag.Error(syscall.EADDRINUSE))
					cameBack = true
				}()
				<-done
				require.False(t, cameBack)
				require.Equal(t, phase == building, recovered != nil)
				require.Equal(t, phase == running, strings.Contains(out.String(), `"level":"ERROR"`))
				err := l.state.causeOf(errors.New("what came of it"))
				require.ErrorIs(t, err, syscall.EADDRINUSE)
				require.EqualError(t, err, "no listener: address already in use")
			})
		}
	}
}

func TestServerLogKeepsQuietOfTheWebUI(t *testing.T) {
	t.Parallel()
	l, out := recordedLog(slog.LevelInfo)
	l.state.phase.Store(running)
	l.Warn("GetHistory page size is larger than threshold")
	require.Empty(t, out.String())
}
