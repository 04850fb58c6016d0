package activities

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"deerflow/config"
	"deerflow/internal/agent"
	"deerflow/internal/model"
	"deerflow/internal/sandbox"
	"deerflow/internal/step"
	"deerflow/internal/store"
	"deerflow/internal/tools/web"
)

// Options are what activities work with.
type Options struct {
	Store *store.Store
	// Config gives the configuration in force; a run keeps what it started with.
	Config    func() *config.Config
	Sandboxes sandbox.Provider
	// UsersDir is the directory that has the files of all users; uploads are found
	// below it.
	UsersDir  string
	Documents Documents         // nil: documents are not converted
	Transport http.RoundTripper // to models; nil is one of its own
	Web       *web.Client       // for web tools; nil is one of its own
	Logger    *slog.Logger
	Memory    Memory           // nil: nothing is remembered
	Skills    Skills           // nil: no skill can be called by name
	Now       func() time.Time // nil is time.Now
	// DemoDelay is the pause between two pieces of the demo model's text.
	DemoDelay time.Duration
}

// Activities holds what the activities share in a process.
type Activities struct {
	o     Options
	plans *lru.Cache[string, *agent.Plan]
	// ledgers are of the files of the newest runs.
	ledgers *lru.Cache[string, *ledger]

	mu       sync.Mutex
	chatters map[string]model.Chatter // by configuration
	places   *semaphore.Weighted      // of model calls; nil before the first, and without a limit
	bounded  bool                     // places is settled: it stays as it was at the first call

	breakers breakers
	access   map[string]config.Model // what plans' models were reached with last

	conversions singleflight.Group // by document

	recallTimeout, conversionWait, sandboxPatience time.Duration

	warned sync.Map // tools.Warning that the log has
}

// plansKept is how many plans stay decoded in memory.
const plansKept = 256

// New makes the activities of a worker.
func New(o Options) (*Activities, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = model.NewTransport()
	}
	if o.Web == nil {
		o.Web = web.NewClient(web.ClientOptions{})
	}
	plans, err := lru.New[string, *agent.Plan](plansKept)
	if err != nil {
		return nil, err
	}
	ledgers, err := lru.New[string, *ledger](ledgersKept)
	if err != nil {
		return nil, err
	}
	return &Activities{
		o: o, plans: plans, ledgers: ledgers, chatters: map[string]model.Chatter{}, access: map[string]config.Model{},
		recallTimeout: recallTimeout, conversionWait: conversionWait, sandboxPatience: sandboxPatience,
	}, nil
}

// Register makes the activities known to a worker under their fixed names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	for name, fn := range map[string]any{
		step.LoadThread:  a.LoadThread,
		step.StartRun:    a.StartRun,
		step.CallModel:   a.CallModel,
		step.CallTool:    a.CallTool,
		step.Commit:      a.Commit,
		step.Summarize:   a.Summarize,
		step.ResolvePlan: a.ResolvePlan,
		step.MakeTitle:   a.MakeTitle,

		step.ConvertDocument: a.ConvertDocument,
	} {
		r.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// plan reads a plan by its hash.
func (a *Activities) plan(ctx context.Context, hash string) (*agent.Plan, error) {
	if p, ok := a.plans.Get(hash); ok {
		return p, nil
	}
	data, err := a.o.Store.GetPlan(ctx, hash)
	if err != nil {
		return nil, err
	}
	p, err := agent.DecodePlan(data)
	if err != nil {
		return nil, err
	}
	a.plans.Add(hash, p)
	return p, nil
}
