package activities

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/request"
)

// probe asks for a page to see how the domain is that has rested. It is a request
// like any other, and like robots.txt no part of the frontier: it costs no budget,
// and what it finds is not stored.
func (b *batch) probe(ctx context.Context, f decide.Facts, d decide.Decision) (crawl.Facts, bool, error) {
	u, err := urls.Parse(d.URL)
	if err != nil {
		return f.Facts, true, err
	}
	kind := frontierKinds[crawl.KindPage]
	reader := &pageReader{Activities: b.Activities, d: d, kind: kind, url: u}
	_, facts, done, err := b.ask(ctx, f, d, request.Ask{
		Kind: kind.Kind, URL: u, WantBody: kind.wantBody(crawl.Visit{}),
		Start: crawl.Start{
			RunID: d.Run.ID, Domain: b.in.Domain, Origin: d.Crawl.Origin, URL: u.String(), Kind: crawl.KindPage,
			Prerequisite: true, Final: true, Queued: b.in.Queued,
		},
		Read: reader.readProbe,
	})
	return facts, done, err
}

// readProbe notes a login page, or the way to one.
func (r *pageReader) readProbe(ctx context.Context, x *request.Exchange) error {
	at, resp := &x.Attempt, x.Response
	if at.Outcome != crawl.OutcomeSuccess || extract.LoginURL(r.url) {
		return nil
	}
	if to, err := r.url.Resolve(resp.Header.Get("Location")); err == nil && resp.Status >= 300 {
		at.Login = extract.LoginURL(to)
		return nil
	}
	page, err := r.parse(ctx, at, resp)
	at.Login = page.Login
	return err
}
