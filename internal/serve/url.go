package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/explain"
)

// URLView is what is known of a page, and what is to become of it.
type URLView struct {
	head

	// Asked is the URL; empty is none yet.
	Asked string      `json:"url"`
	Why   explain.Why `json:"why"`
	Page  report.Page `json:"page"`
	Known bool        `json:"known"`
	// Links are those of the page and to it, at most linksShown each way.
	Links report.PageLinks `json:"links"`
	// Runs can be told to ask for it: those that have, and the latest of the others.
	Runs []string `json:"-"`
}

// runsOffered is how many runs a page offers to ask for it.
const runsOffered = 20

// runsFor are those that can ask for a page.
func (s *Server) runsFor(ctx context.Context, p report.Page) ([]string, error) {
	all, err := s.Store.Runs(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	var names []string
	can := func(name string) bool {
		return !slices.Contains(names, name) && slices.ContainsFunc(all, func(r crawl.Run) bool {
			return r.Name == name && r.Status != crawl.RunStopped
		})
	}
	for _, c := range p.Crawls {
		if can(c.Run) {
			names = append(names, c.Run)
		}
	}
	for _, r := range all {
		if can(r.Name) {
			names = append(names, r.Name)
		}
	}
	return names[:min(len(names), runsOffered)], nil
}

// linksShown is how many links are shown each way.
const linksShown = 50

func (s *Server) url(r *http.Request) (view, error) {
	text := r.FormValue("u")
	v := &URLView{head: head{Now: s.Now()}}
	if text == "" {
		v.Sentence = "Name a page to see why it was fetched or not, and when it is next."
		return v, nil
	}
	u, err := urlNamed(text)
	if err != nil {
		return nil, err
	}
	v.Asked, v.name = u.String(), u.String()
	store := &reading{Store: s.Store}
	if v.Why, err = explain.Of(r.Context(), store, u.Domain(), &u); err != nil {
		return nil, err
	}
	v.Page, err = store.Page(r.Context(), u.Domain(), u.String())
	if err != nil && !errors.Is(err, crawl.ErrNotFound) {
		return nil, err
	}
	if v.Known = err == nil; v.Known {
		if v.Links, err = s.Store.PageLinks(r.Context(), u.Domain(), u.String(), linksShown); err != nil {
			return nil, err
		}
	}
	if s.who(r) != "" {
		if v.Runs, err = s.runsFor(r.Context(), v.Page); err != nil {
			return nil, err
		}
	}
	v.Sentence = explain.OneLine("This page is " + v.Why.Answer + ".")
	return v, nil
}
