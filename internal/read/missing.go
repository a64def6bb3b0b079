package read

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/request"
	"github.com/mosey-web/mosey/internal/walls"
)

// isMissing reports whether a page is its origin's answer for a page that does not exist. It notes
// the text of a new page, because a text for many URLs may be such an answer.
func (r *reading) isMissing(page extract.Page, resp *fetch.Response, text *traps.PageText) bool {
	hash := text.Text()
	if hash == 0 || resp.Status < 200 || resp.Status >= 300 || r.url.RequestTarget() == "/" || walls.AsksForScript(page.Text) {
		return false
	}
	url := r.url.String()
	if missing := r.d.Missing; missing != nil && missing.Text == hash {
		return missing.Canonical != url
	}
	isCopy := page.Canonical != "" && page.Canonical != url
	if r.d.Attempt.Visit.At.IsZero() && !isCopy && r.Rules != nil {
		r.Rules.NoteText(r.url.Origin(), url, hash)
	}
	return false
}

// missing reads an origin's answer for a page that does not exist. Only a page with a status for
// success says something.
func (o Origin) missing(x *request.Exchange) OriginResult {
	r := o.Stored
	r.Missing = &crawl.MissingPage{At: time.Now()}
	if x.Err == nil {
		r.Missing.StatusCode = request.KnownStatus(x.Response.Status)
		if x.Response.Status >= 200 && x.Response.Status < 300 {
			o.softNotFound(x.Response, r.Missing)
		}
	}
	return OriginResult{Robots: &r}
}

// softNotFound fingerprints a soft 404.
func (o Origin) softNotFound(resp *fetch.Response, m *crawl.MissingPage) {
	mediaType := documentType(resp)
	if mediaType == "" || len(resp.Body) == 0 {
		return
	}
	page, source, err := extractPage(resp, mediaType, o.URL, extract.Limits{})
	if err != nil {
		return
	}
	if wall, _ := walls.InPage(source, page.Title, page.Text); wall != "" {
		return
	}
	text := traps.Read(o.URL.URL, page.Title, page.Text)
	defer text.Release()
	m.Text, m.Canonical = text.Text(), page.Canonical
}
