package activities_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
)

// magazine is a site whose good pages are known: the stories. Its front page links to tags,
// whose lists can be shown in many ways, and to the sections with the stories.
// A third of the ways of a tag show something of their own; the others show the tag again.
type magazine struct {
	links map[string][]string
	text  map[string]string
}

const (
	magazineTags     = 40
	magazineWays     = 20
	magazineSections = 10
	magazineStories  = 20
)

func newMagazine() magazine {
	m := magazine{links: map[string][]string{}, text: map[string]string{}}
	words := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range 120 {
			fmt.Fprintf(&b, "w%d ", words.IntN(50_000))
		}
		return b.String()
	}
	page := func(path string, links ...string) {
		m.text[path] = text()
		m.links[path] = links
	}
	var front, tags []string
	for tag := range magazineTags {
		at := fmt.Sprintf("/tag?id=%d", tag)
		tags = append(tags, at)
		var ways []string
		for way := range magazineWays {
			ways = append(ways, fmt.Sprintf("/tag?id=%d&way=%d", tag, way))
		}
		page(at, ways...)
		for way, path := range ways {
			page(path, ways...)
			if way%3 != 0 {
				m.text[path] = m.text[at]
			}
		}
	}
	for section := range magazineSections {
		at := fmt.Sprintf("/section/%c", 'a'+section)
		// four tags, a section, and so on
		each := magazineTags / magazineSections
		front = append(append(front, tags[section*each:][:each]...), at)
		var stories []string
		for story := range magazineStories {
			stories = append(stories, fmt.Sprintf("/story/%c-%d", 'a'+section, story))
		}
		page(at, stories...)
		for _, story := range stories {
			page(story)
		}
	}
	page("/", front...)
	return m
}

func isStory(path string) bool { return strings.HasPrefix(path, "/story/") }

// serve makes a site of it, of which the sitemap and the feed name some of the stories.
func (m magazine) serve(sitemap, feed bool) []web.Site {
	paths := map[string]web.Behaviour{}
	var listed, news []string
	for path, links := range m.links {
		var body strings.Builder
		body.WriteString(m.text[path])
		for _, to := range links {
			fmt.Fprintf(&body, `<a href="%s"></a>`, strings.ReplaceAll(to, "&", "&amp;"))
		}
		paths[path] = page{body: body.String()}
		if isStory(path) && len(listed) < magazineSections*magazineStories/2 {
			listed = append(listed, entry(path))
		}
	}
	if sitemap {
		slices.Sort(listed)
		paths["/sitemap.xml"] = urlset(listed...)
	}
	if feed {
		for story := range magazineSections {
			news = append(news, fmt.Sprintf(`<entry><link href="/story/j-%d"/></entry>`, story))
		}
		front := paths["/"].(page)
		front.head = `<link rel="alternate" type="application/atom+xml" href="/feed">`
		paths["/"], paths["/feed"] = front, xmlOf(`<feed xmlns="http://www.w3.org/2005/Atom">`+strings.Join(news, "")+`</feed>`)
	}
	return []web.Site{{Pages: -1, Plain: true, Paths: paths}}
}

// breadthFirst is the order in which a crawler with one queue asks for it.
func (m magazine) breadthFirst() []string {
	queue, seen := []string{"/"}, map[string]bool{"/": true}
	for i := 0; i < len(queue); i++ {
		for _, to := range m.links[queue[i]] {
			if !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return queue
}

// goodShare is the share of stories among the first fifth of requests.
func (m magazine) goodShare(asked []string) float64 {
	first := asked[:len(m.links)/5]
	good := 0
	for _, path := range first {
		if isStory(path) {
			good++
		}
	}
	return float64(good) / float64(len(first))
}

// TestOrderPays is about the order in which the pages of a domain are asked for: what is
// worth having comes sooner than in breadth-first order.
func TestOrderPays(t *testing.T) {
	t.Parallel()
	m := newMagazine()
	plain := m.goodShare(m.breadthFirst())
	for name, c := range map[string]struct {
		sitemap, feed bool
	}{
		"ByWhatPatternsBring": {},
		"ByAFeed":             {feed: true},
		"ByASitemap":          {sitemap: true},
		"ByAll":               {sitemap: true, feed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "ByAll" {
				form.Long(t)
			}
			b := setup(t, options{
				sites:    m.serve(c.sitemap, c.feed),
				settings: settings.Settings{Sitemaps: new(c.sitemap), Feeds: new(c.feed)},
			})
			b.seed(t, "/")
			b.allowAll(t, b.page("/"))
			for len(b.targets()) < len(m.links)/5 {
				res, err := b.fetchPages(t, 100)
				require.NoError(t, err)
				require.NotEqual(t, activities.StepFinish, res.Next)
				if res.Next == activities.StepRobots { // its thin pages have one text
					b.followStep(t, res.NextStep)
				}
			}
			share := m.goodShare(b.targets())
			t.Logf("stories among the first fifth of requests: %.0f %%, breadth-first %.0f %%", 100*share, 100*plain)
			require.Greater(t, share, 3*plain)
		})
	}
}
