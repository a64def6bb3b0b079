package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/language/tags"
)

// DomainView is the page of a domain.
type DomainView struct {
	head

	Why     explain.Why          `json:"why"`
	Domain  report.Domain        `json:"domain"`
	History report.DomainHistory `json:"history"`
	UI      string               `json:"temporal_ui,omitempty"`
	// Codes counts the attempts of History by status code, the most frequent first. Slowest holds
	// the slowest, and Failing the latest failed attempts.
	Codes    []CodeCount      `json:"status_codes,omitempty"`
	Slowest  []report.Attempt `json:"-"`
	Failing  []report.Attempt `json:"-"`
	Attempts int              `json:"-"` // the number to show
}

func (s *Server) domain(r *http.Request) (view, error) {
	name, err := urls.ReadDomain(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v := &DomainView{head: head{Now: s.Now(), name: name}}
	if v.Why, err = explain.Of(r.Context(), s.Store, name, nil, time.UTC); err != nil {
		return nil, err
	}
	if v.Attempts, err = attempts(r); err != nil {
		return nil, err
	}
	if known := v.Why.Domain; known != nil {
		v.Domain = *known
		v.History, err = s.Store.DomainHistory(r.Context(), name, v.Attempts)
		v.sum()
	}
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return nil, err
	}
	v.Sentence = explain.OneLine(name + ": " + v.Why.Answer + ".")
	if s.TemporalUI != "" && v.Domain.Domain != "" {
		v.UI = s.TemporalUI + "/workflows/" + url.PathEscape(crawl.DomainWorkflowID(name))
	}
	return v, nil
}

// CodeCount counts the attempts with a status code; 0 means no response.
type CodeCount struct {
	Code int `json:"status_code"`
	N    int `json:"attempts"`
}

const maxWorstAttempts = 5

// sum sets Codes, Slowest and Failing.
func (v *DomainView) sum() {
	codes := make(map[int]int)
	for _, a := range v.History.Attempts {
		if a.Duration == 0 && a.Delay == 0 {
			continue // no request was made
		}
		codes[a.StatusCode]++
		v.Slowest = append(v.Slowest, a)
		if outcomeClass(a.Outcome) == "bad" && len(v.Failing) < maxWorstAttempts {
			v.Failing = append(v.Failing, a)
		}
	}
	for code, n := range codes {
		v.Codes = append(v.Codes, CodeCount{code, n})
	}
	slices.SortFunc(v.Codes, func(a, b CodeCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Code, b.Code)) })
	slices.SortStableFunc(v.Slowest, func(a, b report.Attempt) int { return cmp.Compare(b.Duration, a.Duration) })
	v.Slowest = v.Slowest[:min(len(v.Slowest), maxWorstAttempts)]
}

// DomainsView is a list of domains.
type DomainsView struct {
	head

	Domains   []report.DomainListing `json:"domains"`
	CountedAt time.Time              `json:"counted_at,omitzero"`
	// Counts counts domains by status. It is nil if they are too many: then About is an estimate.
	Counts map[crawl.DomainStatus]int64 `json:"counts,omitempty"`
	About  int64                        `json:"domains_estimate"`

	Query report.DomainQuery `json:"-"`
	// Asked is the query of this list.
	Asked    string               `json:"-"`
	Sorts    []string             `json:"-"`
	Statuses []crawl.DomainStatus `json:"-"`
}

// maxDomains bounds a list of domains, and the domains of a change.
const maxDomains = 100

func domainQuery(r *http.Request) (q report.DomainQuery, err error) {
	q = report.DomainQuery{
		Status: crawl.DomainStatus(r.FormValue("status")), Source: r.FormValue("source"), Language: r.FormValue("lang"),
		WaitReason: reasons.Reason(r.FormValue("waits")),
		Due:        r.FormValue("due") != "", Sort: cmp.Or(r.FormValue("sort"), report.DomainSorts[0]), Limit: maxDomains,
	}
	if text := strings.TrimSpace(r.FormValue("errors")); text != "" {
		percent, err := strconv.ParseFloat(text, 32)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return q, fmt.Errorf("%w: errors %q: want a percentage from 0 to 100", errBadRequest, text)
		}
		q.Errors = float32(math.Round(10*percent) / 1000) // to the tenth of a per cent that is shown
	}
	if text := strings.TrimSpace(r.FormValue("rank")); text != "" {
		if q.Rank, err = strconv.Atoi(text); err != nil || q.Rank < 1 || q.Rank > math.MaxInt32 {
			return q, fmt.Errorf("%w: rank %q: want 1 or more", errBadRequest, text)
		}
	}
	if q.Language != "" {
		if _, err := tags.ParseRange(q.Language); err != nil {
			return q, err
		}
	}
	if err := q.Check(); err != nil {
		return q, fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return q, nil
}

// PerCent returns the query's minimum share of failures, in per cent, or an empty string.
func (v *DomainsView) PerCent() string {
	if v.Query.Errors == 0 {
		return ""
	}
	return strconv.FormatFloat(math.Round(float64(v.Query.Errors)*1000)/10, 'f', -1, 64)
}

func (s *Server) domains(r *http.Request) (view, error) {
	q, err := domainQuery(r)
	if err != nil {
		return nil, err
	}
	all, at, err := s.lists.get(r.Context(), fmt.Sprintf("%+v", q), func(ctx context.Context) ([]report.DomainListing, error) {
		return s.Counts.Domains(ctx, q)
	})
	if err != nil {
		return nil, err
	}
	v := &DomainsView{
		head: head{Now: s.Now()}, Domains: all, CountedAt: at, Query: q, Asked: r.URL.RawQuery,
		Sorts: report.DomainSorts, Statuses: slices.Clone(crawl.DomainStatuses),
	}
	for _, placeholder := range reasons.Placeholders() {
		v.Statuses = append(v.Statuses, crawl.DomainStatus(placeholder))
	}
	if v.Counts, v.About, err = s.Store.DomainsByStatus(r.Context()); err != nil {
		return nil, err
	}
	v.Sentence = explain.Count(int64(len(all)), "domain") + ", sorted by " + q.Sort + "."
	if len(all) == maxDomains {
		v.Sentence = fmt.Sprintf("The first %d domains, sorted by %s.", maxDomains, q.Sort)
	}
	return v, nil
}
