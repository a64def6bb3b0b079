package activities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// kept is the stored state of a site's front page.
type kept struct {
	// found is set if a search finds it.
	found bool
	// links and images count the current ones; closed counts the removed links.
	links, images, closed int
}

// everything is the complete state of the front page of lived.
var everything = kept{found: true, links: 1, images: 1}

// keeps returns the stored state of the site's front page.
func (b *testBundle) keeps(t *testing.T) kept {
	t.Helper()
	const links = "SELECT count(*) FROM page_links l INNER JOIN pages p ON p.id = l.from_page_id WHERE p.url = $1 AND l.kind = 'link' AND l.gone_at IS "
	const images = "SELECT count(*) FROM provenance o WHERE o.source_page_url = $1 AND o.gone_at IS NULL"
	url := b.page("/")
	return kept{
		found: len(b.found(t, "lighthouse")) > 0, links: b.count(t, links+"NULL", url), closed: b.count(t, links+"NOT NULL", url),
		images: b.count(t, images, url),
	}
}

// lived is a site whose front page responds as usual, then as change does, then as usual again. A
// conditional request with the current ETag gets a 304.
func lived(change func(*web.Visit), robots ...func(*web.Visit)) []web.Site {
	usual := func(v *web.Visit) {
		v.W.Header().Set("ETag", `"1"`)
		if v.R.Header.Get("If-None-Match") == `"1"` {
			v.W.WriteHeader(304)
			return
		}
		page{body: lighthouse + `<a href="/linked">a link</a><img src="/a.png" alt="a lamp">`}.Serve(v)
	}
	if change == nil {
		change = usual
	}
	paths := map[string]web.Behaviour{"/": turns{answers: []func(*web.Visit){usual, change, usual}}, "/elsewhere": page{}}
	if len(robots) == 0 {
		robots = append(robots, says(""))
	}
	paths["/robots.txt"] = turns{answers: robots}
	return []web.Site{{Pages: -1, Plain: true, Paths: paths}}
}

// live visits the front page in a run of its own, a day after the last visit.
func (b *testBundle) live(t *testing.T, visit int) {
	t.Helper()
	b.age(t, 25*time.Hour)
	next := b.inRun(t, fmt.Sprintf("visit-%d", visit), settings.Settings{
		Images: new(settings.ImagesMetadata), MinRefetch: new(settings.Duration), MaxAttempts: new(1),
	})
	next.seed(t, "/")
	next.follow(t)
}

func answers(code int, header ...string) func(*web.Visit) {
	return func(v *web.Visit) {
		for i := 0; i < len(header); i += 2 {
			v.W.Header().Set(header[i], header[i+1])
		}
		v.W.WriteHeader(code)
	}
}

// The request that tells that a page is gone, has moved or is forbidden takes it out of
// searches, links and images. Once the page is back, all of it is there again.
func TestWhatIsGoneLeavesTheIndex(t *testing.T) {
	t.Parallel()
	gone, forgotten := kept{closed: 1}, kept{}
	const allowed, disallowed, reserved = "", "User-agent: *\nDisallow: /\n", "User-agent: *\nContent-Signal: search=no\n"
	body := page{body: lighthouse + `<a href="/linked">a link</a><img src="/a.png">`}
	saying := func(name, value string) func(*web.Visit) {
		said := body
		said.header = []string{name, value, "ETag", `"1"`}
		return said.Serve
	}
	robots := func(text string) []func(*web.Visit) {
		return []func(*web.Visit){says(allowed), says(text), says(allowed)}
	}
	for name, c := range map[string]struct {
		change func(*web.Visit)
		robots []func(*web.Visit)
		want   kept
	}{
		"NotFound":           {change: answers(404), want: gone},
		"Gone":               {change: answers(410), want: gone},
		"Refused":            {change: answers(403), want: gone},
		"Redirected":         {change: answers(301, "Location", "/elsewhere"), want: gone},
		"RedirectedToItself": {change: answers(302, "Location", "/"), want: gone},
		"RedirectedNowhere":  {change: answers(302), want: gone},
		"Parked":             {change: parked.Serve, want: gone},
		"RobotsSince":        {robots: robots(disallowed), want: gone},
		"NoindexSince":       {change: saying("X-Robots-Tag", "noindex"), want: kept{links: 1}},
		"NoindexSinceBy304":  {change: answers(304, "X-Robots-Tag", "noindex"), want: kept{links: 1}},
		"PurposeSince":       {change: saying("Content-Signal", "search=no"), want: forgotten},
		"PurposeSinceBy304":  {change: answers(304, "Content-Signal", "search=no"), want: forgotten},
		"PurposeSinceRobots": {robots: robots(reserved), want: forgotten},

		"ServerError":     {change: answers(500), want: everything},
		"Overloaded":      {change: answers(503), want: everything},
		"TooManyRequests": {change: answers(429), want: everything},
		"NoAnswer":        {change: halfBody, want: everything},
		"Wall":            {change: answers(403, "Cf-Mitigated", "challenge"), want: everything},
		"WallThatSays200": {change: anubis.Serve, want: everything},
		"RobotsMalformed": {robots: robots("<!doctype html><html><body>busy</body></html>"), want: everything},
		"Unchanged":       {want: everything},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, options{sites: lived(c.change, c.robots...)})
			b.live(t, 1)
			require.Equal(t, everything, b.keeps(t))
			b.live(t, 2)
			require.Equal(t, c.want, b.keeps(t))
			b.live(t, 3)
			require.Equal(t, everything, b.keeps(t), "it is there again")
			require.Equal(t, 3, b.asked("/"))
		})
	}
}
