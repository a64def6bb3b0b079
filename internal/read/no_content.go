package read

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
)

// recordNoContent records why a response gave no text, links or image. The details count unless the
// attempt has an error already.
func recordNoContent(at *crawl.Attempt, reason reasons.Reason, details string) {
	at.Skipped, at.Error = reason, cmp.Or(at.Error, details)
}

// recordNoBody records why a response has no body of a kind: its type is not read, or it is empty.
func recordNoBody(at *crawl.Attempt, resp *fetch.Response, kind kinds.Kind) {
	if !kind.Traits().Accepts(resp.MediaType) {
		mediaType := crawl.CleanText(resp.MediaType, maxContentTypeBytes)
		recordNoContent(at, reasons.MediaType, mediaType+" is not read as a "+string(kind))
		return
	}
	recordNoContent(at, reasons.Empty, "the body is empty")
}

// recordNoPage records why a response gave nothing as a page. An error of the attempt is the
// parser's.
func recordNoPage(at *crawl.Attempt, resp *fetch.Response) {
	switch {
	case at.Error != "" && !at.Login:
		recordNoContent(at, reasons.Malformed, "")
	case len(resp.Body) == 0:
		recordNoBody(at, resp, kinds.Page)
	case documentType(resp) == "":
		recordNoContent(at, reasons.MediaType, "the page is neither HTML, XHTML nor plain text")
	default:
		recordNoContent(at, reasons.Empty, "the page has no text, link or image")
	}
}

// documentType returns the media type to read a body as a page; empty means that it is not read.
// XML whose first element is html is XHTML, whatever its server calls it.
func documentType(resp *fetch.Response) string {
	mediaType := resp.MediaType
	if mediaType == "" {
		mediaType, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	switch {
	case mediaType == "application/xml" || mediaType == "text/xml":
		if extract.IsXHTML(resp.Body) {
			return "application/xhtml+xml"
		}
		return ""
	case !kinds.Page.Traits().Accepts(mediaType):
		return ""
	}
	return mediaType
}

func (r *reading) addRefresh(page *extract.Page, resp *fetch.Response) {
	header := resp.Header.Get("Refresh")
	if header == "" {
		return
	}
	if to, err := r.base.Resolve(extract.RefreshTarget(header)); err == nil {
		addLink(page, r.url, extract.Link{URL: to.URL, Target: to.Target})
	}
}

// addLink adds a link of the header to a page at a URL, unless it is known or the page's own.
func addLink(page *extract.Page, own urls.URL, link extract.Link) {
	known := slices.ContainsFunc(page.Links, func(l extract.Link) bool { return l.URL == link.URL })
	if link.URL != own && !known {
		page.Links = append(page.Links, link)
	}
}

// addCanonical adds the canonical URL of the header Link, unless the page has a link element for it
// (RFC 6596 §3).
func (r *reading) addCanonical(page *extract.Page, resp *fetch.Response) {
	if page.Canonical != "" {
		return
	}
	for _, value := range resp.Header.Values("Link") {
		target, found := usage.LinkTo(value, "canonical")
		if !found || target == "" {
			continue
		}
		if to, err := r.base.Resolve(target); err == nil {
			page.Canonical = to.String()
			addLink(page, r.url, extract.Link{URL: to.URL, Target: to.Target, Rel: crawl.RelCanonical})
			return
		}
	}
}

// isGuess reports whether the crawl requests a guessed sitemap, which no robots.txt names.
func (r *reading) isGuess(ctx context.Context) (bool, error) {
	if r.d.Attempt.Kind != kinds.Sitemap || r.url.RequestTarget() != sitemapPath {
		return false, nil
	}
	_, guessed, err := r.sitemapNames(ctx)
	return guessed, err
}
