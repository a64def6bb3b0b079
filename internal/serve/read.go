package serve

import (
	"context"

	"github.com/mosey-web/mosey/crawl/report"
)

// reading reads for one page: what its explanation has read is not read again. It is not safe for
// concurrent use.
type reading struct {
	Store

	domain *readOf[report.Domain]
	page   *readOf[report.Page]
}

// readOf is what was answered about something.
type readOf[T any] struct {
	name  string
	value T
	err   error
}

// Domain is Store's.
func (r *reading) Domain(ctx context.Context, domain string) (report.Domain, error) {
	if r.domain == nil || r.domain.name != domain {
		value, err := r.Store.Domain(ctx, domain)
		r.domain = &readOf[report.Domain]{domain, value, err}
	}
	return r.domain.value, r.domain.err
}

// Page is Store's.
func (r *reading) Page(ctx context.Context, domain, url string) (report.Page, error) {
	if r.page == nil || r.page.name != url {
		value, err := r.Store.Page(ctx, domain, url)
		r.page = &readOf[report.Page]{url, value, err}
	}
	return r.page.value, r.page.err
}
