package request

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"
	"go.opentelemetry.io/otel/attribute"
	"golang.org/x/sync/semaphore"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/network"
	"github.com/mosey-web/mosey/internal/traces"
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

// Store is the guard and the history.
type Store interface {
	Begin(ctx context.Context, s crawl.Start) (crawl.Lease, error)
	Record(ctx context.Context, a crawl.Attempt) (crawl.Recorded, error)
	// Keep has an attempt's lease of its domain end after hold from now on.
	Keep(ctx context.Context, domain string, crawlID int64, hold time.Duration) error
	Abandon(ctx context.Context, s crawl.Start, crawlID int64, delay time.Duration, spared bool, why string) error
	// AddressListed reports whether a list keeps an address from being asked for a domain.
	AddressListed(ctx context.Context, domain string, addr netip.Addr) (crawl.Control, bool, error)
	TakeBack(ctx context.Context, s crawl.Start, crawlID int64, delay time.Duration, spared bool, why string, robots int64) error
}

// Config is what a Client needs.
type Config struct {
	Store    Store
	Fetcher  Fetcher
	Resolver Resolver
	// MaxFetches caps the requests in flight in this process, from 1.
	MaxFetches int
	// FrontEnds are networks of shared front ends, whose addresses are not paced:
	// there an address says nothing about whose machine it is.
	FrontEnds politeness.Networks
	// Timeout is the longest that one request can take, as the Fetcher limits it.
	Timeout time.Duration
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// Network tells outages of this machine's network from sites that cannot be
	// reached. It listens to the Resolver, if that tells what becomes of names.
	Network *network.Monitor
	// Log has a line of each attempt, at the level of debug; nil is none.
	Log *slog.Logger
	// Observe, if set, is called with each attempt that was recorded. It must not block.
	Observe func(Observation)
	// Tracer makes a trace of each attempt that comes to a request; nil is none.
	Tracer *traces.Tracer
	// TraceOf, if set, says whom an attempt is made for.
	TraceOf func(context.Context) []attribute.KeyValue
	// Warn is told what goes wrong and is tried again.
	Warn func(ctx context.Context, message string, args ...any)
}

// Client makes guarded requests. It is safe for concurrent use.
type Client struct {
	Config

	// fetches bounds requests in flight, slow those to hosts that are known to be
	// slow, and large those for large bodies.
	fetches *semaphore.Weighted
	slow    *semaphore.Weighted
	large   *semaphore.Weighted
	// broken is when an address could not be connected to
	broken *otter.Cache[netip.Addr, time.Time]
}

const (
	// brokenMost bounds the addresses that are remembered as broken.
	brokenMost = 10_000
	// slowAnswer is the 95th percentile of the time its requests take from which a host
	// counts as slow.
	slowAnswer = 2 * time.Second
	// slowShare is the part of the places for requests, one in so many, that slow
	// hosts may take up: the others keep the rest, however many hosts hang. Requests for
	// large bodies have as many.
	slowShare = 4
	// leaseMargin is what a lease has on top of the longest the request can take, for
	// scheduling and closing the connection.
	leaseMargin = 5 * time.Second
)

// New makes a client.
func New(cfg Config) (*Client, error) {
	broken, err := otter.New(&otter.Options[netip.Addr, time.Time]{MaximumSize: brokenMost})
	if err != nil {
		return nil, fmt.Errorf("make the cache of broken addresses: %w", err)
	}
	if names, ok := cfg.Resolver.(network.Names); ok {
		cfg.Network.Listen(names)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{
		Config:  cfg,
		fetches: semaphore.NewWeighted(int64(cfg.MaxFetches)),
		slow:    semaphore.NewWeighted(max(int64(cfg.MaxFetches)/slowShare, 1)),
		large:   semaphore.NewWeighted(max(int64(cfg.MaxFetches)/slowShare, 1)),
		broken:  broken,
	}, nil
}

// span is how long a slot is leased for one request before the delay that follows
// it.
func (c *Client) span() time.Duration { return c.Timeout + leaseMargin }

// place takes one of the process's places for requests. The function gives it
// back, and may be called more than once.
func (c *Client) place(ctx context.Context, h crawl.Health) (release func(), err error) {
	lanes := []*semaphore.Weighted{c.fetches}
	if politeness.Occupies(h) >= slowAnswer {
		lanes = []*semaphore.Weighted{c.slow, c.fetches}
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

// shared are the slots that a request to an address of a domain shares with other
// domains, those that have a delay.
func (c *Client) shared(domain string, addr netip.Addr, pace decide.Pace) []crawl.SharedSlot {
	slots := []crawl.SharedSlot{}
	add := func(kind, key string, delay time.Duration) {
		if delay > 0 {
			slots = append(slots, crawl.SharedSlot{Key: kind + ":" + key, Delay: crawl.Millis(delay)})
		}
	}
	if pace.RegisteredDelay > 0 { // else there is no need to look it up
		add("registered", urls.Registered(domain), pace.RegisteredDelay)
	}
	if addr.IsValid() && !c.FrontEnds.Contains(addr) {
		add("ip", addr.String(), pace.IPDelay)
		add("subnet", politeness.Subnet(addr), pace.SubnetDelay)
	}
	return slots
}
