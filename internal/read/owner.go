package read

import (
	"context"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
)

// ownerInterval is the least time between two looks at the signs of a domain's owner.
const ownerInterval = 24 * time.Hour

// Owners stores the signs of the owners of domains.
type Owners interface {
	Owner(ctx context.Context, domain string) (crawl.Owner, error)
	SetOwner(ctx context.Context, domain string, o crawl.Owner) error
	// ChangeOwner makes a domain new: its pages leave the index, and links to it do not count.
	ChangeOwner(ctx context.Context, domain string, o crawl.Owner) error
}

// Registry knows signs of the owners of registered domains. A nil function is not asked, and an
// error of one says nothing of an owner.
type Registry struct {
	// NameServers returns the registered domains of a domain's name servers, sorted.
	NameServers func(ctx context.Context, domain string) ([]string, error)
	// RegisteredAt returns the time of a domain's registration. It is asked only if all other signs
	// have changed.
	RegisteredAt func(ctx context.Context, domain string) (time.Time, error)
}

// checkOwner looks at a domain's front page for signs of another owner, unless its publisher
// forbids the run's purpose. After a failure, the next visit looks again.
func (r *reading) checkOwner(ctx context.Context, at *crawl.Attempt, page extract.Page, resp *fetch.Response, u usage.Usage) {
	isFront := r.url.RequestTarget() == "/" && resp.Status >= 200 && resp.Status < 300
	if r.Owners == nil || !isFront || at.Login || at.Skipped != "" {
		return
	}
	if allowed, _ := usage.Allows(*r.d.Run.Settings.Purpose, u); !allowed {
		return
	}
	o := crawl.Owner{SeenAt: resp.EndedAt.UTC(), Title: page.Title, Language: at.Page.Language, Issuer: resp.Issuer}
	if err := r.compareOwner(ctx, r.url.Domain(), o); err != nil && ctx.Err() == nil {
		r.Warn(ctx, "cannot compare the owner of a domain", "domain", r.url.Domain(), "error", err)
	}
}

// compareOwner stores the signs of a domain's owner, once a day, and makes a domain with another
// owner new.
func (r *reading) compareOwner(ctx context.Context, domain string, o crawl.Owner) error {
	before, err := r.Owners.Owner(ctx, domain)
	if err != nil || o.SeenAt.Sub(before.SeenAt) < ownerInterval {
		return err
	}
	if r.Registry.NameServers != nil {
		if servers, err := r.Registry.NameServers(ctx, urls.Registered(domain)); err == nil {
			o.NameServers = servers
		}
	}
	if !o.Differs(before) || r.wasRegistered(ctx, domain, before.SeenAt) {
		return r.Owners.SetOwner(ctx, domain, o)
	}
	r.Warn(ctx, "the domain has another owner: its earlier pages, links and ranks do not count any more", "domain", domain)
	return r.Owners.ChangeOwner(ctx, domain, o)
}

// wasRegistered reports whether a domain's registration is from before an instant.
func (r *reading) wasRegistered(ctx context.Context, domain string, before time.Time) bool {
	if r.Registry.RegisteredAt == nil {
		return false
	}
	at, err := r.Registry.RegisteredAt(ctx, urls.Registered(domain))
	if err != nil {
		r.Warn(ctx, "cannot read the registration of a domain whose owner seems to have changed", "domain", domain, "error", err)
		return false
	}
	return at.Before(before)
}
