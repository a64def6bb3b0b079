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

// Store implements the guard and stores the attempts.
type Store interface {
	Begin(ctx context.Context, s crawl.Start) (crawl.Lease, error)
	Record(ctx context.Context, a crawl.Attempt) (crawl.RecordResult, error)
	// ExtendLease makes the attempt's lease of its domain end after hold from now on.
	ExtendLease(ctx context.Context, domain string, attemptID int64, hold time.Duration) error
	Abandon(ctx context.Context, s crawl.Start, attemptID int64, delay time.Duration, unreachable bool, reason string) error
	// AddressListed reports whether a list forbids an address for a domain.
	AddressListed(ctx context.Context, domain string, addr netip.Addr) (crawl.Control, bool, error)
	// LastArchived returns the last archived record of a page that has its complete payload, or nil.
	LastArchived(ctx context.Context, domain, url string) (*crawl.Archived, error)
	Withdraw(ctx context.Context, s crawl.Start, attemptID int64, delay time.Duration, unreachable bool, reason string, robots int64) error
}

// Config configures a Client.
type Config struct {
	Store    Store
	Fetcher  Fetcher
	Resolver Resolver
	// MaxFetches caps the concurrent requests of this process, from 1.
	MaxFetches int
	// Permits holds the permits for these requests. Defaults to MaxFetches permits.
	Permits *Permits
	// Worker returns the id of the requesting worker; nil or 0 means no id.
	Worker func() int32
	// Timeout is the Fetcher's limit for one request.
	Timeout time.Duration
	// Jitter returns numbers in [0,1).
	Jitter func() float64
	// Network distinguishes outages of our network from unreachable sites. It listens to the
	// Resolver.
	Network *network.Monitor
	// Archive stores the responses; nil stores none.
	Archive Archive
	// Log gets a debug line for each attempt; nil disables it.
	Log *slog.Logger
	// Observe, if set, is called with each recorded attempt. It must not block.
	Observe func(Observation)
	// Tracer traces each attempt that makes a request; nil disables traces.
	Tracer *traces.Tracer
	// TraceOf, if set, returns trace attributes that name the attempt's caller.
	TraceOf func(context.Context) []attribute.KeyValue
	// Warn logs errors that will be retried.
	Warn func(ctx context.Context, message string, args ...any)
}

// Client makes guarded requests. It is safe for concurrent use.
type Client struct {
	Config

	large     *semaphore.Weighted
	longReads *semaphore.Weighted
	// aborted is cancelled to abort the requests in flight.
	aborted context.Context //nolint:containedctx // it is the client's life
	abort   context.CancelFunc
	// broken caches the times of failed connections by address
	broken *otter.Cache[netip.Addr, time.Time]
}

const (
	// maxBroken caps the cached broken addresses.
	maxBroken = 10_000
	// slowResponse is the 95th percentile of a slow host's request times, at least.
	slowResponse = 2 * time.Second
	// leaseMargin is added to the longest request, for scheduling and closing the connection.
	leaseMargin = 5 * time.Second
)

// New returns a client.
func New(cfg Config) (*Client, error) {
	broken, err := otter.New(&otter.Options[netip.Addr, time.Time]{MaximumSize: maxBroken})
	if err != nil {
		return nil, fmt.Errorf("make the cache of failing addresses: %w", err)
	}
	if names, ok := cfg.Resolver.(network.NameResolver); ok {
		cfg.Network.WatchNames(names)
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.Worker == nil {
		cfg.Worker = func() int32 { return 0 }
	}
	if cfg.Permits == nil {
		cfg.Permits = NewPermits(cfg.MaxFetches)
	}
	c := &Client{
		Config: cfg, large: semaphore.NewWeighted(int64(SlowLimit(cfg.MaxFetches))), longReads: semaphore.NewWeighted(LongReads),
		broken: broken,
	}
	c.aborted, c.abort = context.WithCancel(context.Background())
	return c, nil
}

// Drain begins no more requests (ErrStopping), and aborts the requests in flight after some time.
// Aborted requests do not count against the site, and are retried.
func (c *Client) Drain(within time.Duration) {
	c.Permits.stop()
	time.AfterFunc(within, c.abort)
}

// MaxDuration returns the longest time of a request, from the moment it gets its permit.
func MaxDuration(timeout time.Duration) time.Duration { return timeout + leaseMargin }

// leaseDuration returns the lease time of a slot for one request, without the delay that follows.
func (c *Client) leaseDuration() time.Duration { return MaxDuration(c.Timeout) }

// IsSlow reports whether a host is so slow that it gets only a part of the permits.
func IsSlow(h crawl.Health) bool { return politeness.OccupancyP95(h) >= slowResponse }

// sharedSlots returns the slots with a delay that a request shares with other domains.
func (c *Client) sharedSlots(domain string, addr netip.Addr, pace decide.Pace) []crawl.SharedSlot {
	slots := []crawl.SharedSlot{}
	add := func(kind, key string, delay time.Duration) {
		if delay > 0 {
			slots = append(slots, crawl.SharedSlot{Key: kind + ":" + key, Delay: crawl.Millis(delay)})
		}
	}
	if pace.RegisteredDelay > 0 { // skips the lookup if it is not needed
		add("registered", urls.Registered(domain), pace.RegisteredDelay)
	}
	if addr.IsValid() {
		add("ip", addr.String(), pace.IPDelay)
		add("subnet", politeness.Subnet(addr), pace.SubnetDelay)
	}
	return slots
}
