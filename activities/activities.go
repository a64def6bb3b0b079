package activities

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/semaphore"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
)

// Resolver finds a host's addresses.
type Resolver interface {
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
}

// Fetcher makes one bounded request to an address.
type Fetcher interface {
	Do(ctx context.Context, r fetch.Request) (*fetch.Response, error)
	Permits(addr netip.Addr) error
}

// Starter starts workflows, or wakes those that run already.
type Starter interface {
	StartCrawl(ctx context.Context, run string) error
	StartDomain(ctx context.Context, domain, run string, pagesPerActivity int) error
}

// Store is the rows behind the activities.
type Store interface {
	PageStore
	RobotsStore
	DomainStore
	RunStore
	SeedStore
}

// Config is what Activities need.
type Config struct {
	Store    Store
	Fetcher  Fetcher
	Resolver Resolver
	Starter  Starter
	// Agent is the product token that robots.txt is read for.
	Agent string
	// AllowMalformed takes a robots.txt that cannot be understood for one that allows
	// everything, instead of nothing.
	AllowMalformed bool
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxFetches caps the requests in flight in this process. Defaults to 256.
	MaxFetches int
	// FrontEnds are networks of shared front ends, whose addresses are not paced.
	FrontEnds politeness.Networks
	// RequestTimeout is the longest that one request can take, as the Fetcher
	// limits it. Defaults to 30 s.
	RequestTimeout time.Duration
}

// brokenMost bounds the addresses that are remembered as broken.
const brokenMost = 10_000

// MaxFetchesDefault is the default of Config.MaxFetches.
const MaxFetchesDefault = 256

// Activities holds what all activities share. It is safe for concurrent use.
type Activities struct {
	store    Store
	fetcher  Fetcher
	resolver Resolver
	starter  Starter
	agent    string
	// allowMalformed is Config.AllowMalformed
	allowMalformed bool
	log            *slog.Logger
	rules          *ruleCache
	// fetches bounds requests in flight, slow those to hosts that are known to be
	// slow, parses the CPU and memory that pages take.
	fetches *semaphore.Weighted
	slow    *semaphore.Weighted
	parses  *semaphore.Weighted
	timeout time.Duration
	limits  extract.Limits

	// background are requests that no activity waits for any more.
	background sync.WaitGroup

	frontEnds politeness.Networks
	// windows holds the politeness.Windows of each text that people have set
	windows sync.Map
	// broken is when an address could not be connected to
	broken *otter.Cache[netip.Addr, time.Time]
	jitter func() float64
}

// New makes the activities.
func New(cfg Config) (*Activities, error) {
	if cfg.Store == nil || cfg.Fetcher == nil || cfg.Resolver == nil || cfg.Starter == nil {
		return nil, errors.New("activities: a store, a fetcher, a resolver and a starter are needed")
	}
	if cfg.Agent == "" {
		return nil, fmt.Errorf("activities: %w: an agent is needed", crawl.ErrInvalid)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.MaxFetches <= 0 {
		cfg.MaxFetches = MaxFetchesDefault
	}
	if cfg.RequestTimeout <= 0 {
		cfg.RequestTimeout = fetch.TotalTimeoutDefault
	}
	rules, err := newRuleCache(cfg.Store)
	if err != nil {
		return nil, err
	}
	broken, err := otter.New(&otter.Options[netip.Addr, time.Time]{MaximumSize: brokenMost})
	if err != nil {
		return nil, fmt.Errorf("make the cache of broken addresses: %w", err)
	}
	return &Activities{
		store: cfg.Store, fetcher: cfg.Fetcher, resolver: cfg.Resolver, starter: cfg.Starter,
		agent: cfg.Agent, allowMalformed: cfg.AllowMalformed, log: cfg.Logger, rules: rules, timeout: cfg.RequestTimeout,
		fetches: semaphore.NewWeighted(int64(cfg.MaxFetches)),
		slow:    semaphore.NewWeighted(max(int64(cfg.MaxFetches)/slowShare, 1)),
		parses:  semaphore.NewWeighted(int64(runtime.GOMAXPROCS(0))),
		jitter:  rand.Float64, limits: extract.Limits{}.WithDefaults(), frontEnds: cfg.FrontEnds,
		broken: broken,
	}, nil
}

const (
	// slowAnswer is the 95th percentile of its answer times from which a host counts
	// as slow.
	slowAnswer = 2 * time.Second
	// slowShare is the part of the places for requests, one in so many, that slow
	// hosts may take up: the others keep the rest, however many hosts hang.
	slowShare = 4
)

// place takes one of the process's places for requests. The function gives it
// back, and may be called more than once.
func (a *Activities) place(ctx context.Context, h crawl.Health) (release func(), err error) {
	lanes := []*semaphore.Weighted{a.fetches}
	if politeness.P95(h) >= slowAnswer {
		lanes = []*semaphore.Weighted{a.slow, a.fetches}
	}
	taken := 0
	release = sync.OnceFunc(func() {
		for _, lane := range lanes[:taken] {
			lane.Release(1)
		}
	})
	for _, lane := range lanes {
		if err := lane.Acquire(ctx, 1); err != nil {
			release()
			return nil, err
		}
		taken++
	}
	return release, nil
}

// Register registers every activity under its method's name.
func Register(r worker.ActivityRegistry, a *Activities) {
	r.RegisterActivity(a)
}

// Wait waits for requests that outlast the activity that made them. It is to be
// called when the worker has stopped, before the store is closed.
func Wait(a *Activities) { a.background.Wait() }

// holdMargin is what a request's hold has on top of the longest the request can
// take, for scheduling and closing the connection.
const holdMargin = 5 * time.Second

// requestSpan is how long a slot is held for one request before the delay that
// follows it.
func (a *Activities) requestSpan() time.Duration { return a.timeout + holdMargin }
