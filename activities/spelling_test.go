package activities_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// onlyAs serves a page under one spelling, and redirects all others to it.
func onlyAs(target string) web.Behaviour {
	return serve(func(v *web.Visit) {
		v.W.Header().Set("Content-Type", "text/html")
		if v.R.RequestURI != target {
			v.W.Header().Set("Location", target)
			v.W.WriteHeader(http.StatusMovedPermanently)
			return
		}
		v.Write([]byte("<title>Panther</title><p>A page of its own spelling"))
	})
}

// A page that its site serves under another spelling than the canonical one is read.
func TestTheSpellingOfTheSite(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{
		"/panzer-Panther": "/panzer-%50anther",
		"/jos%C3%A9":      "/jos%c3%a9",
		"/":               "/;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9",
		"/news":           "/news?utm_source=a",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: serving(map[string]web.Behaviour{name: onlyAs(target), target: onlyAs(target)})})
			b.seed(t, name)
			b.allowAll(t, b.page("/"))
			b.follow(t)
			rep := b.report(t, name)
			require.Equal(t, []string{name, target}, b.pages())
			require.Equal(t, "Panther", rep.Title)
			require.Len(t, rep.Crawls, 2)
			require.Equal(t, 200, rep.Crawls[0].StatusCode)
			require.Contains(t, rep.Crawls[1].Error, "another spelling of the page, which is requested next: "+target)
			require.Equal(t, 1, b.count(t, "SELECT count(*) FROM pages WHERE kind = 'page'"))
			b.requireNothingInFlight(t)
		})
	}

	t.Run("IsNotRequestedIfRobotsForbidsIt", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/robots.txt": raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /*;jsessionid\n"),
			"/":           onlyAs("/;jsessionid=0A1B2C3D4E5F60718293A4B5C6D7E8F9"),
		})})
		b.seed(t, "/")
		b.follow(t)
		require.Equal(t, []string{"/"}, b.pages())
		require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/").Crawls[0].Outcome)
	})
}

// A site may know its pages in no other spelling than that of its links.
func TestReferencesAreRequestedAsSpelt(t *testing.T) {
	t.Parallel()
	images := settings.ImagesMetadata
	b := setup(t, options{settings: settings.Settings{Images: &images}, sites: serving(map[string]web.Behaviour{
		"/%66ront": html("<title>Front</title>", "The pages", "/a%2Db", "/c%7ed/?utm_source=x", "/old"),
		"/a%2Db":   html("<title>A</title>", "One of the pages"),
		"/c%7ed/":  html("<title>C</title>", "A folder<img src=i%2epng>", "e"),
		"/c%7ed/e": html("<title>E</title>", "Another of the pages"),
		"/old":     redirectTo("/n%65w"),
		"/n%65w":   html("<title>New</title>", "The last of the pages"),
	})})
	b.seed(t, "/%66ront")
	b.allowAll(t, b.page("/"))
	b.follow(t)
	require.ElementsMatch(t, []string{"/%66ront", "/a%2Db", "/c%7ed/", "/old", "/c%7ed/e", "/c%7ed/i%2epng", "/c~d/i.png", "/n%65w"}, b.pages())
	for target, title := range map[string]string{"/front": "Front", "/a-b": "A", "/c~d/": "C", "/c~d/e": "E", "/new": "New"} {
		require.Equal(t, title, b.report(t, target).Title)
	}
}

// robots.txt may lead to a file that the site knows in one spelling only.
func TestRobotsRedirectToTheSpellingOfTheSite(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: serving(map[string]web.Behaviour{
		"/robots.txt":           redirectTo("/%72obots.php?f=a%2Fb"),
		"/private":              html("<title>Private</title>", "A page"),
		"/robots.php":           web.Status{Code: http.StatusNotFound},
		"/%72obots.php?f=a%2Fb": raw("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /private\n"),
	})})
	b.seed(t, "/private")
	b.follow(t)
	require.Equal(t, crawl.OutcomeBlockedRobots, b.report(t, "/private").Crawls[0].Outcome)
}

// The first link to a page may have a spelling that its site does not know.
func TestASpellingThatTheSiteDoesNotKnow(t *testing.T) {
	t.Parallel()
	b := setup(t, options{sites: serving(map[string]web.Behaviour{
		"/":    html("<title>Front</title>", "The pages", "/%61", "/%62"),
		"/a":   html("<title>A</title>", "One of the pages"),
		"/%61": web.Status{Code: http.StatusNotFound}, "/%62": web.Status{Code: http.StatusNotFound}, "/b": web.Status{Code: http.StatusNotFound},
	})})
	b.seed(t, "/")
	b.allowAll(t, b.page("/"))
	b.follow(t)
	require.ElementsMatch(t, []string{"/", "/%61", "/%62", "/a", "/b"}, b.pages())
	require.Equal(t, "A", b.report(t, "/a").Title)
	gone := b.report(t, "/b")
	require.Equal(t, crawl.OutcomeBlocked4xx, gone.Crawls[0].Outcome)
	require.Equal(t, "failed", gone.Status)
}

// A redirect to the same spelling, or to a third one, ends.
func TestRedirectsToItself(t *testing.T) {
	t.Parallel()
	t.Run("WithACookie", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{"/a": serve(func(v *web.Visit) {
			http.SetCookie(v.W, &http.Cookie{Name: "seen", Value: "1"})
			http.Redirect(v.W, v.R, v.R.RequestURI, http.StatusFound)
		})})})
		b.seed(t, "/a")
		b.allowAll(t, b.page("/"))
		b.follow(t)
		require.Equal(t, []string{"/a"}, b.pages())
		rep := b.report(t, "/a")
		require.Equal(t, crawl.OutcomeSuccess, rep.Crawls[0].Outcome)
		require.Equal(t, string(reasons.NoTarget), string(rep.Crawls[0].Skipped))
		require.Contains(t, rep.Crawls[0].Error, "redirect to itself: the site needs a cookie")
	})

	t.Run("ToTheCanonicalSpelling", func(t *testing.T) {
		t.Parallel()
		b := setup(t, options{sites: serving(map[string]web.Behaviour{
			"/%61": onlyAs("/a"),
			"/a":   html("<title>A</title>", "One of the pages"),
		})})
		b.seed(t, "/%61")
		b.allowAll(t, b.page("/"))
		b.follow(t)
		require.Equal(t, []string{"/%61", "/a"}, b.pages())
		require.Equal(t, "A", b.report(t, "/a").Title)
	})

	t.Run("BetweenSpellings", func(t *testing.T) {
		t.Parallel()
		around := serve(func(v *web.Visit) {
			v.W.Header().Set("Location", map[string]string{"/ab": "/a%62", "/a%62": "/%61b"}[v.R.RequestURI])
			v.W.WriteHeader(http.StatusFound)
		})
		b := setup(t, options{sites: serving(map[string]web.Behaviour{"/ab": around, "/a%62": around})})
		b.seed(t, "/ab")
		b.allowAll(t, b.page("/"))
		b.follow(t)
		require.Equal(t, []string{"/ab", "/a%62"}, b.pages())
		require.Contains(t, b.report(t, "/ab").Crawls[0].Error, "redirect to itself")
	})
}
