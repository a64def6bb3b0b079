package read

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
)

// said is what the origin and this answer's header say about the page's use. Every
// answer is read for it, whether or not it has a body.
func (r *reading) said(resp *fetch.Response) usage.Usage {
	said := r.d.Usage
	said.AddHeader(resp.Header)
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

// setUsage also obeys it. Where it forbids what the run is for, nothing of what the
// page says is kept, nor what would make the next answer a mere 304.
func (r *reading) setUsage(at *crawl.Attempt, said usage.Usage) error {
	if allowed, why := usage.Allows(*r.d.Run.Settings.Purpose, said); !allowed {
		p := at.Page
		p.Signals, p.SimHash, p.Visit, at.Error = &crawl.Signals{}, nil, &crawl.VisitUpdate{}, why
		p.Language, at.Index = "", nil
		if at.Charge != nil {
			at.Charge.Shared, at.Charge.Fingerprints = nil, nil
		}
	}
	return r.keepUsage(at, said)
}

// listed reports whether a page may be found by what is searched for, whatever the
// purpose of the run that reads it.
func listed(said usage.Usage, now time.Time) bool {
	indexable, _ := usage.Indexable(said, now)
	search, _ := usage.Allows(settings.PurposeSearch, said)
	return indexable && search
}
