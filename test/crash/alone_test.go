package crash

import (
	"slices"
	"testing"
)

// TestKilledAtEachMoment kills a system that does nothing else.
func TestKilledAtEachMoment(t *testing.T) {
	t.Parallel()
	t.Run("one process", func(t *testing.T) {
		t.Parallel()
		killEach(t, startOne(t), killAll)
	})
	t.Run("api or worker", func(t *testing.T) {
		t.Parallel()
		killEach(t, startSplit(t), killWorker, killAPI)
	})
	t.Run("api and worker", func(t *testing.T) {
		t.Parallel()
		killEach(t, startSplit(t), killAll)
	})
}

// killEach plays the table, one moment after the other.
func killEach(t *testing.T, p *system, kills ...victims) {
	t.Helper()
	for _, m := range moments() {
		for _, v := range kills {
			if slices.Contains(m.kills, v) {
				t.Run(m.name+", "+v.String(), func(t *testing.T) { killAt(t, p, m, v) })
			}
		}
	}
}

func killAt(t *testing.T, p *system, m moment, v victims) {
	t.Helper()
	s := stage(t, p, m)
	s.prepare()
	s.start()
	s.arrive()
	p.kill(v)
	s.gate.Release()
	p.restart(v)
	if m.twice {
		p.kill(v)
		p.restart(v)
	}
	s.comeBack(v)
	s.finish()
	s.report(v)
	s.verify(v)
}
