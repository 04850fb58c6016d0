package crash

import (
	"slices"
	"testing"
)

// crowd is how many other threads work meanwhile.
const crowd = 50

// tries is how often a moment is brought about that had passed when the kill
// came.
const tries = 5

// TestKilledWhileOthersWork brings many threads to their moments at once, while
// others work, and kills the system under all of them.
func TestKilledWhileOthersWork(t *testing.T) {
	t.Parallel()
	t.Run("one process", func(t *testing.T) {
		t.Parallel()
		inCrowd(t, startOne(t), killAll)
	})
	t.Run("api and worker", func(t *testing.T) {
		t.Parallel()
		inCrowd(t, startSplit(t), killWorker, killAPI, killAll)
	})
}

// inCrowd plays each moment once, those that a kill allows together.
func inCrowd(t *testing.T, p *system, kills ...victims) {
	t.Helper()
	others := working(t, p, crowd)
	var alone []moment
	left := moments()
	for _, v := range kills {
		var together, later []moment
		for _, m := range left {
			switch {
			case m.fleeting:
				alone = append(alone, m)
			case slices.Contains(m.kills, v):
				together = append(together, m)
			default:
				later = append(later, m)
			}
		}
		killTogether(t, p, together, v, nil)
		left = later
	}
	for i, m := range alone {
		v := kills[(len(kills)-1)*(i%2)] // the first and the last
		killTogether(t, p, []moment{m}, v, nil)
	}
	others.rest(t)
}

// killTogether brings each moment about on a thread of its own, kills, and
// checks all of them. What had passed by then is brought about again. Between the
// kill and the restart, meanwhile may do more harm.
func killTogether(t *testing.T, p *system, list []moment, v victims, meanwhile func()) {
	t.Helper()
	for range tries {
		scenes := make([]*scene, 0, len(list))
		for _, m := range list {
			s := stage(t, p, m)
			s.prepare()
			scenes = append(scenes, s)
		}
		for _, s := range scenes {
			s.start()
		}
		for _, s := range scenes {
			s.arrive()
		}
		answered := map[*scene]bool{}
		for _, s := range scenes {
			answered[s] = len(s.posted) > 0
		}
		p.kill(v)
		list = nil
		scenes = slices.DeleteFunc(scenes, func(s *scene) bool {
			s.gate.Release()
			passed := answered[s] || s.slipped()
			if passed {
				t.Logf("%s: had passed before the kill, is tried again", s.name)
				list = append(list, s.moment)
			}
			return passed
		})
		if meanwhile != nil {
			meanwhile()
		}
		p.restart(v)
		checkAll(t, scenes, v)
		if len(list) == 0 {
			return
		}
	}
	t.Errorf("%d moments had always passed before the kill: the machine is too busy", len(list))
}

func checkAll(t *testing.T, scenes []*scene, v victims) {
	t.Helper()
	for _, s := range scenes {
		s.comeBack(v)
	}
	for _, s := range scenes {
		t.Run(s.name+", "+v.String(), func(t *testing.T) {
			s.t = t
			s.finish()
			s.report(v)
			s.verify(v)
		})
	}
}
