package db_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

func TestLinksComeAndGo(t *testing.T) {
	t.Parallel()
	const domain, page = "life.example", "https://life.example/"
	shared := setup(t, settings.Settings{})
	visits := 0
	// visit reads the page once more, in a run of its own, with links that have these texts.
	visit := func(t *testing.T, change func(*crawl.Attempt), texts map[string]string) {
		t.Helper()
		visits++
		b := shared.in(t, "visit-"+strconv.Itoa(visits), settings.Settings{MinRefetch: new(settings.Duration)})
		b.seed(t, page)
		var found []crawl.Link
		for path, text := range texts {
			found = append(found, links(t, page+path)...)
			found[len(found)-1].Anchor = text
		}
		at := attempted(b.begin(t, domain), domain, found...)
		at.Follow, at.AllLinks = nil, true
		if change != nil {
			change(&at)
		}
		b.finish(t, at)
	}
	state := func(t *testing.T) map[string]string {
		t.Helper()
		got, err := shared.PageLinks(t.Context(), domain, page, 100)
		require.NoError(t, err)
		all := map[string]string{}
		for _, l := range got.Out {
			s := l.Anchor
			if l.Kind == "redirect" {
				s += " redirect"
			}
			if slices.Contains(l.Rel, "ugc") {
				s += " ugc"
			}
			if !l.GoneAt.IsZero() {
				require.True(t, l.LastSeen.Before(l.GoneAt), "%+v", l)
				s += " gone"
			} else {
				require.WithinDuration(t, time.Now(), l.LastSeen, time.Minute)
			}
			all[l.URL[len(page):]] = s
		}
		return all
	}
	visit(t, nil, map[string]string{"a": "A", "b": "B"})
	require.Equal(t, map[string]string{"a": "A", "b": "B"}, state(t))
	first, err := shared.PageLinks(t.Context(), domain, page, 100)
	require.NoError(t, err)

	visit(t, func(at *crawl.Attempt) { at.Links[0].Rel = crawl.RelUGC }, map[string]string{"a": "another"})
	require.Equal(t, map[string]string{"a": "another ugc", "b": "B gone"}, state(t))
	visit(t, func(at *crawl.Attempt) { at.AllLinks = false }, map[string]string{"c": "C"})
	require.Equal(t, map[string]string{"a": "another ugc", "b": "B gone", "c": "C"}, state(t), "what was cut off tells of no end")
	visit(t, nil, map[string]string{"b": "B", "c": "C"})
	require.Equal(t, map[string]string{"a": "another ugc gone", "b": "B", "c": "C"}, state(t))
	visit(t, func(at *crawl.Attempt) { at.Redirect = true }, map[string]string{"elsewhere": ""})
	require.Equal(t, map[string]string{"a": "another ugc gone", "b": "B gone", "c": "C gone", "elsewhere": " redirect"}, state(t),
		"a page that leads elsewhere has no links")
	visit(t, nil, nil)
	for path, s := range state(t) {
		require.Contains(t, s, "gone", path)
	}

	rep := shared.page(t, page)
	require.Zero(t, rep.LinksOut)
	back, err := shared.PageLinks(t.Context(), domain, page+"a", 100)
	require.NoError(t, err)
	require.Len(t, back.In, 1)
	require.Equal(t, page, back.In[0].URL)
	require.Equal(t, first.Out[0].FirstSeen, back.In[0].FirstSeen)
}

func TestLinksOfDomains(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.seed(t, "https://one.example/", "https://two.example/")
	found := links(t, "https://two.example/", "https://two.example/x", "https://three.example/", "https://one.example/own")
	found[0].Anchor, found[1].Anchor, found[1].NoFollow = "Two", "X", true
	b.finish(t, attempted(b.begin(t, "one.example"), "one.example", found...))
	got, err := b.DomainLinks(t.Context(), "one.example", 10)
	require.NoError(t, err)
	require.Equal(t, report.DomainLinks{
		Domain: "one.example", In: []report.Links{},
		Out: []report.Links{
			{Domain: "two.example", Links: 2, NoFollow: 1, Anchors: []string{"Two", "X"}},
			{Domain: "three.example", Links: 1, Anchors: []string{}},
		},
	}, got)
	got, err = b.DomainLinks(t.Context(), "two.example", 10)
	require.NoError(t, err)
	require.Equal(t, []report.Links{{Domain: "one.example", Links: 2, NoFollow: 1, Anchors: []string{"Two", "X"}}}, got.In)
}
