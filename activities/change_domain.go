package activities

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
)

// SetDomainInput changes a domain's own delay, budget or window; nil leaves it.
type SetDomainInput struct {
	Domain   string          `json:"domain"`
	Delay    *crawl.Duration `json:"delay,omitempty"`
	MaxPages *int64          `json:"max_pages,omitempty"`
	Window   *string         `json:"window,omitempty"`
}

// SetDomain stores a domain's own delay, budget or window. They hold from the next request
// on. A window of which a time zone is not known is refused.
func (a *Activities) SetDomain(ctx context.Context, in SetDomainInput) error {
	if err := politeness.ValidateSettings(crawl.Settings{Window: in.Window}); err != nil {
		return badInput(err)
	}
	return orBadInput(a.store.SetDomain(ctx, in.Domain, (*time.Duration)(in.Delay), in.MaxPages, in.Window))
}

// BlockDomainInput stops a domain.
type BlockDomainInput struct {
	Domain string `json:"domain"`
	Reason string `json:"reason"`
}

// BlockDomain makes sure that no further request to a domain is begun, until it is
// seeded again.
func (a *Activities) BlockDomain(ctx context.Context, in BlockDomainInput) error {
	return orBadInput(a.store.BlockDomain(ctx, in.Domain, in.Reason))
}

// AddURLsInput adds pages of a domain to a run.
type AddURLsInput struct {
	Domain string   `json:"domain"`
	Run    string   `json:"run"`
	URLs   []string `json:"urls"`
}

// AddURLsResult says how many were new to the run.
type AddURLsResult struct {
	Added int `json:"added"`
}

// AddURLs adds pages of a domain to a run as seeds.
func (a *Activities) AddURLs(ctx context.Context, in AddURLsInput) (AddURLsResult, error) {
	run, err := a.store.Run(ctx, in.Run)
	if err != nil {
		return AddURLsResult{}, orBadInput(err)
	}
	seeds, err := urls.ParseAll(in.URLs)
	if err != nil {
		return AddURLsResult{}, badInput(err)
	}
	n, err := a.store.AddSeeds(ctx, run.ID, seeds)
	return AddURLsResult{Added: n}, err
}
