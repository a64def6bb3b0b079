package activities

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/traps"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
)

// acceptPages prefers what can be parsed.
const acceptPages = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"

// wantPage says whether a body is worth reading: one that can be parsed, unless its
// header says that it is what it was at the last visit.
func wantPage(last crawl.Visit) func(*fetch.Response) bool {
	return func(r *fetch.Response) bool {
		return r.Status >= 200 && r.Status < 300 && parseable(r.MediaType) &&
			freshness.Unchanged(last, r.Status, freshness.NewVisit(r.Header, time.Now(), crawl.ContentHash{})) == ""
	}
}

func parseable(mediaType string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml", "text/plain", "":
		return true
	}
	return false
}

// contentTypeMax bounds what is stored of a Content-Type header.
const contentTypeMax = 200

// cleanText makes a header's value fit to store: valid UTF-8 without NUL, bounded.
func cleanText(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit]
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// read gets the signals out of a successful answer.
func (s *slice) read(ctx context.Context, at *crawl.Attempt, n crawl.Next, base urls.URL, resp *fetch.Response) error {
	switch {
	case resp.Status == http.StatusNotModified:
		notModified(at, n.Visit, resp)
		return nil
	case resp.Status >= 300 && resp.Status < 400:
		redirect(at, base, resp)
		return nil
	}
	content := crawl.ContentHash{}
	if len(resp.Body) > 0 {
		content = traps.HashContent(resp.Body)
	}
	at.Visit = freshness.NewVisit(resp.Header, resp.EndedAt, content)
	if at.Unchanged = freshness.Unchanged(n.Visit, resp.Status, at.Visit); at.Unchanged != "" {
		return nil
	}
	page, err := s.parse(ctx, at, base, resp)
	if err != nil {
		return err
	}
	said := readUsage(s.said, resp.Header, page)
	at.Title, at.Canonical = page.Title, page.Canonical
	if at.Login = page.Login && !extract.LoginURL(base); at.Login && n.BlockOnLogin {
		at.Error = "a login page in place of the page"
	}
	now := time.Now()
	at.Links = make([]crawl.Link, len(page.Links))
	for i, l := range page.Links {
		at.Links[i] = linkTo(l.URL, l.NoFollow || said.NoFollow.Said(), trapOf(l.URL, now))
	}
	if hash, words := traps.SimHashOf(page.Text); words >= traps.SimHashWordsLeast {
		at.SimHash = &hash
	}
	return setUsage(at, n, said)
}

// linkTo is a link as it is recorded.
func linkTo(u urls.URL, nofollow bool, trap crawl.Trap) crawl.Link {
	return crawl.Link{URL: u.String(), Domain: u.Domain(), Origin: u.Origin(), NoFollow: nofollow, Trap: trap}
}

// parse reads the page, which is empty where there is none.
func (s *slice) parse(ctx context.Context, at *crawl.Attempt, base urls.URL, resp *fetch.Response) (extract.Page, error) {
	var page extract.Page
	if len(resp.Body) == 0 {
		return page, nil
	}
	at.Patterns = traps.Patterns(base)
	html := resp.MediaType
	if html == "" {
		html, _, _ = strings.Cut(http.DetectContentType(resp.Body), ";")
	}
	if html != "text/html" && html != "application/xhtml+xml" {
		return page, nil
	}
	// The page is bounded, so this ends; and its record must not be lost because
	// the worker is told to stop meanwhile.
	if err := s.parses.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return page, err
	}
	defer s.parses.Release(1)
	text, _, err := fetch.ToUTF8(resp.Body, resp.ContentType)
	if err == nil {
		page, err = extract.HTML(text, base, s.limits)
	}
	if err != nil {
		at.Error = err.Error()
	}
	return page, nil
}

// notModified takes over what is known of a page that has not changed.
func notModified(at *crawl.Attempt, last crawl.Visit, resp *fetch.Response) {
	if last.At.IsZero() {
		at.Outcome, at.Error = crawl.OutcomeFailed, "answered 304 to a request without conditions"
		return
	}
	at.Visit = freshness.Revalidated(last, resp.Header, resp.EndedAt)
	at.Unchanged = freshness.Unchanged(last, resp.Status, at.Visit)
}

// redirect turns a redirect into a link to its target: it is crawled in its own
// time, so that the gap holds.
func redirect(at *crawl.Attempt, base urls.URL, resp *fetch.Response) {
	location := resp.Header.Get("Location")
	if location == "" {
		return
	}
	to, err := base.Resolve(location)
	if err != nil {
		at.Error = "redirect not followed: " + err.Error()
		return
	}
	if to == base {
		at.Error = "redirect to itself"
		return
	}
	at.Redirect = true
	at.Login = extract.LoginURL(to) && !extract.LoginURL(base)
	at.Links = []crawl.Link{linkTo(to, false, crawl.Trap{})}
	// where it leads is what it brings; to one of its own kind, it brings nothing
	if traps.Pattern(to) == traps.Pattern(base) {
		at.Patterns, at.NoNews = traps.Patterns(base), true
	}
}

// conditions makes a request one that the server can answer with 304.
func conditions(last crawl.Visit) http.Header {
	h := http.Header{}
	freshness.Conditions(last, h)
	return h
}
