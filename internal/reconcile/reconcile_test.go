package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/reconcile"
)

var errFull = errors.New("exceeded workflow execution limit for signal events")

// cluster is a fake of the rows and of Temporal.
type cluster struct {
	runs, wanting, claimed []string
	crawls, domains        []string
	// fail returns the error of a call; nil means success.
	fail func(ctx context.Context, call string) error

	calls []string
}

func (c *cluster) call(ctx context.Context, what, name string) error {
	what = strings.TrimSpace(what + " " + name)
	if c.fail != nil {
		if err := c.fail(ctx, what); err != nil {
			return err
		}
	}
	c.calls = append(c.calls, what)
	return nil
}

func (c *cluster) ExpireClaims(ctx context.Context) (int, error) {
	return 0, c.call(ctx, "expire claims", "")
}

func (c *cluster) RunsWithWork(ctx context.Context, _ time.Duration) ([]string, error) {
	return c.wanting, c.call(ctx, "list wanting", "")
}

func (c *cluster) LiveRuns(ctx context.Context) ([]string, error) {
	return c.runs, c.call(ctx, "list live", "")
}

func (c *cluster) DomainsClaimed(ctx context.Context) ([]string, error) {
	return c.claimed, c.call(ctx, "list claimed", "")
}

func (c *cluster) ReleaseDomains(ctx context.Context, domains []string) ([]string, error) {
	return domains, c.call(ctx, "release", strings.Join(domains, ","))
}

func (c *cluster) RunningCrawls(context.Context) ([]string, error)  { return c.crawls, nil }
func (c *cluster) RunningDomains(context.Context) ([]string, error) { return c.domains, nil }

func (c *cluster) StartCrawl(ctx context.Context, run string) error {
	return c.call(ctx, "start", run)
}

func (c *cluster) WakeCrawl(ctx context.Context, run string) error {
	return c.call(ctx, "wake run", run)
}

func (c *cluster) WakeDomain(ctx context.Context, domain string) error {
	return c.call(ctx, "wake", domain)
}

func (c *cluster) IsDomainRunning(ctx context.Context, domain string) (bool, error) {
	return false, c.call(ctx, "describe", domain)
}

// different has a difference of each kind.
func different() *cluster {
	return &cluster{
		runs: []string{"live"}, crawls: []string{"ended"}, wanting: []string{"wanting"},
		claimed: []string{"gone-a", "gone-b"}, domains: []string{"left-a", "left-b"},
	}
}

// all are the calls that mend these differences.
var all = []string{
	"expire claims", "describe gone-a", "describe gone-b", "release gone-a,gone-b", "wake left-a", "wake left-b",
	"start live", "wake run ended", "start wanting",
}

// looked returns the error of the look that mends, and what it did. The lists are left out.
func looked(t *testing.T, c *cluster) ([]string, error) {
	t.Helper()
	r := &reconcile.Reconciler{Store: c, Workflows: c, Logger: slog.New(slog.DiscardHandler)}
	fail := c.fail
	c.fail = nil
	require.NoError(t, r.Pass(t.Context()))
	c.calls, c.fail = nil, fail
	err := r.Pass(t.Context())
	var did []string
	for _, call := range c.calls {
		if !strings.HasPrefix(call, "list ") {
			did = append(did, call)
		}
	}
	return did, err
}

func TestOneFailureDoesNotStopTheRest(t *testing.T) {
	t.Parallel()
	for failing, missing := range map[string][]string{
		"expire claims":         {"expire claims"},
		"describe gone-a":       {"describe gone-a", "release gone-a,gone-b"},
		"release gone-a,gone-b": {"release gone-a,gone-b"},
		"wake left-a":           {"wake left-a"},
		"start live":            {"start live"},
		"wake run ended":        {"wake run ended"},
		"start wanting":         {"start wanting"},
		"list claimed":          {"describe gone-a", "describe gone-b", "release gone-a,gone-b", "wake left-a", "wake left-b"},
		"list live":             {"start live", "wake run ended"},
		"list wanting":          {"start wanting"},
	} {
		for kind, hangs := range map[string]bool{"Fails": false, "Hangs": true} {
			t.Run(kind+" "+failing, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := different()
					c.fail = func(ctx context.Context, call string) error {
						if call == failing && hangs {
							<-ctx.Done()
							return ctx.Err()
						} else if call == failing {
							return errFull
						}
						return ctx.Err()
					}
					began := time.Now()
					did, err := looked(t, c)
					if hangs {
						require.ErrorIs(t, err, context.DeadlineExceeded)
						require.LessOrEqual(t, time.Since(began), time.Minute)
					} else {
						require.ErrorIs(t, err, errFull)
					}
					want := make([]string, 0, len(all))
					for _, call := range all {
						if !slices.Contains(missing, call) {
							want = append(want, call)
						} else if failing == "describe gone-a" && strings.HasPrefix(call, "release") {
							want = append(want, "release gone-b")
						}
					}
					require.Equal(t, want, did)
				})
			})
		}
	}
}

func TestManyFailuresMakeAShortError(t *testing.T) {
	t.Parallel()
	c := &cluster{}
	for i := range 10_000 {
		c.domains = append(c.domains, fmt.Sprintf("d%d.test", i))
	}
	c.fail = func(_ context.Context, call string) error {
		if strings.HasPrefix(call, "wake") {
			return errFull
		}
		return nil
	}
	_, err := looked(t, c)
	require.ErrorIs(t, err, errFull)
	require.ErrorContains(t, err, "and 9995 more errors")
	require.Less(t, len(err.Error()), 1000)
}
