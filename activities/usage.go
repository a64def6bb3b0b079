package activities

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/robots"
)

// usage is what an origin says about the use of a page before that is
// requested: in robots.txt and tdmrep.json.
func (r parsedRules) usage(u urls.URL) usage.Usage {
	var p usage.Usage
	if rule, found := r.tdm.Match(u.RequestTarget(), robots.Match); found {
		p.AddTDM(rule)
	}
	p.AddRobots(r.rules.ContentSignals())
	return p
}

// readUsage adds what an answer and its page, if it has one, say.
func readUsage(said usage.Usage, header http.Header, page extract.Page) usage.Usage {
	said.AddHeader(header)
	for _, m := range page.Metas {
		said.AddMeta(m.Name, m.Content)
	}
	return said
}

// setUsage keeps what a publisher says. Where that forbids what the run is for,
// nothing of what the page says is kept, nor what would make the next answer a
// mere 304.
func setUsage(at *crawl.Attempt, n crawl.Next, p usage.Usage) error {
	if p == (usage.Usage{}) {
		return nil
	}
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the permits of %s: %w", n.URL, err)
	}
	at.Permits, at.NoIndex, at.NoFollow = data, p.NoIndex.Said(), p.NoFollow.Said()
	if allowed, why := usage.Allows(n.Purpose, p); !allowed {
		at.Title, at.Canonical, at.SimHash, at.Error = "", "", nil, why
		at.Visit = crawl.Visit{At: at.Visit.At}
	}
	return nil
}
