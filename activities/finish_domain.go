package activities

import (
	"context"
	"errors"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/settings"
)

// deferRefusedDomain defers a domain if one of its hosts has no permitted address.
func (a *Activities) deferRefusedDomain(ctx context.Context, f crawl.Facts, host string, r crawl.Refusal) (decide.Decision, error) {
	d := decide.RefuseAddress(f, host, r)
	return d, a.store.RefuseDomain(ctx, f.Domain.Name, r.Addr, d.Until.Sub(f.Now), d.Explanation)
}

// FinishDomainInput ends a domain's workflow.
type FinishDomainInput struct {
	Domain string `json:"domain"`
	// Defer defers the domain for Wait, even if pages are due.
	Defer  bool              `json:"defer,omitempty"`
	Wait   settings.Duration `json:"wait,omitempty"`
	Reason string            `json:"reason,omitempty"`
}

// FinishDomainResult reports whether the workflow may end because nothing is due.
type FinishDomainResult struct {
	Finished bool `json:"finished"`
}

// FinishDomain releases the domain's claim unless work is due, and wakes its dispatchers.
func (a *Activities) FinishDomain(ctx context.Context, in FinishDomainInput) (FinishDomainResult, error) {
	var unread error
	finished, err := a.store.FinishDomain(ctx, in.Domain, func(f crawl.Facts) (crawl.Finish, bool) {
		if in.Defer {
			return decide.Deferral(f, time.Duration(in.Wait), in.Reason), true
		}
		var full decide.Facts
		if full, unread = a.Rulings.Facts(ctx, f, nil); unread != nil {
			return crawl.Finish{}, false
		}
		return decide.End(full, in.Reason)
	})
	if err = errors.Join(err, unread); err != nil || !finished {
		return FinishDomainResult{}, err
	}
	if err := a.store.PlanRecrawl(ctx, in.Domain, decide.Plan); err != nil {
		return FinishDomainResult{}, err
	}
	runs, err := a.store.DomainRuns(ctx, in.Domain)
	for _, run := range runs {
		a.waker.wake(run)
	}
	return FinishDomainResult{Finished: true}, err
}
