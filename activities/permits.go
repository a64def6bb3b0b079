package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/permits"
	"github.com/mosey-web/mosey/internal/robots"
)

// originPermits is what an origin says about the use of all its pages, and so
// before one is requested: in robots.txt and tdmrep.json.
func (a *Activities) originPermits(ctx context.Context, n crawl.Next, u crawl.URL) (permits.Permits, error) {
	var p permits.Permits
	r, err := a.rules.get(ctx, n.Origin, n.RobotsVersion)
	if err != nil {
		return p, err
	}
	if rule, found := r.tdm.Match(u.RequestTarget(), robots.Match); found {
		p.AddTDM(rule)
	}
	p.AddRobots(r.rules.ContentSignals())
	return p, nil
}

// readPermits adds what an answer and its page, if it has one, say.
func (a *Activities) readPermits(
	ctx context.Context, n crawl.Next, u crawl.URL, header http.Header, page extract.Page,
) (permits.Permits, error) {
	p, err := a.originPermits(ctx, n, u)
	p.AddHeader(header)
	for _, m := range page.Metas {
		p.AddMeta(m.Name, m.Content)
	}
	return p, err
}

// setPermits keeps what a publisher says. Where that forbids what the run is for,
// nothing of what the page says is kept.
func setPermits(at *crawl.Attempt, n crawl.Next, p permits.Permits) error {
	if p == (permits.Permits{}) {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the permits of %s: %w", n.URL, err)
	}
	at.Permits, at.NoIndex, at.NoFollow = data, p.NoIndex.Said(), p.NoFollow.Said()
	if allowed, why := permits.Allows(n.Purpose, p); !allowed {
		at.Title, at.Canonical, at.SimHash, at.Error = "", "", nil, why
	}
	return nil
}
