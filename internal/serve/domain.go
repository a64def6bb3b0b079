package serve

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
)

// DomainView is what is known of a domain, and what is to become of it.
type DomainView struct {
	head

	Why     explain.Why          `json:"why"`
	Domain  report.Domain        `json:"domain"`
	History report.DomainHistory `json:"history"`
	UI      string               `json:"temporal_ui,omitempty"`
	// Codes, Slowest and Failing are of the attempts of History: how many had which status code, the
	// most frequent first; those whose answers took longest; and the latest that failed.
	Codes   []CodeCount    `json:"status_codes,omitempty"`
	Slowest []report.Crawl `json:"-"`
	Failing []report.Crawl `json:"-"`
	// Attempts is how many of them are shown.
	Attempts int `json:"-"`
}

func (s *Server) domain(r *http.Request) (view, error) {
	name, err := domainNamed(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	v, store := &DomainView{head: head{Now: s.Now(), name: name}}, &reading{Store: s.Store}
	if v.Why, err = explain.Of(r.Context(), store, name, nil); err != nil {
		return nil, err
	}
	if v.Attempts, err = attempts(r); err != nil {
		return nil, err
	}
	v.Domain, err = store.Domain(r.Context(), name)
	if err == nil {
		v.History, err = store.DomainHistory(r.Context(), name, v.Attempts)
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

// CodeCount is how many attempts had a status code; 0 is that they had no answer.
type CodeCount struct {
	Code int `json:"status_code"`
	N    int `json:"attempts"`
}

// worstShown is how many attempts a domain's page picks out of a kind.
const worstShown = 5

// sum picks out of the history what is worth a look.
func (v *DomainView) sum() {
	codes := make(map[int]int)
	for _, a := range v.History.Attempts {
		if a.Duration == 0 && a.Delay == 0 {
			continue // no request was made
		}
		codes[a.StatusCode]++
		v.Slowest = append(v.Slowest, a)
		if outcomeClass(a.Outcome) == "bad" && len(v.Failing) < worstShown {
			v.Failing = append(v.Failing, a)
		}
	}
	for code, n := range codes {
		v.Codes = append(v.Codes, CodeCount{code, n})
	}
	slices.SortFunc(v.Codes, func(a, b CodeCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Code, b.Code)) })
	slices.SortStableFunc(v.Slowest, func(a, b report.Crawl) int { return cmp.Compare(b.Duration, a.Duration) })
	v.Slowest = v.Slowest[:min(len(v.Slowest), worstShown)]
}
