package dns

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/maypok86/otter/v2"
	"golang.org/x/net/publicsuffix"
	"golang.org/x/time/rate"
)

// maxLimiters bounds the domains with a cached rate. A dropped domain starts anew.
const maxLimiters = 10_000

type limits struct {
	all        *rate.Limiter
	domainRate float64
	domains    *otter.Cache[string, *rate.Limiter]
}

func newLimits(all, domain float64) (*limits, error) {
	domains, err := otter.New(&otter.Options[string, *rate.Limiter]{MaximumSize: maxLimiters})
	if err != nil {
		return nil, fmt.Errorf("dns: make the limits: %w", err)
	}
	return &limits{all: newLimiter(all), domainRate: domain, domains: domains}, nil
}

// newLimiter allows bursts of a second's worth, and of the two queries of a lookup.
func newLimiter(perSecond float64) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(len(families), int(min(perSecond, math.MaxInt32))))
}

// wait waits until a query for a fully qualified name may be sent. It returns ErrLimited at once if
// that is after the end of ctx. Waits for one domain's limit do not affect other domains.
func (l *limits) wait(ctx context.Context, name string) error {
	domain := registrable(name)
	limiter, _ := l.domains.ComputeIfAbsent(domain, func() (*rate.Limiter, bool) {
		return newLimiter(l.domainRate), false
	})
	if err := limiter.Wait(ctx); err != nil {
		return limitError(ctx, err, fmt.Sprintf("more than %g per second for %s", l.domainRate, domain))
	}
	if err := l.all.Wait(ctx); err != nil {
		return limitError(ctx, err, fmt.Sprintf("more than %g per second in total", float64(l.all.Limit())))
	}
	return nil
}

func limitError(ctx context.Context, err error, reason string) error {
	if ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %s: raise the limit, or resolve fewer names at once", ErrLimited, reason)
}

// registrable returns the registrable domain of a name, or else the name.
func registrable(name string) string {
	name = strings.TrimSuffix(name, ".")
	if domain, err := publicsuffix.EffectiveTLDPlusOne(name); err == nil {
		return domain
	}
	return name
}
