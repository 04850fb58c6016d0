package crash

import "testing"

// TestKilledAtEachMoment kills a system that does nothing else.
func TestKilledAtEachMoment(t *testing.T) {
	t.Parallel()
	inBothShapes(t, func(t *testing.T, p *system) {
		t.Helper()
		for _, m := range moments() {
			kills := m.kills
			if p.dev != nil {
				kills = []victims{killAll}
			}
			for _, v := range kills {
				t.Run(m.name+", "+v.String(), func(t *testing.T) {
					s := stage(t, p, m)
					s.drive()
					p.kill(v)
					s.gate.Release()
					p.restart(v)
					if m.twice {
						p.kill(v)
						p.restart(v)
					}
					s.resume(v)
					s.report(v)
					s.verify(v)
				})
			}
		}
	})
}
