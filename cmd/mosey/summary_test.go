package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/seed"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/output"
)

// served answers with what a function writes.
type served func(http.ResponseWriter)

func (s served) Serve(v *web.Visit) { s(v.W) }

func (served) Truth() web.Truth { return web.Truth{} }

// TestLastWords checks that a command's final summary covers that command only. The summary also
// names the limit that stopped the run.
func TestLastWords(t *testing.T) {
	t.Parallel()

	t.Run("OfASpentBudgetSaySo", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 9)
		r := h.Execute(s.crawl(s.Seeds()[0], "--max-pages", "3", "--set", "sitemaps=off")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "Run default is done (limit of 3 pages reached) after ", ": 3 pages of 1 domain")
		output.ContainsOnSameLine(t, r.Stdout, " pages left")
		output.ContainsOnSameLine(t, h.Print("status", "default"), "Run default is done (limit of 3 pages reached)")

		r = h.Execute(s.crawl("--max-pages=-1", "--max-pages-per-domain", "5")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "(complete: 1 domain reached its limit) after ", ": 2 pages of 1 domain")
		output.ContainsOnSameLine(t, r.Stdout, "  2 ok")
		output.ContainsOnSameLine(t, r.Stdout, "  all calls: 5 pages, ", "; 5 ok")
		last := output.Lines[seed.Event](t, h.Print(s.crawl("--max-pages-per-domain=-1", "--json")...))
		end := last[len(last)-1]
		require.EqualValues(t, 10, end.Success)
		require.EqualValues(t, 5, end.Call.Success)
		require.EqualValues(t, 5, end.Call.RequestCount)
	})

	t.Run("SayWhyPagesAreSkipped", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := newSite(t, 1, 3)
		require.Zero(t, h.Execute(s.crawl(s.Seeds()[0])...).Code)
		r := h.Execute(s.crawl(s.Seeds()[0], "--run", "again")...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "Run again is done (complete) after ", ": 0 pages of 1 domain, 0 requests, 0 B")
		output.ContainsOnSameLine(t, r.Stdout, "  4 pages skipped: min-refetch (fetched recently; --set min_refetch=0s fetches them anyway)")
	})

	t.Run("NameASiteThatLetsNoLinkBeFollowed", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := site{web.StartT(t, web.Options{Sites: []web.Site{{Pages: 3, Plain: true, Paths: map[string]web.Behaviour{
			"/": served(func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = w.Write([]byte(`<meta name=robots content=nofollow><a href=/p/1>1</a>`))
			}),
		}}}})}
		r := h.Execute(s.crawl(s.Seeds()[0])...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "  "+siteDomain+": its publisher forbids following links (nofollow)")
		require.Len(t, s.Log().Pages(), 1)
	})

	t.Run("NameDomainsThatCannotBeAsked", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithStack(t)
		s := site{web.StartT(t, web.Options{Sites: []web.Site{
			{Pages: 2, Plain: true},
			{Pages: 2, Plain: true, Paths: map[string]web.Behaviour{"/": served(func(w http.ResponseWriter) {
				w.Header().Set("Retry-After", "86400")
				w.WriteHeader(http.StatusServiceUnavailable)
			})}},
		}, CrossLinks: -1})}
		r := h.Execute(s.crawl(s.Seeds()...)...)
		require.Zero(t, r.Code, r.Stderr)
		output.ContainsOnSameLine(t, r.Stdout, "  site-002.test is deferred until ", ": retry-after")
		output.ContainsOnSameLine(t, h.Print("status", "default"), "  site-002.test is deferred until ", ": retry-after")
		h.Print("pause", "site-002.test", "--reason", "a quiet night")
		output.ContainsOnSameLine(t, h.Print("status", "default"), "  site-002.test: paused: set by ", ": a quiet night")
		var p report.Progress
		h.Decode(&p, "status", "default", "--json")
		require.Equal(t, 1, p.ObstacleTotal)
		h.Refuse([]string{"status", "other"}, `run "other" does not exist`)
	})
}
