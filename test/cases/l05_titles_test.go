package cases

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

// titler matches the calls for a title.
func titler() Matcher { return System("You name conversations") }

func titleOf(t *testing.T, api *API, id string) string {
	t.Helper()
	state, err := api.State(patient(t), id)
	require.NoError(t, err)
	return state.Values.Title()
}

func TestL05TitlesWithoutAModel(t *testing.T) {
	m := NewModel(t)
	m.On(LastUser("stop me")).Always(Text("never").Before(Hang()))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()

	id := newThread(t, api)
	require.Equal(t, "success", run(t, api, id, strings.Repeat("世界", 1000)).Status)
	title := titleOf(t, api, id)
	require.Equal(t, strings.Repeat("世界", 25)+"...", title)
	require.LessOrEqual(t, utf8.RuneCountInString(title), 60)
	require.NoError(t, api.UpdateState(patient(t), id, map[string]any{"title": "Mine"}))
	require.Equal(t, "success", run(t, api, id, "and on").Status)
	require.Equal(t, "Mine", titleOf(t, api, id), "a rename is kept")
	require.Len(t, m.Requests(), 2, "no model is asked for a title")

	// A first run that is stopped has a title all the same.
	id = newThread(t, api)
	ctx := patient(t)
	r, err := api.CreateRun(ctx, id, Say("stop me"))
	require.NoError(t, err)
	_, err = m.AwaitMatch(ctx, 1, LastUser("stop me"))
	require.NoError(t, err)
	require.NoError(t, api.CancelRun(ctx, id, r.RunID, CancelOptions{Wait: true}))
	require.Equal(t, "stop me", titleOf(t, api, id))
}

func TestL05TitlesOfAModel(t *testing.T) {
	m := NewModel(t)
	m.On(AllOf(titler(), LastUser("works"))).Always(Text("<think>short</think>\"TITLEMARK of a model\""))
	m.On(AllOf(titler(), LastUser("fails"))).Always(APIError(500, "", "no title today"))
	m.On(AllOf(titler(), LastUser("hangs"))).Always(Text("too late").Before(Hang()))
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "title: {model_name: kit}")})
	api := p.API()
	for text, want := range map[string]string{
		"this works": "TITLEMARK of a model", "this fails": "this fails", "this hangs": "this hangs",
	} {
		t.Run(text, func(t *testing.T) {
			id := newThread(t, api)
			stream, err := api.StreamRun(patient(t), id, SayWatched(text))
			require.NoError(t, err)
			frames, err := stream.All(patient(t))
			require.NoError(t, err)
			require.Equal(t, want, titleOf(t, api, id))
			for _, f := range frames {
				if strings.HasPrefix(f.Event, "messages") {
					require.NotContains(t, f.Data, "TITLEMARK", "D10: no word of it is streamed")
				}
			}
			require.Equal(t, "success", run(t, api, id, "and on").Status)
			require.Equal(t, want, titleOf(t, api, id))
		})
	}
	require.Len(t, m.RequestsTo(titler()), 3, "once a thread, also when it fails")
}
