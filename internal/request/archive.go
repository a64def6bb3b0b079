package request

import (
	"context"
	"maps"
	"net/http"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/fetch"
)

// Archive stores responses. Its errors are our own failures.
type Archive interface {
	// Ready returns the reason why nothing can be stored now, or nil.
	Ready() error
	Write(x archive.Exchange) (crawl.Archived, error)
}

// archiving returns the request with the archiving of its response, if there is an archive. All
// bodies that a kind can have are read then, even if they are unchanged or belong to an error, and
// the first response of a page must be complete.
func (c *Client) archiving(ctx context.Context, req Request) (Request, error) {
	if c.Archive == nil {
		return req, nil
	}
	if err := c.Archive.Ready(); err != nil {
		return req, err
	}
	earlier, err := c.Store.LastArchived(ctx, req.URL.Domain(), req.URL.String())
	if err != nil {
		return req, err
	}
	if earlier == nil && len(req.Header) > 0 {
		req.Header = maps.Clone(req.Header)
		for _, condition := range []string{"If-None-Match", "If-Modified-Since"} {
			req.Header.Del(condition)
		}
	}
	wantBody, read, kind := req.WantBody, req.Read, req.Start.Kind.Traits()
	req.WantBody = func(r *fetch.Response) bool {
		return wantBody == nil || wantBody(r) || r.Status >= http.StatusMultipleChoices ||
			kind.Accepts(r.MediaType) && (!kind.Large || r.ContentLength <= kind.MaxBytes)
	}
	req.Read = func(ctx context.Context, x *Exchange) error {
		if err := read(ctx, x); err != nil || x.Response == nil || req.Archives != nil && !req.Archives(x) {
			return err
		}
		return c.archive(req, x, earlier)
	}
	return req, nil
}

// archive stores the response of an exchange.
func (c *Client) archive(req Request, x *Exchange, earlier *crawl.Archived) error {
	resp := x.Response
	hasBody := resp.Status != http.StatusNoContent && resp.Status != http.StatusNotModified && resp.ContentLength != 0
	truncated := ""
	switch {
	case resp.Truncated:
		truncated = "length"
	case resp.Body == nil && resp.File == nil && hasBody:
		truncated = "unspecified" // a body that is not read
	}
	archived, err := c.Archive.Write(archive.Exchange{
		Run: req.Run.Name, Settings: req.Run.Settings, URL: req.URL.Address(), IP: x.Attempt.IP,
		At: resp.EndedAt.Add(-resp.Total).Round(0), Capture: resp.Capture, Truncated: truncated,
		NotModified: resp.Status == http.StatusNotModified, Earlier: earlier,
	})
	if err != nil {
		return err
	}
	if address := req.URL.Address(); address != req.URL.String() {
		archived.URL = address
	}
	x.Attempt.Archived = &archived
	return nil
}
