package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}).allowed()
	at := found("First", "one")
	at.AllLinks = true
	at.Links = []crawl.Link{
		{URL: "https://other.example/", Domain: "other.example", Origin: "https://other.example", Anchor: "Other\x1b[31m", Rel: crawl.RelUGC, NoFollow: true},
		{URL: aPage + "own", Domain: aDomain, Origin: "https://" + aDomain},
	}
	r.fetched(at)
	out := r.Print("links", aPage)
	output.ContainsOnSameLine(t, out, "links to 2 pages of 2 domains")
	output.ContainsOnSameLine(t, out, "  https://other.example/", `"Other[31m" nofollow ugc`)
	output.ContainsOnSameLine(t, out, "is linked from 0 pages of 0 domains")
	output.ContainsOnSameLine(t, r.Print("links", "https://other.example/"), "  "+aPage, `"Other[31m" nofollow ugc`)
	var links report.PageLinks
	r.Decode(&links, "links", aPage, "--json")
	require.Len(t, links.Out, 2)

	out = r.Print("links", aDomain)
	output.ContainsOnSameLine(t, out, "links to 1 domain")
	output.ContainsOnSameLine(t, out, "  other.example", "1 link, 1 nofollow", `"Other[31m"`)
	var domains report.DomainLinks
	r.Decode(&domains, "links", "other.example", "--json")
	require.Equal(t, aDomain, domains.In[0].Domain)

	r.Refuse([]string{"links", "https://unknown.example/"}, "is unknown")
	r.Refuse([]string{"links", "ftp://x"}, "want a URL or a host with a path")
	r.Refuse([]string{"links", "no domain"}, `domain "no domain"`)
	r.Refuse([]string{"links", aPage, "--limit", "0"}, "--limit 0: want 1 to 100000")
}
