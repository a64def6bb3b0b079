package activities

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/permits"
	"github.com/mosey-web/mosey/internal/robots"
)

// permits is what an origin says about the use of a page before that is
// requested: in robots.txt and tdmrep.json.
func (r parsedRules) permits(u crawl.URL) permits.Permits {
	var p permits.Permits
	if rule, found := r.tdm.Match(u.RequestTarget(), robots.Match); found {
		p.AddTDM(rule)
	}
	p.AddRobots(r.rules.ContentSignals())
	return p
}

// readPermits adds what an answer and its page, if it has one, say.
func readPermits(said permits.Permits, header http.Header, page extract.Page) permits.Permits {
	said.AddHeader(header)
	for _, m := range page.Metas {
		said.AddMeta(m.Name, m.Content)
	}
	return said
}

// setPermits keeps what a publisher says. Where that forbids what the run is for,
// nothing of what the page says is kept, nor what would make the next answer a
// mere 304.
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
		at.Visit = crawl.Visit{At: at.Visit.At}
	}
	return nil
}
