package request

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
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
	// Places are those for them. Defaults to MaxFetches.
	Places *Places
	// Worker tells the id of the worker that makes the requests; nil or 0 means that it has none.
	Worker func() int32
	// Timeout is the longest that one request can take, as the Fetcher limits it.
	Timeout time.Duration
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// Network tells outages of our network from unreachable sites. It listens to the Resolver.
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

	// large bounds requests for large bodies.
	large *semaphore.Weighted
	// cut is done when requests in flight are broken off.
	cut   context.Context //nolint:containedctx // it is the client's life
	doCut context.CancelFunc
	// broken is when an address could not be connected to
	broken *otter.Cache[netip.Addr, time.Time]
}

const (
	// brokenMost bounds the addresses that are remembered as broken.
	brokenMost = 10_000
	// slowAnswer is the 95th percentile of a host's request times from which it counts as slow.
	slowAnswer = 2 * time.Second
	// leaseMargin is added to the longest request, for scheduling and closing the connection.
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
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Worker == nil {
		cfg.Worker = func() int32 { return 0 }
	}
	if cfg.Places == nil {
		cfg.Places = NewPlaces(cfg.MaxFetches)
	}
	c := &Client{Config: cfg, large: semaphore.NewWeighted(int64(SlowPart(cfg.MaxFetches))), broken: broken}
	c.cut, c.doCut = context.WithCancel(context.Background()) //nolint:gosec // Cut calls it
	return c, nil
}

// Drain begins no more requests (ErrStopping), and breaks off those that are in flight after
// some time. They are recorded as ours to answer for, and made again.
func (c *Client) Drain(within time.Duration) {
	c.Places.stop()
	time.AfterFunc(within, c.doCut)
}

// Span is the longest that a request can take from when a place was taken for it.
func Span(timeout time.Duration) time.Duration { return timeout + leaseMargin }

// span is how long a slot is leased for one request, without the delay that follows.
func (c *Client) span() time.Duration { return Span(c.Timeout) }

func (c *Client) place(ctx context.Context, h crawl.Health) (*place, error) {
	return c.Places.take(ctx, IsSlow(h))
}

// IsSlow reports whether a host takes so long that it may have only a part of the places.
func IsSlow(h crawl.Health) bool { return politeness.Occupies(h) >= slowAnswer }

// shared returns the slots with a delay that a request shares with other domains.
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
	if addr.IsValid() {
		add("ip", addr.String(), pace.IPDelay)
		add("subnet", politeness.Subnet(addr), pace.SubnetDelay)
	}
	return slots
}
