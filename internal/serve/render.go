package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/internal/explain"
)

type pageData struct {
	Title, Sentence, Notice string
	Page                    string // its name
	SearchOnly              bool
	// JSON and Events are the addresses of the page's JSON and events, or empty.
	JSON, Events string
	Undo         *undo
	View         any
}

// problemPage is shown instead of a page that fails.
var problemPage = page{name: "problem", title: "Not shown"}

func (s *Server) html(w http.ResponseWriter, r *http.Request, p page) {
	v, err := s.load(r, p)
	input := errors.Is(err, errBadRequest) || errors.Is(err, crawl.ErrInvalid)
	if err != nil && (v == nil || !input) {
		s.problem(w, r, err)
		return
	}
	common, status := v.common(), http.StatusOK
	if err != nil {
		status, common.Sentence = s.status(err)
		closeAfter(w, r)
	}
	common.By = s.author(r)
	title, events := p.title, ""
	if p.live {
		events = apiOf(r, "/events")
	}
	if common.name != "" {
		title = common.name + " – " + p.title
	}
	s.render(w, status, p.name, pageData{
		Title: explain.OneLine(title), Sentence: common.Sentence, Page: p.name, JSON: apiOf(r, "/api"),
		Events: events, Notice: common.Notice, View: v, Undo: undoOf(r, common.By),
	})
}

// load reads the content of a page, with the notice above it.
func (s *Server) load(r *http.Request, p page) (view, error) {
	v, err := p.load(s, r)
	if v != nil {
		v.common().Notice = s.notice(r.Context())
	}
	return v, err
}

// apiOf returns the address of a page's JSON or events.
func apiOf(r *http.Request, below string) string {
	address := below + r.URL.EscapedPath()
	if r.URL.Path == "/" {
		address += "overview"
	}
	if r.URL.RawQuery != "" {
		address += "?" + r.URL.RawQuery
	}
	return address
}

// render writes a page only after rendering it completely.
func (s *Server) render(w http.ResponseWriter, status int, name string, view pageData) {
	view.SearchOnly = s.SearchOnly
	var b bytes.Buffer
	if err := s.templates[name].ExecuteTemplate(&b, "frame.html", view); err != nil {
		s.Logger.Error("could not render a page", "page", name, "error", err)
		http.Error(w, "the page could not be rendered: see the log of this program", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

func (s *Server) json(w http.ResponseWriter, r *http.Request, p page) {
	v, err := s.load(r, p)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	s.writeJSON(w, http.StatusOK, v)
}

func (s *Server) writeJSON(w http.ResponseWriter, status int, body any) {
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		s.Logger.Error("could not encode a response as JSON", "error", err)
		status, data = http.StatusInternalServerError, []byte(`{"error":"the response could not be encoded: see the log of this program"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
}

// problem explains why a page is not shown.
func (s *Server) problem(w http.ResponseWriter, r *http.Request, err error) {
	status, reason := s.status(err)
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "10")
	}
	closeAfter(w, r)
	if strings.HasPrefix(r.URL.Path, "/api/") {
		s.writeJSON(w, status, map[string]string{"error": reason})
		return
	}
	s.render(w, status, problemPage.name, pageData{Title: problemPage.title, Sentence: reason, Page: problemPage.name})
}

// closeAfter closes the connection of a refused form, instead of reading the rest of its body.
func closeAfter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Connection", "close")
	}
}

func (s *Server) status(err error) (status int, reason string) {
	switch {
	case errors.Is(err, errToken), errors.Is(err, errReadOnly), errors.Is(err, errCrossOrigin):
		return http.StatusForbidden, sentence(err)
	case errors.Is(err, errNoPage), errors.Is(err, crawl.ErrNotFound):
		return http.StatusNotFound, sentence(err)
	case errors.Is(err, errBadRequest), errors.Is(err, crawl.ErrInvalid):
		return http.StatusBadRequest, sentence(err)
	case errors.Is(err, errUploadTooSlow):
		return http.StatusRequestTimeout, sentence(err)
	case errors.Is(err, errCounting), errors.Is(err, errTooManyUploads):
		return http.StatusServiceUnavailable, sentence(err)
	case s.TimedOut(err):
		return http.StatusServiceUnavailable,
			"The database took too long. The limit of a page is two seconds, so that the crawl is not slowed down."
	}
	s.Logger.Warn("could not read a page", "error", err)
	return http.StatusServiceUnavailable, "The database could not be read: see the log of this program."
}

func sentence(err error) string {
	text := explain.OneLine(err.Error())
	for _, begin := range []error{errBadRequest, crawl.ErrInvalid} {
		text = strings.TrimPrefix(text, begin.Error()+": ")
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// funcs returns the functions for templates.
func (s *Server) funcs() template.FuncMap {
	return template.FuncMap{
		"count":        explain.Count,
		"size":         explain.Size,
		"line":         explain.OneLine,
		"reasonof":     explain.DomainReason,
		"attempt":      func(c report.Attempt) string { return explain.OneLine(explain.Attempt(c)) },
		"tally":        explain.Tally,
		"control":      func(c crawl.Control) string { return explain.Control(c, time.UTC) },
		"telling":      explain.EffectiveControls,
		"robots":       func(r report.Robots) string { return explain.OneLine(explain.Robots(r, time.UTC)) },
		"change":       func(c crawl.RunChange) string { return explain.Change(c, time.UTC) },
		"machine":      func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"stamp":        func(t time.Time) string { return explain.StampIn(t, time.UTC) },
		"number":       func(n any) string { return number(reflect.ValueOf(n).Int()) },
		"percent":      func(f *float32) string { return fmt.Sprintf("%.0f %%", *f*100) },
		"domain":       domainPage,
		"runpage":      runPage,
		"urlpage":      urlPage,
		"was":          oldValues,
		"domaincounts": explain.Domains,
		"captioned":    func(caption string, rows any) captionedRows { return captionedRows{caption, rows} },
		"imagecounts":  func(c *crawl.ImageCounts) string { return explain.ImageCounts(*c) },
		"imagenamed":   func(i *report.Image) string { return explain.OneLine(explain.ImagePageCount(*i)) },
		"imagecontent": func(i *report.Image) string { return explain.OneLine(explain.ImageContent(*i)) },
		"known":        func(p report.Progress) int64 { return p.Attempts() + p.Pending },
		"overs":        func() []timeSpan { return timeSpans },
		"rate":         explain.Rate,
		"budget":       func(b report.BudgetUse) string { return explain.OneLine(explain.BudgetUse(b)) },
		"skiprule":     func(r report.SkipRule) string { return explain.OneLine(explain.SkipRule(r)) },
		"priority":     func(d report.Domain) string { return explain.OneLine(explain.Priority(d)) },
		"moved":        func(m *report.MovedHistory) string { return explain.MovedHistory(*m, time.UTC) },
		"outage":       func(o crawl.Outage) string { return explain.OneLine(explain.Outage(o, time.UTC)) },
		"inc":          func(i int) int { return i + 1 },
		"outcome":      func(o crawl.Outcome) string { return o.Word(0) },
		"waitclass":    waitClass,
		"rowcontrol":   func(name, do, query string) rowControl { return rowControl{name, do, query} },
		"spans":        func() []int { return []int{defaultAttempts / 2, defaultAttempts, 5 * defaultAttempts, maxAttempts} },
	}
}

func domainPage(name string) string { return "/domains/" + url.PathEscape(name) }
func runPage(name string) string    { return "/runs/" + url.PathEscape(name) }
func urlPage(u string) string       { return "/url?u=" + url.QueryEscape(u) }

func oldValues(c crawl.RunChange) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.OldValues)) {
		fmt.Fprintf(&b, "%s=%s\n", name, settings.Text(name, c.OldValues[name]))
	}
	return b.String()
}

// rowControl is a button in the row of a run or a domain. Query is the query of the list.
type rowControl struct{ Name, Do, Query string }

// captionedRows holds the rows of a table and its caption.
type captionedRows struct {
	Caption string
	Rows    any
}

func number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u2009" + digits[i:]
	}
	return digits
}
