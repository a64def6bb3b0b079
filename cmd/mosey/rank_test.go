package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestRank(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed()
	out := r.Print("rank")
	output.ContainsOnSameLine(t, out, "0 links between 0 domains to 0 pages")
	output.ContainsOnSameLine(t, out, "so no ranks were computed")

	at := found("First", "one")
	at.AllLinks = true
	at.Links = []crawl.Link{{URL: "https://other.example/", Domain: "other.example", Origin: "https://other.example"}}
	r.fetched(at)
	out = r.Print("rank")
	output.ContainsOnSameLine(t, out, "1 link between 2 domains to 1 page, in ")
	output.ContainsOnSameLine(t, out, "Updated 3 scores; 0 pages reordered; 0 pages with new link texts.")
	output.ContainsOnSameLine(t, out, "SCORE", "LINKED FROM", "DOMAIN")
	output.ContainsOnSameLine(t, out, "0.", "1 domain ", "other.example")
	output.ContainsOnSameLine(t, r.Print("links", "https://other.example/"), "score 0.", "by links from 1 registered domain")

	var rep struct {
		report.Ranks

		Top []crawl.RankedDomain `json:"top"`
	}
	r.Decode(&rep, "rank", "--json", "--top", "1")
	require.EqualValues(t, 1, rep.Links)
	require.Zero(t, rep.Changed)
	require.Equal(t, "other.example", rep.Top[0].Domain)
	r.Refuse([]string{"rank", "--top", "100001"}, "--top 100001: want 0 to 100000")
}
