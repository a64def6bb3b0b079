package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever follows a trap's links, of those to other URLs the last, never comes
// to an end, and the plan calls all of them a trap.
func TestTrapsHaveNoEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range TrapShapes() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := StartT(t, Options{CrossLinks: -1, Sites: []Site{{Host: "a.test", Trap: kind, Plain: true, Pages: 2}}})
			client := newClient(w)
			h := w.hosts["a.test"]
			enter := w.URL("a.test", trapKinds[kind].enter)
			require.Contains(t, extractLinks(w.URL("a.test", "/"), mustAsk(t, client, w.URL("a.test", "/")).body), enter)
			seen := make(map[string]bool)
			for u := enter; len(seen) < 60; {
				require.False(t, seen[u], u)
				seen[u] = true
				_, target, ok := w.split(u)
				require.True(t, ok)
				require.True(t, w.find(h, target).trap, u)
				a := mustAsk(t, client, u)
				if kind == TrapLinks {
					require.Equal(t, []string{w.URL("a.test", "/")}, extractLinks(u, a.body))
					break
				}
				u = deeper(u, a, seen)
				require.NotEmpty(t, u, "the trap has an end")
			}
			require.Len(t, w.Reachable(Rules{}), 1+3, "robots.txt and the pages")
			report := Judge(w.Log(), Expectations{Plan: w.Plan, Partial: true})
			require.Empty(t, report.Extra)
			require.Equal(t, len(seen), report.TrapPages)
			require.Equal(t, []TrapStats{{Key: "a.test", Requests: len(seen)}}, report.Traps)
		})
	}
}

// deeper is the last link of a page to where nobody has been.
func deeper(u string, a answer, seen map[string]bool) string {
	links := extractLinks(u, a.body)
	if to := a.header.Get("Location"); to != "" {
		links = []string{canonical(u, to)}
	}
	last := ""
	for _, link := range links {
		if to, err := url.Parse(link); err == nil && to.Path != "/" && !seen[link] {
			last = link
		}
	}
	return last
}

func TestTrapPagesAreAlike(t *testing.T) {
	t.Parallel()
	p := newPlan(t, Options{Sites: []Site{{Host: "a.test", Trap: TrapPaths, Plain: true}}})
	first, ok := pathPage("/a/b/")
	require.True(t, ok)
	second, ok := pathPage("/a/b/a/b/b/")
	require.True(t, ok)
	require.Equal(t, first.content, second.content)

	// The links of a session are all there is to tell its pages apart.
	text := func(target string) string {
		res, ok := sessionPage(target)
		require.True(t, ok)
		page := string(p.render(p.hosts["a.test"].site, target, res))
		for _, to := range append(res.to, target) {
			page = strings.ReplaceAll(page, to, "")
		}
		return page
	}
	require.Equal(t, text("/shop/1?sid=0"), text("/shop/3?sid=5zq"))
}

func TestTrapTargets(t *testing.T) {
	t.Parallel()
	for kind, targets := range map[TrapShape]map[string]bool{
		TrapCalendar: {
			"/calendar/2026/1": true, "/calendar/0/12": true, "/calendar/2026/13": false, "/calendar/2026/0": false,
			"/calendar/2026/01": false, "/calendar/2026": false, "/calendar/9999999999/1": false, "/calendar/-1/1": false,
		},
		TrapLinks:     {"/l/0": true, "/l/999999": true, "/l/": false, "/l/x": false, "/l/01": false, "/1": false},
		TrapPaths:     {"/a/b/": true, "/a/b/b/": true, "/a": false, "/a/c/": false, "/b/": false, "/": false},
		TrapQuery:     {"/search?page=1": true, "/search?": true, "/search?size=first&page=1": true, "/search": false},
		TrapRedirects: {"/hop/1": true, "/hop/": false, "/hop/x": false},
		TrapSession: {
			"/shop/1?sid=0": true, "/shop/5": true, "/shop/6?sid=0": false, "/shop/0?sid=0": false, "/shop/": false,
		},
		TrapSessionPath: {"/s/0/shop/1": true, "/s/0/shop/6": false, "/s/0": false, "/shop/1": false},
	} {
		for target, want := range targets {
			_, ok := trapKinds[kind].page(target)
			require.Equal(t, want, ok, target)
		}
	}
}

// What a crawler's canonicaliser leaves of a session's links is in the trap too.
func TestSessionWithoutItsIDIsFinite(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{"/shop/1": true}
	queue := []string{"/shop/1"}
	for len(queue) > 0 {
		res, ok := sessionPage(queue[0])
		require.True(t, ok)
		queue = queue[1:]
		for _, to := range res.to {
			bare, _, _ := strings.Cut(to, "?")
			if !seen[bare] {
				seen[bare] = true
				queue = append(queue, bare)
			}
		}
	}
	require.Len(t, seen, sessionPages)
}

func FuzzTrapTargets(f *testing.F) {
	for _, trap := range trapKinds {
		f.Add(trap.enter)
	}
	f.Fuzz(func(t *testing.T, target string) {
		for _, trap := range trapKinds {
			res, ok := trap.page(target)
			for _, to := range res.to {
				_, in := trap.page(to)
				require.True(t, in, "%q leads out of the trap, to %q", target, to)
			}
			require.Equal(t, ok, res.trap)
		}
	})
}
