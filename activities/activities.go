package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/ruling"
	"github.com/mosey-web/mosey/internal/traces"
)

// Resolver finds a host's addresses.
type Resolver = request.Resolver

// Fetcher makes one bounded request to an address.
type Fetcher = request.Fetcher

// ImageStore stores the bytes of images.
type ImageStore = read.ImageStore

// Starter starts workflows, or wakes workflows that run already.
type Starter interface {
	StartCrawl(ctx context.Context, run string) error
	StartDomain(ctx context.Context, domain, run string, pagesPerActivity int) error
}

// Store reads and writes the rows of the activities.
type Store interface {
	request.Store
	read.Store
	PageStore
	RobotsStore
	DomainStore
	ControlStore
	RunStore
	SeedStore
	SeedFileStore
	RecrawlStore
}

// Config configures Activities.
type Config struct {
	Store    Store
	Fetcher  Fetcher
	Resolver Resolver
	Starter  Starter
	// Completer completes the activities of waiting batches. nil makes them wait in the activity.
	Completer Completer
	// Agent is the product token that robots.txt is matched against.
	Agent string
	// AllowMalformed makes an unparsable robots.txt allow everything, instead of nothing.
	AllowMalformed bool
	// Observe, if set, is called with each recorded attempt. It must not block.
	Observe func(request.Observation)
	// Tracer traces each attempt that makes a request. nil disables traces.
	Tracer *traces.Tracer
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxFetches caps the concurrent requests of this process. Defaults to 256.
	MaxFetches int
	// Permits holds the permits for these requests. Defaults to MaxFetches permits.
	Permits *request.Permits
	// Worker returns this worker's id for the rows of its attempts. nil stores no id.
	Worker func() int32
	// Network distinguishes outages of our network from unreachable sites. Defaults to a new monitor.
	Network *network.Monitor
	// Languages detects the languages of pages. The zero value only reads declared languages.
	Languages language.Detector
	// SeedFiles names the directories of seed files.
	SeedFiles SeedFiles
	// Pictures reads images. Defaults to a new reader.
	Pictures *picture.Reader
	// Images stores images. If nil, runs that store images wait.
	Images ImageStore
	// RequestTimeout is the Fetcher's limit for one request. Defaults to 30 s.
	RequestTimeout time.Duration
}

// Activities implements all activities. It is safe for concurrent use.
type Activities struct {
	// Rulings reads the texts for decisions, such as robots.txt.
	Rulings *ruling.Reader

	store       Store
	requests    *request.Client
	reader      *read.Reader
	starter     Starter
	waker       *waker
	stepLimiter *stepLimiter
	scheduler   *scheduler
	agent       string
	log         *slog.Logger
	jitter      func() float64
	// The next fields are copies from Config.
	allowMalformed bool
	seedFiles      SeedFiles
}

// New returns the activities.
func New(cfg Config) (*Activities, error) {
	if cfg.Store == nil || cfg.Fetcher == nil || cfg.Resolver == nil || cfg.Starter == nil {
		return nil, errors.New("activities: Config needs a store, a fetcher, a resolver and a starter")
	}
	if cfg.Agent == "" {
		return nil, fmt.Errorf("activities: %w: Config needs an agent", crawl.ErrInvalid)
	}
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	cfg.MaxFetches = cmp.Or(cfg.MaxFetches, 256)
	cfg.RequestTimeout = cmp.Or(cfg.RequestTimeout, fetch.TotalTimeoutDefault)
	if cfg.Network == nil {
		cfg.Network = network.New(network.Config{Jitter: rand.Float64})
	}
	if cfg.Pictures == nil {
		cfg.Pictures = picture.New(picture.Limits{})
	}
	rulings, err := ruling.New(cfg.Store)
	if err != nil {
		return nil, err
	}
	requests, err := request.New(request.Config{
		Store: cfg.Store, Fetcher: cfg.Fetcher, Resolver: cfg.Resolver, MaxFetches: cfg.MaxFetches,
		Permits: cfg.Permits, Worker: cfg.Worker,
		Timeout: cfg.RequestTimeout, Jitter: rand.Float64, Warn: warn,
		Network: cfg.Network, Log: cfg.Logger, Observe: cfg.Observe,
		Tracer: cfg.Tracer, TraceOf: traceOf,
	})
	if err != nil {
		return nil, err
	}
	return &Activities{
		store: cfg.Store, requests: requests, Rulings: rulings, starter: cfg.Starter,
		waker: newWaker(cfg.Starter, cfg.Logger), stepLimiter: newStepLimiter(time.Now()),
		agent: cfg.Agent, allowMalformed: cfg.AllowMalformed, log: cfg.Logger,
		seedFiles: cfg.SeedFiles, jitter: rand.Float64,
		reader: read.New(read.Config{
			Store: cfg.Store, Rules: rulings, Languages: cfg.Languages, Pictures: cfg.Pictures, Images: cfg.Images, Warn: warn,
		}),
		scheduler: newScheduler(cfg.Completer, cfg.MaxFetches, cfg.Logger),
	}, nil
}

// Register registers every activity under its method's name.
func Register(r worker.ActivityRegistry, a *Activities) {
	r.RegisterActivity(a)
}

// Drain begins no more requests, and aborts the requests still in flight after some time.
func Drain(a *Activities, timeout time.Duration) {
	a.requests.Drain(timeout)
	a.scheduler.stop()
}

// HandOver ends the activities of waiting domains, so that another worker continues them. Call it
// once no worker polls, because otherwise this worker would get them back.
func HandOver(a *Activities) { a.scheduler.handOver() }

// Wait waits for pending wake-ups. Call it after the worker has stopped.
func Wait(a *Activities) { a.waker.stop() }

// completeFacts adds the further facts that a decision needs.
func (a *Activities) completeFacts(ctx context.Context, facts crawl.Facts) (decide.Facts, error) {
	var c *crawl.AttemptFacts
	if run := decide.Pick(facts, facts.Now); run != nil {
		c = run.Attempt
	}
	return a.completeAttemptFacts(ctx, facts, c)
}

func (a *Activities) completeAttemptFacts(ctx context.Context, facts crawl.Facts, c *crawl.AttemptFacts) (decide.Facts, error) {
	f, err := a.Rulings.Facts(ctx, facts, c)
	f.Agent, f.AllowMalformed = a.agent, a.allowMalformed
	return f, err
}
