package serve

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
)

// Access defines who may make changes. The zero value means nobody.
type Access struct {
	// Token permits changes, unless it is empty. A page requested with it (?token=) stores it in
	// the browser as a cookie.
	Token string
	// UserHeader is a reverse proxy's header with the signed-in operator, who may make changes.
	// Empty means no proxy.
	UserHeader string
	// By is the author of changes with the token.
	By string
}

// tokenLifetime is the lifetime of the token in a browser.
const tokenLifetime = 30 * 24 * time.Hour

// author returns the author of a request, or an empty string without the right to make changes.
func (s *Server) author(r *http.Request) string {
	by := ""
	if s.Changes == nil {
		return ""
	}
	if s.Access.UserHeader != "" {
		by = crawl.CleanText(r.Header.Get(s.Access.UserHeader), crawl.ControlByMax-len(webPageSuffix))
	}
	if cookie, err := r.Cookie(tokenCookie(r)); err == nil && by == "" && s.hasToken(cookie.Value) {
		by = s.Access.By
	}
	if by == "" {
		return ""
	}
	return by + webPageSuffix
}

// webPageSuffix marks changes from the web page.
const webPageSuffix = " (web page)"

func (s *Server) hasToken(token string) bool {
	return s.Access.Token != "" && subtle.ConstantTimeCompare([]byte(token), []byte(s.Access.Token)) == 1
}

// tokenCookie names the port, so that two Moseys of a machine use separate cookies.
func tokenCookie(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host)
	return "mosey_token_" + port
}

// takeToken moves the token of an address, which operators copy and store, to a cookie, and
// redirects to the page without it. It reports whether the request had a token.
func (s *Server) takeToken(w http.ResponseWriter, r *http.Request) bool {
	q := r.URL.Query()
	if r.Method != http.MethodGet || !q.Has("token") {
		return false
	}
	if !s.hasToken(q.Get("token")) {
		s.problem(w, r, errToken)
		return true
	}
	http.SetCookie(w, &http.Cookie{ //nolint:gosec // without TLS on this machine, Secure would lose it
		Name: tokenCookie(r), Value: s.Access.Token, Path: "/", MaxAge: int(tokenLifetime.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
	q.Del("token")
	to := *r.URL
	to.Scheme, to.Host, to.RawQuery = "", "", q.Encode()
	http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther) //nolint:gosec // the address has no host: it is one of ours
	return true
}

// Changes makes changes and notifies workers. Errors wrap crawl.ErrNotFound or crawl.ErrInvalid.
type Changes interface {
	ChangeRun(ctx context.Context, name string, c crawl.RunChange) error
	// SetControl stores a decision about a domain, known or not.
	SetControl(ctx context.Context, domain string, c crawl.Control) error
	// LiftControls reverts decisions. It returns crawl.ErrNotFound if none is in force.
	LiftControls(ctx context.Context, domain, by string, kinds ...crawl.ControlType) error
	// RecrawlNow makes a run request a page before all others.
	RecrawlNow(ctx context.Context, run string, page urls.URL) error
	// RetryDomain retries a failing domain, or returns crawl.ErrNotFound.
	RetryDomain(ctx context.Context, domain string) error
}

// maxFormBytes bounds a form, in bytes: a robots.txt may be 500 kB.
const maxFormBytes = 1 << 20

var (
	errToken       = errors.New("the token is not valid any more: open the address that Mosey printed last")
	errCrossOrigin = errors.New("the request came from a page of another site, which is not allowed")
	errReadOnly    = errors.New("this page is read-only: open the address with the token that Mosey printed")
)

// change makes the change of a form. It returns the address of the page that shows it.
type change func(s *Server, r *http.Request, by string) (back string, err error)

// handleChange makes a change if its author may, and redirects to the page that shows it.
func (s *Server) handleChange(do change) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		by := s.author(r)
		if by == "" {
			s.problem(w, r, errReadOnly)
			return
		}
		if err := r.ParseForm(); err != nil {
			s.problem(w, r, fmt.Errorf("%w: the form cannot be read: %w", errBadRequest, err))
			return
		}
		back, err := do(s, r, by)
		if err != nil {
			s.problem(w, r, err)
			return
		}
		s.Logger.Info("a change was made on the web page", "by", by, "path", r.URL.Path, "do", r.PostForm.Get("do"))
		http.Redirect(w, r, back, http.StatusSeeOther)
	}
}

type changeForm struct {
	action, reason string
	until          time.Time
}

// readChangeForm parses the common fields. needsReason lists the actions that require a reason.
func readChangeForm(r *http.Request, now time.Time, needsReason ...string) (a changeForm, err error) {
	a.action, a.reason = r.PostForm.Get("do"), strings.TrimSpace(r.PostForm.Get("reason"))
	if a.reason == "" && slices.Contains(needsReason, a.action) {
		return a, fmt.Errorf("%w: reason: want one, so that others can read it later", errBadRequest)
	}
	if span := strings.TrimSpace(r.PostForm.Get("for")); span != "" {
		d, err := time.ParseDuration(span)
		if err != nil || d <= 0 {
			return a, fmt.Errorf("%w: for %q: want a duration, such as 12h", errBadRequest, span)
		}
		a.until = now.Add(d)
	}
	return a, nil
}

func changeRun(s *Server, r *http.Request, by string) (back string, err error) {
	name := r.PathValue("name")
	a, err := readChangeForm(r, s.Now(), string(crawl.ChangePause))
	if err != nil {
		return "", err
	}
	c := crawl.RunChange{Action: crawl.RunAction(a.action), Reason: a.reason, Until: a.until, SetBy: by}
	switch c.Action {
	case crawl.ChangePause, crawl.ChangeStop, crawl.ChangeResume:
	case crawl.ChangeSet:
		if c.Settings, err = parseSettings(strings.Split(r.PostForm.Get("settings"), "\n")); err != nil {
			return "", err
		}
	default:
		return "", fmt.Errorf("%w: unknown action %q for a run", errBadRequest, a.action)
	}
	err = s.Changes.ChangeRun(r.Context(), name, c)
	s.progress.forget(name)
	s.reports.forget(name)
	if r.PostForm.Get("from") == "/" {
		return "/?" + url.Values{"done": {a.action}, "run": {name}}.Encode(), err
	}
	return runPage(name), err
}

// undo is the form that reverts a change from a list, whose address names the change.
type undo struct {
	Sentence, Path, Do, Kind string
	Domains                  []string
	// Query is the query of the list of domains.
	Query string
}

// undoOf returns nil if the address names no change, or if nobody may make changes.
func undoOf(r *http.Request, by string) *undo {
	q := r.URL.Query()
	done, run, domains := q.Get("done"), q.Get("run"), q["domain"]
	opposite := map[string]string{doPause: string(crawl.ChangeResume), string(crawl.ChangeStop): string(crawl.ChangeResume)}[done]
	switch {
	case by == "":
	case run != "" && opposite != "":
		return &undo{Sentence: "Changed run " + explain.OneLine(run) + ": " + done + ".", Path: runPage(run), Do: opposite}
	case len(domains) > 0 && len(domains) <= maxDomains && (done == doPause || done == doBlock):
		q.Del("done")
		q.Del("domain")
		return &undo{
			Sentence: "Changed " + explain.Count(int64(len(domains)), "domain") + ": " + done + ".",
			Path:     "/domains", Do: doLift, Kind: done, Domains: domains, Query: q.Encode(),
		}
	}
	return nil
}

// parseSettings reads settings in the form name=value. It skips blank lines.
func parseSettings(lines []string) (settings.Settings, error) {
	var pairs []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); line != "" {
			pairs = append(pairs, line)
		}
	}
	set, err := settings.Parse(pairs)
	if err == nil {
		err = politeness.ValidateSettings(set)
	}
	if err != nil {
		return set, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return set, nil
}

func changeURL(s *Server, r *http.Request, _ string) (back string, err error) {
	if do := r.PostForm.Get("do"); do != "crawl" {
		return "", fmt.Errorf("%w: unknown action %q for a page", errBadRequest, do)
	}
	u, err := s.requestedURL(r.Context(), r.PostForm.Get("u"))
	if err != nil {
		return "", err
	}
	return urlPage(u.String()), s.Changes.RecrawlNow(r.Context(), r.PostForm.Get("run"), u)
}

const (
	doPause = "pause"
	doBlock = "block"
	doDelay = "delay"
	doLift  = "lift"
	doRetry = "retry"
)

// changeDomain makes or reverts a decision about a domain.
func changeDomain(s *Server, r *http.Request, by string) (back string, err error) {
	name, err := urls.ReadDomain(r.PathValue("name"))
	if err != nil {
		return "", err
	}
	return domainPage(name), s.decide(r, name, by)
}

func (s *Server) decide(r *http.Request, domain, by string) error {
	a, err := readChangeForm(r, s.Now(), doPause, doBlock)
	if err != nil {
		return err
	}
	c := crawl.Control{Reason: a.reason, SetBy: by}
	switch a.action {
	case doPause:
		c.Type, c.Until = crawl.ControlPause, a.until
	case doBlock:
		c.Type = crawl.ControlBlock
	case doDelay:
		set, err := parseSettings([]string{"delay=" + strings.TrimSpace(r.PostForm.Get("delay"))})
		if err != nil {
			return err
		}
		c.Type = crawl.ControlDelay
		if c.Value, err = json.Marshal(crawl.Millis(time.Duration(*set.Delay))); err != nil {
			return err
		}
	case doRetry:
		return ignoreDone(s.Changes.RetryDomain(r.Context(), domain))
	case doLift:
		return s.lift(r, domain, by)
	default:
		return fmt.Errorf("%w: unknown action %q for a domain", errBadRequest, a.action)
	}
	if err := c.Validate(s.Now()); err != nil {
		return err
	}
	defer s.lists.forgetAll()
	return s.Changes.SetControl(r.Context(), domain, c)
}

func (s *Server) lift(r *http.Request, domain, by string) error {
	kinds := r.PostForm["kind"]
	if len(kinds) == 0 {
		return fmt.Errorf("%w: kind: want the kind of the setting to undo", errBadRequest)
	}
	all := make([]crawl.ControlType, len(kinds))
	for i, kind := range kinds {
		if !slices.Contains(crawl.ControlTypes, crawl.ControlType(kind)) {
			return fmt.Errorf("%w: kind %q: want one of %v", errBadRequest, kind, crawl.ControlTypes)
		}
		all[i] = crawl.ControlType(kind)
	}
	defer s.lists.forgetAll()
	return ignoreDone(s.Changes.LiftControls(r.Context(), domain, by, all...))
}

// ignoreDone ignores that somebody has already made a change.
func ignoreDone(err error) error {
	if errors.Is(err, crawl.ErrNotFound) {
		return nil
	}
	return err
}

// changeDomains makes the same change to many domains.
func changeDomains(s *Server, r *http.Request, by string) (back string, err error) {
	names := r.PostForm["domain"]
	if len(names) == 0 || len(names) > maxDomains {
		return "", fmt.Errorf("%w: %d domains are selected: want 1 to %d", errBadRequest, len(names), maxDomains)
	}
	for i, text := range names {
		if names[i], err = urls.ReadDomain(text); err != nil {
			return "", err
		}
	}
	for _, name := range names {
		if err := s.decide(r, name, by); err != nil {
			return "", err
		}
	}
	query, err := url.ParseQuery(r.PostForm.Get("query"))
	if err != nil {
		return "", fmt.Errorf("%w: query: %w", errBadRequest, err)
	}
	query.Set("done", r.PostForm.Get("do"))
	query["domain"] = names
	return "/domains?" + query.Encode(), nil
}
