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
	"github.com/mosey-web/mosey/internal/extra"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/language"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/ruling"
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
	read.Owners
	PageStore
	ControlStore
	RunStore
	SeedStore
	RecrawlStore
}

// Config configures Activities.
type Config struct {
	Store   Store
	Starter Starter
	// Requests configures the requests. New sets its Store, Jitter, Warn and TraceOf. All activities
	// use its Log, which defaults to slog.Default. MaxFetches defaults to 256, and Timeout to 30 s.
	Requests request.Config
	// Completer completes the activities of waiting batches. nil makes them wait in the activity.
	Completer Completer
	// Agent is the product token that robots.txt is matched against.
	Agent string
	// AllowMalformed makes an unparsable robots.txt allow everything, instead of nothing.
	AllowMalformed bool
	// Languages detects the languages of pages. The zero value only reads declared languages.
	Languages language.Detector
	// SeedFiles names the directories of seed files.
	SeedFiles SeedFiles
	// Images stores images. If nil, runs that store images wait.
	Images ImageStore
	// Registry recognizes a domain's change of owner.
	Registry read.Registry
	// Program adds data to pages; nil adds none.
	Program *extra.Program
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
	r := cfg.Requests
	if cfg.Store == nil || r.Fetcher == nil || r.Resolver == nil || r.Network == nil || cfg.Starter == nil {
		return nil, errors.New("activities: Config needs a store, a fetcher, a resolver, a network monitor and a starter")
	}
	if cfg.Agent == "" {
		return nil, fmt.Errorf("activities: %w: Config needs an agent", crawl.ErrInvalid)
	}
	r.Store, r.Jitter, r.Warn, r.TraceOf = cfg.Store, rand.Float64, warn, traceOf
	r.Log = cmp.Or(r.Log, slog.Default())
	r.MaxFetches = cmp.Or(r.MaxFetches, 256)
	r.Timeout = cmp.Or(r.Timeout, fetch.TotalTimeoutDefault)
	requests, err := request.New(r)
	if err != nil {
		return nil, err
	}
	rulings, err := ruling.New(cfg.Store)
	if err != nil {
		return nil, err
	}
	return &Activities{
		store: cfg.Store, requests: requests, Rulings: rulings, starter: cfg.Starter,
		waker: newWaker(cfg.Starter, r.Log), stepLimiter: newStepLimiter(time.Now()),
		agent: cfg.Agent, allowMalformed: cfg.AllowMalformed, log: r.Log,
		seedFiles: cfg.SeedFiles, jitter: rand.Float64,
		reader: read.New(read.Config{
			Store: cfg.Store, Rules: rulings, Languages: cfg.Languages, Pictures: picture.New(picture.Limits{}), Images: cfg.Images,
			Owners: cfg.Store, Registry: cfg.Registry, Program: cfg.Program, Warn: warn,
		}),
		scheduler: newScheduler(cfg.Completer, r.MaxFetches, r.Log),
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
