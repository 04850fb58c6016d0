package crash

import (
	"github.com/stretchr/testify/require"

	"deerflow/internal/failpoint"
	"deerflow/internal/testkit"
)

const (
	firstAttempt  = "the first attempt was cut off in the middle of it"
	secondAttempt = "the second attempt is whole"
)

// heldHalfway streams half of a text and waits; who asks again gets another one.
func heldHalfway(s *scene, _ *testkit.Request, n int) testkit.Reply {
	if n == 1 {
		return testkit.Text(firstAttempt, testkit.WithChunks(12), testkit.At(6, testkit.Hold(s.gate)))
	}
	return testkit.Text(secondAttempt, testkit.WithChunks(4))
}

// halfShown waits until a reader has seen the half.
func halfShown(s *scene) {
	<-s.gate.Reached()
	require.Eventually(s.t, func() bool {
		return s.readers[0].shows(s.t, "first attempt was") || s.readers[0].shows(s.t, secondAttempt)
	}, patience, tick, "half of the text does not show")
}

// modelMoments are those around a model call.
func modelMoments() []moment {
	return []moment{
		{
			name: "the request stands at the model", kills: inWorker,
			reply: func(s *scene, _ *testkit.Request, n int) testkit.Reply {
				if n == 1 {
					return testkit.Text(firstAttempt).Before(testkit.Hold(s.gate))
				}
				return testkit.Text(secondAttempt)
			},
			begin: func(s *scene) { <-s.gate.Reached() },
			want:  always(list("human: the question", "ai: "+secondAttempt)), paid: always(2),
		},
		{
			name: "A23 half of the text is streamed", kills: anywhere,
			reply: heldHalfway, begin: halfShown,
			want: lost(list("human: the question", "ai: "+secondAttempt), list("human: the question", "ai: "+firstAttempt)),
			paid: lost(2, 1),
		},
		{
			name: "the answer is stored, not reported", point: failpoint.AnswerStored, kills: inWorker,
			reply: says("the answer"),
			want:  always(list("human: the question", "ai: the answer")), paid: always(1),
		},
		{
			name: "E14 two runs wait and a third was cancelled", kills: anywhere,
			reply: heldHalfway,
			begin: func(s *scene) {
				halfShown(s)
				for _, word := range []string{"one", "two", "three"} {
					s.enqueue(word)
				}
				if err := s.api().CancelRun(patient(s.t), s.id, s.queued[1], testkit.CancelOptions{}); err != nil {
					s.t.Errorf("cancel a run that waits: %v", err)
				}
			},
			want: func(v victims) []string {
				text := lost(secondAttempt, firstAttempt)(v)
				return list("human: the question", "ai: "+text, "human: plain: one", "ai: re: one", "human: plain: three", "ai: re: three")
			},
			paid: lost(2, 1),
		},
	}
}
