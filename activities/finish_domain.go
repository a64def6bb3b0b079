package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// FinishDomainInput asks to end a domain's workflow.
type FinishDomainInput struct {
	Domain string `json:"domain"`
	// PutAway leaves the domain alone for Wait, whatever is due.
	PutAway bool           `json:"put_away,omitempty"`
	Wait    crawl.Duration `json:"wait,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

// FinishDomainResult says whether the workflow may end. If not, something has
// become due.
type FinishDomainResult struct {
	Finished bool `json:"finished"`
}

// FinishDomain gives the domain's claim back unless something is due.
func (a *Activities) FinishDomain(ctx context.Context, in FinishDomainInput) (FinishDomainResult, error) {
	putAway := time.Duration(-1)
	if in.PutAway {
		putAway = time.Duration(in.Wait)
	}
	finished, err := a.store.FinishDomain(ctx, in.Domain, putAway, in.Reason)
	return FinishDomainResult{Finished: finished}, err
}
