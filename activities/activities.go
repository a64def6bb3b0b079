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

// ImageStore is where the bytes of images are kept.
type ImageStore = read.ImageStore

// Starter starts workflows, or wakes those that run already.
type Starter interface {
	StartCrawl(ctx context.Context, run string) error
	StartDomain(ctx context.Context, domain, run string, pagesPerActivity int) error
}

// Store is the rows behind the activities.
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

// Config is what Activities need.
type Config struct {
	Store    Store
	Fetcher  Fetcher
	Resolver Resolver
	Starter  Starter
	// Completer completes the activities of batches that wait; nil has them wait in their activity.
	Completer Completer
	// Agent is the product token that robots.txt is read for.
	Agent string
	// AllowMalformed makes a robots.txt that cannot be parsed allow everything, instead of nothing.
	AllowMalformed bool
	// Observe, if set, is called with each attempt that was recorded. It must not block.
	Observe func(request.Observation)
	// Tracer makes a trace of each attempt that comes to a request; nil is none.
	Tracer *traces.Tracer
	// Logger defaults to slog.Default.
	Logger *slog.Logger
	// MaxFetches caps the requests in flight in this process. Defaults to 256.
	MaxFetches int
	// Places are those for them. Defaults to MaxFetches.
	Places *request.Places
	// Worker tells the id of this worker in the rows of its attempts; nil means that it has none.
	Worker func() int32
	// Network tells outages of our network from unreachable sites. Defaults to a monitor of its own.
	Network *network.Monitor
	// Languages names the languages of pages. The zero value knows what they declare.
	Languages language.Detector
	// SeedFiles are what seed files may be read from.
	SeedFiles SeedFiles
	// Pictures reads images. Defaults to one of its own.
	Pictures *picture.Reader
	// Images is where images are stored; nil is nowhere: runs that want them stored wait.
	Images ImageStore
	// RequestTimeout is the Fetcher's limit for one request. Defaults to 30 s.
	RequestTimeout time.Duration
}

// Activities holds what all activities share. It is safe for concurrent use.
type Activities struct {
	store     Store
	requests  *request.Client
	reader    *read.Reader
	rulings   *ruling.Reader
	starter   Starter
	waker     *waker
	ease      *ease
	scheduler *scheduler
	agent     string
	log       *slog.Logger
	jitter    func() float64
	// as in Config
	allowMalformed bool
	seedFiles      SeedFiles
}

// New makes the activities.
func New(cfg Config) (*Activities, error) {
	if cfg.Store == nil || cfg.Fetcher == nil || cfg.Resolver == nil || cfg.Starter == nil {
		return nil, errors.New("activities: a store, a fetcher, a resolver and a starter are needed")
	}
	if cfg.Agent == "" {
		return nil, fmt.Errorf("activities: %w: an agent is needed", crawl.ErrInvalid)
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
		Places: cfg.Places, Worker: cfg.Worker,
		Timeout: cfg.RequestTimeout, Jitter: rand.Float64, Warn: warn,
		Network: cfg.Network, Log: cfg.Logger, Observe: cfg.Observe,
		Tracer: cfg.Tracer, TraceOf: traceOf,
	})
	if err != nil {
		return nil, err
	}
	return &Activities{
		store: cfg.Store, requests: requests, rulings: rulings, starter: cfg.Starter,
		waker: newWaker(cfg.Starter, cfg.Logger), ease: newEase(time.Now()),
		agent: cfg.Agent, allowMalformed: cfg.AllowMalformed, log: cfg.Logger,
		seedFiles: cfg.SeedFiles, jitter: rand.Float64,
		reader: read.New(read.Config{
			Store: cfg.Store, Rules: rulings, Languages: cfg.Languages, Pictures: cfg.Pictures, Images: cfg.Images, Warn: warn,
		}),
		scheduler: newScheduler(cfg.Completer, cfg.MaxFetches, cfg.Logger),
	}, nil
}

// RulesCacheUse counts the rules of robots.txt that were had from memory, and the others.
func RulesCacheUse(a *Activities) (hits, misses int64) { return a.rulings.CacheUse() }

// Register registers every activity under its method's name.
func Register(r worker.ActivityRegistry, a *Activities) {
	r.RegisterActivity(a)
}

// Drain begins no more requests, and breaks those off that are still in flight after some time.
func Drain(a *Activities, within time.Duration) {
	a.requests.Drain(within)
	a.scheduler.stop()
}

// HandOver ends the activities of domains that wait, so that other workers, or this one when it is back,
// continue them. Call it once no worker polls: else it would be this one.
func HandOver(a *Activities) { a.scheduler.handOver() }

// Wait waits for pending wake-ups. Call it after the worker has stopped.
func Wait(a *Activities) { a.waker.stop() }

// complete adds to facts what a decision needs beside them.
func (a *Activities) complete(ctx context.Context, facts crawl.Facts) (decide.Facts, error) {
	var c *crawl.CrawlFacts
	if run := decide.Pick(facts, facts.Now); run != nil {
		c = run.Crawl
	}
	return a.completeFor(ctx, facts, c)
}

// completeFor does so for a decision about one crawl.
func (a *Activities) completeFor(ctx context.Context, facts crawl.Facts, c *crawl.CrawlFacts) (decide.Facts, error) {
	f, err := a.rulings.Facts(ctx, facts, c)
	f.Agent, f.AllowMalformed = a.agent, a.allowMalformed
	return f, err
}
