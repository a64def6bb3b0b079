package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestDomains(t *testing.T) {
	t.Parallel()

	t.Run("ListsThem", func(t *testing.T) {
		t.Parallel()
		r := newRows(t, settings.Settings{})
		out := r.Print("domains")
		output.ContainsOnSameLine(t, out, "DOMAIN", "STATUS", "SCORE", "RANK", "PAGES", "RECENT ERRORS", "LAST CRAWLED")
		output.ContainsOnSameLine(t, out, "1 domain in total: 1 pending.")
		output.ContainsOnSameLine(t, out, aDomain, "pending", "0.000", "-")
		var d report.DomainListing
		require.NoError(t, json.Unmarshal([]byte(r.Print("domains", "--json", "--sort", "name", "--status", "pending")), &d))
		require.Equal(t, aDomain, d.Domain)
		none := r.Execute("domains", "--status", "unreachable")
		require.Zero(t, none.Code)
		require.Equal(t, "No matching domains.\n", none.Stderr)
		r.fetched(crawl.Attempt{Page: &crawl.PageUpdate{Signals: &crawl.Signals{}, Visit: &crawl.VisitUpdate{}}})
		output.ContainsOnSameLine(t, r.Print("domains"), aDomain, "active", " 1 ", " - ", " 20") // before the first count
		r.Print("rank")                                                                          // which counts them
		output.ContainsOnSameLine(t, r.Print("domains", "--sort", "found"), aDomain, " 1 ")
	})

	t.Run("RefusesWhatMakesNoSense", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Refuse([]string{"domains", "--status", "gone"}, `--status "gone": want one of [pending active exhausted blocked unreachable]`)
		h.Refuse([]string{"domains", "--sort", "age"}, `--sort "age": want one of [priority name rank pages`)
		h.Refuse([]string{"domains", "--errors", "2"}, "--errors 2: want a fraction from 0 to 1")
		h.Refuse([]string{"domains", "--rank=-1"}, "--rank -1: want 1 or more")
		h.Refuse([]string{"domains", "--limit", "0"}, "--limit 0: want 1 to 1000000")
	})
}
