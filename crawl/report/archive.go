package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
)

// ArchivedOrigin is an origin with archived responses.
type ArchivedOrigin struct{ Domain, Origin string }

// ArchivedResponse is a response in the archive. Title is the title of its page now.
type ArchivedResponse struct {
	URL         string
	StatusCode  int
	ContentType string
	Kind        kinds.Kind
	Title       string
	Archived    crawl.Archived
}

// ArchivedPage is a page whose stored version is in the archive. Run is the run of the response,
// and its Attempt has the facts to read it with.
type ArchivedPage struct {
	FetchedAt time.Time
	Run       crawl.RunFacts
	Archived  crawl.Archived
}
