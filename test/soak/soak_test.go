package soak

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store/pgtest"
	. "deerflow/internal/testkit"
)

// What one round is made of, and how many there are.
const (
	rounds  = 3
	scripts = 100
	kills   = 20
	// atOnce is how many scripts are played at the same time.
	atOnce = 12
	// bar is how long a thread may stand still after a kill, in one process.
	bar = 3 * time.Second
)

// soakEnv asks for the soak, seedEnv for the moments of an earlier one.
const (
	soakEnv = "DEERFLOW_SOAK"
	seedEnv = "DEERFLOW_SOAK_SEED"
)

// postgres is the server of the rounds in separate processes.
var postgres pgtest.Shared

// table has a line for each round.
var table []string

func TestMain(m *testing.M) {
	code := m.Run()
	if err := postgres.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if len(table) > 0 {
		fmt.Printf("\n%-28s %20s %5s %5s %5s %5s %7s %6s %9s %9s %9s  %s\n",
			"shape", "seed", "runs", "kills", "lost", "twice", "unsafe", "stuck", "p50", "p95", "longest", "to go on after a kill, p95 ≤ 3 s")
		fmt.Println(strings.Join(table, "\n"))
	}
	os.Exit(code)
}

func TestSoakOneProcess(t *testing.T) {
	soak(t, startOne)
}

func TestSoakTwoWorkersAndTwoAPIs(t *testing.T) {
	soak(t, startSplit)
}

func soak(t *testing.T, start func(*testing.T, *Model) target) {
	t.Helper()
	if os.Getenv(soakEnv) != "1" {
		t.Skipf("takes some minutes: make soak, or %s=1", soakEnv)
	}
	seed := rand.Uint64() >> 12
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, seedEnv)
	}
	for n := range rounds {
		t.Run(fmt.Sprintf("round %d", n+1), func(t *testing.T) {
			t.Logf("%s=%d", seedEnv, seed+uint64(n))
			play(t, seed+uint64(n), start)
		})
	}
}

// play is one round.
func play(t *testing.T, seed uint64, start func(*testing.T, *Model) target) {
	t.Helper()
	m := NewModel(t)
	m.Respond(answer)
	p := start(t, m)
	r := newRound(t, p, seed)
	over := make(chan struct{})
	go func() {
		defer close(over)
		r.playAll()
	}()
	// When a start fails, the test ends here and the scripts with it.
	t.Cleanup(func() {
		r.again.Broadcast()
		<-over
	})
	times := r.kill(over)
	<-over
	r.finish(times, loadOf(t))
}

// loadOf is what the machine had to do besides, for the reader of the table.
func loadOf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(data))
	return fmt.Sprintf("load %s on %d cores", fields[0], runtime.NumCPU())
}
