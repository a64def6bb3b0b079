package activities_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
)

// echo is a page that repeats the last part of its path, as error pages do.
type echo struct {
	web.Healthy

	text string
}

func (e echo) Serve(v *web.Visit) {
	v.W.Header().Set("Content-Type", "text/html")
	v.Write(fmt.Appendf(nil, "<!doctype html><title>Title</title><p>%s /%s <p>%s", "Sorry, there is nothing at", v.R.URL.Path[strings.LastIndexByte(v.R.URL.Path, '/')+1:], e.text))
}

const (
	sorry = `The lighthouse keeper has looked for it in all rooms, and found nothing.`
	other = `A lighthouse marks a dangerous coast, and its light turns all night.`
)

// A site that sends one text for many URLs is asked for a page that it cannot have. If it sends the
// same text for it, such pages are named, and neither found nor followed.
func TestSoftNotFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paths map[string]web.Behaviour
		// asked reports whether the missing page is requested. named lists the pages that are named, and
		// kept the ones with content.
		asked       bool
		named, kept []string
		// soft is set if the site sends pages that do not exist.
		soft bool
	}{
		"Soft": {
			paths: map[string]web.Behaviour{"/": page{body: other}, "/d": echo{text: sorry}, "/e": echo{text: sorry}, kinds.MissingPath: echo{text: sorry}},
			asked: true, named: []string{"/d", "/e"}, kept: []string{"/"}, soft: true,
		},
		"Honest": {
			paths: map[string]web.Behaviour{"/": page{body: other}, "/d": echo{text: sorry}, kinds.MissingPath: turns{answers: []func(*web.Visit){answers(404)}}},
			asked: true, kept: []string{"/", "/a", "/b/n1", "/c", "/d"},
		},
		"AnotherText": {
			paths: map[string]web.Behaviour{"/": page{body: other}, "/d": echo{text: sorry}, kinds.MissingPath: echo{text: other}},
			asked: true, soft: true, kept: []string{"/", "/a", "/b/n1", "/c", "/d"},
		},
		"OwnTexts": {
			paths: map[string]web.Behaviour{"/": page{body: other}, "/c": page{body: other + sorry}, "/d": page{body: other + "Mine."}, "/e": page{body: sorry}},
			kept:  []string{"/", "/a", "/b/n1", "/c", "/d", "/e"},
		},
		"ForbiddenByRobots": {
			paths: map[string]web.Behaviour{
				"/": page{body: other}, "/d": echo{text: sorry},
				"/robots.txt": web.Content{Type: "text/plain", Body: "User-agent: *\nDisallow: " + kinds.MissingPath},
			},
			kept: []string{"/", "/a", "/b/n1", "/c", "/d"},
		},
		"CanonicalPages": { // of one article
			paths: map[string]web.Behaviour{
				"/": page{body: other}, "/a": page{body: sorry, head: `<link rel="canonical" href="/z">`}, "/b/n1": page{body: sorry, head: `<link rel="canonical" href="/z">`},
				"/c": page{body: sorry, head: `<link rel="canonical" href="/z">`}, "/d": page{body: other + other},
			},
			kept: []string{"/", "/a", "/b/n1", "/c", "/d"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths := map[string]web.Behaviour{"/a": echo{text: sorry}, "/b/n1": echo{text: sorry}, "/c": echo{text: sorry}}
			maps.Copy(paths, c.paths)
			b := setup(t, options{sites: serving(paths)})
			for _, target := range []string{"/", "/a", "/b/n1", "/c", "/d", "/e"} { // in this order
				if paths[target] != nil {
					b.seed(t, target)
					b.follow(t)
				}
			}
			asked := 0
			for _, r := range b.log() {
				if r.Target == kinds.MissingPath {
					asked++
				}
			}
			require.Equal(t, map[bool]int{true: 1}[c.asked], asked)
			require.ElementsMatch(t, c.kept, b.withContent(t))
			require.Subset(t, c.kept, b.found(t, "lighthouse"))
			for _, target := range []string{"/a", "/d", "/e"} {
				if paths[target] == nil {
					continue
				}
				attempt := b.report(t, target).Crawls[0]
				require.Equal(t, crawl.OutcomeSuccess, attempt.Outcome)
				require.Equal(t, slices.Contains(c.named, target), attempt.Skipped == reasons.SoftNotFound, target)
			}
			require.NoError(t, b.store.CountDomains(t.Context(), func(int64) {}))
			listed, err := b.store.Domains(t.Context(), report.DomainQuery{Status: crawl.DomainStatus(reasons.SoftNotFound), Sort: "priority", Limit: 10})
			require.NoError(t, err)
			require.Equal(t, c.soft, len(listed) == 1)
			d, err := b.store.Domain(t.Context(), b.site)
			require.NoError(t, err)
			require.Equal(t, c.soft, d.Robots[0].SoftNotFound)
		})
	}
}

// withContent returns the targets of the pages whose content is stored.
func (b *testBundle) withContent(t *testing.T) (targets []string) {
	t.Helper()
	rows, err := b.store.Pool().Query(t.Context(), "SELECT url FROM pages WHERE signals IS NOT NULL")
	require.NoError(t, err)
	urls, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	for _, u := range urls {
		targets = append(targets, strings.TrimPrefix(u, originOf(t, b.page("/"))))
	}
	return targets
}
