package activities_test

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/read"
	"github.com/mosey-web/mosey/manners/web"
)

// A domain whose title, language, certificate, name servers and registration change after a gap is
// new: its earlier pages, links and ranks do not count. A domain with one sign of before is not.
func TestOwner(t *testing.T) {
	t.Parallel()
	long := time.Now().AddDate(0, 0, -60)
	another := crawl.Owner{SeenAt: long, Title: "Kiosk", Language: "de", Issuer: "Another authority", NameServers: []string{"dns.example"}}
	for name, c := range map[string]struct {
		before     func(o *crawl.Owner)
		registered time.Time
		err        error
		isNew      bool
	}{
		"Another":      {registered: time.Now().AddDate(0, 0, -20), isNew: true},
		"Unregistered": {err: errors.New("no such service"), isNew: true},
		"Relaunch":     {registered: long.AddDate(-3, 0, 0)},
		"NoGap":        {before: func(o *crawl.Owner) { o.SeenAt = time.Now().AddDate(0, 0, -20) }},
		"Title":        {before: func(o *crawl.Owner) { o.Title = "Title" }},
		"Language":     {before: func(o *crawl.Owner) { o.Language = "en" }},
		"NameServers":  {before: func(o *crawl.Owner) { o.NameServers = []string{"a.example", "ns.example"} }},
		"FewSigns":     {before: func(o *crawl.Owner) { o.Issuer, o.NameServers = "", nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const english = `<p lang="en">The harbour is behind the lighthouse, and the ships wait there for the morning.`
			sites := serving(map[string]web.Behaviour{
				"/": page{head: `<meta http-equiv="content-language" content="en">`, body: lighthouse + `<a href="/a">a</a>`}, "/a": page{body: english},
			})
			sites[0].TLS = web.TLSValid
			o := options{sites: sites, registry: read.Registry{
				NameServers:  func(context.Context, string) ([]string, error) { return []string{"ns.example"}, nil },
				RegisteredAt: func(context.Context, string) (time.Time, error) { return c.registered, c.err },
			}}
			b := setup(t, o)
			o.limits.RootCAs = x509.NewCertPool()
			require.True(t, o.limits.RootCAs.AppendCertsFromPEM(b.web.RootCA()))
			b.acts = b.worker(t, o)
			b.seed(t, "/")
			b.follow(t)
			first, err := b.store.Owner(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, "Title", first.Title)
			require.Equal(t, "en", first.Language)
			require.NotEmpty(t, first.Issuer)
			require.Equal(t, []string{"ns.example"}, first.NameServers)
			b.exec(t, `INSERT INTO domains (domain) VALUES ('other.example')`)
			b.exec(t, `INSERT INTO pages (url, domain, origin) VALUES ('https://other.example/', 'other.example', 'https://other.example')`)
			b.exec(t, `INSERT INTO page_links (from_page_id, to_page_id, anchor) SELECT o.id, p.id, 'jetty' FROM pages o, pages p
				WHERE o.domain = 'other.example' AND p.url = $1`, b.page("/"))
			b.exec(t, "INSERT INTO domain_ranks (domain, inlinks, score) VALUES ($1, 1, 1)", b.site)

			before := another
			if c.before != nil {
				c.before(&before)
			}
			require.NoError(t, b.store.SetOwner(t.Context(), b.site, before))
			b.requestAgain(t, "/")
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, c.isNew, !d.OwnerSince.IsZero())
			kept := []string{"/", "/a"}
			links, ranks := 1, 1
			if c.isNew {
				kept, links, ranks = []string{"/"}, 0, 0
			}
			require.ElementsMatch(t, kept, b.withContent(t))
			require.Equal(t, ranks, b.count(t, "SELECT count(*) FROM domain_ranks"))
			counted := 0
			require.NoError(t, b.store.CountedLinks(t.Context(), func(_, _ string, _ int64) { counted++ }))
			require.Equal(t, links, counted)
			after, err := b.store.Owner(t.Context(), b.site)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now(), after.SeenAt, time.Minute)
		})
	}
}
