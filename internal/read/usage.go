package read

import (
	"encoding/json"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
)

// said is what the origin and this answer's header say about the page's use. Every
// answer is read for it, whether or not it has a body.
func (r *reading) said(resp *fetch.Response) usage.Usage {
	said := r.d.Usage
	said.AddHeader(resp.Header)
	said.AddLinks(r.url, resp.Header)
	return said
}

// keepUsage keeps what a publisher says.
func (r *reading) keepUsage(at *crawl.Attempt, said usage.Usage) error {
	if said == (usage.Usage{}) {
		return nil
	}
	data, err := json.Marshal(said)
	if err != nil {
		return fmt.Errorf("write the usage of %s: %w", r.url, err)
	}
	at.Page.Usage, at.Page.NoIndex, at.Page.NoFollow = data, said.NoIndex.Said(), said.NoFollow.Said()
	return nil
}

// setUsage also obeys it. If it forbids what the run is for, nothing that the page says, or
// has said before, is kept, nor what would make the next answer a mere 304.
func (r *reading) setUsage(at *crawl.Attempt, said usage.Usage) error {
	if allowed, why := usage.Allows(*r.d.Run.Settings.Purpose, said); !allowed {
		decide.Forget(*r.d.Crawl, at)
		at.Page.Visit, at.Error = &crawl.VisitUpdate{}, why
	}
	return r.keepUsage(at, said)
}
