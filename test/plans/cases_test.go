package plans

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
)

// changes are cases that are rolled back, and reads those that read by the methods of a
// store, which has some statements planned in another way.
type (
	changes map[string]func(*testing.T, change)
	reads   map[string]func(*testing.T, *db.Store)
)

// allCases run each statement.
func allCases() (changes, reads) {
	changing, reading := changes{}, reads{}
	crawlCases(changing)
	domainCases(changing, reading)
	runCases(changing)
	forgetCases(changing)
	wholeCases(changing, reading)
	return changing, reading
}

// These sites have nothing odd about them: of each, 20 pages were asked for by run 1, and
// a dozen are pending there. The first is part of run 3, too.
const (
	sitePlain  int64 = 8
	siteOther  int64 = 12
	siteHosted int64 = 57
)

// These are sites that a workflow serves for run 1, with a request in flight. The claim of
// the second has run out.
const (
	siteClaimed int64 = 101
	siteExpired int64 = 901
)

func site(s int64) string {
	if s%50 == 7 {
		return fmt.Sprintf("blog-%d.hosting.example", s)
	}
	return fmt.Sprintf("site-%d.example", s)
}

func origin(s int64) string { return "https://" + site(s) }

// pageID is the id of a page by its place on its site, as fill.sql has it.
func pageID(s, o int64) int64 {
	switch s {
	case 0:
		return 1 + o/4*20 + o%4
	case 1:
		return 1 + o/2*20 + 4 + o%2
	case 2:
		return 1 + o*20 + 6
	}
	n := o*19997 + s - 3
	return 1 + n/13*20 + 7 + n%13
}

// attemptID is the id of its first crawl in run 1.
func attemptID(s, o int64) int64 { return 2 * pageID(s, o) }

func pageURL(s, o int64) string {
	switch {
	case o == 0:
		return origin(s) + "/robots.txt"
	case o == 1:
		return origin(s) + "/"
	case o == 2:
		return origin(s) + "/sitemap.xml"
	case o%16 == 15:
		return fmt.Sprintf("%s/images/%d.png", origin(s), o)
	}
	return fmt.Sprintf("%s/section-%d/page-%d", origin(s), o%7, o)
}

func kindOf(o int64) string {
	switch {
	case o == 0:
		return "robots"
	case o == 2:
		return "sitemap"
	case o%16 == 15:
		return "image"
	}
	return "page"
}

// ok takes the result of a query.
func (c change) ok(_ any, err error) {
	c.t.Helper()
	require.NoError(c.t, err)
}

func (c change) done(err error) {
	c.t.Helper()
	require.NoError(c.t, err)
}

// exec changes rows so that a statement has something to do.
func (c change) exec(sql string, args ...any) {
	c.t.Helper()
	_, err := c.Exec(c.t.Context(), sql, args...)
	require.NoError(c.t, err, sql)
}

// object is a document.
type object map[string]any

func doc(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it is made here
	}
	return data
}

// fly makes it as if a request for a page were in flight for run 1, as attempt_begin does.
func (c change) fly(s, o int64) int64 {
	c.t.Helper()
	id := attemptID(s, o)
	c.exec("UPDATE page_crawls SET locked_at = now(), retry_priority = -9 WHERE id = $1", id)
	c.exec("UPDATE politeness_slots SET holder = 'crawl:' || $1::text, free_at = now() + interval '1 hour' WHERE key = $2",
		strconv.FormatInt(id, 10), "domain:"+site(s))
	return id
}

// again makes it as if a page that run 1 has read were being asked for once more.
func (c change) again(s, o int64) (id int64) {
	c.t.Helper()
	c.done(c.QueryRow(c.t.Context(), `INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind, depth, is_revisit, locked_at)
		VALUES ($1, $2, 1, $3, $4, $5, 1, true, now()) RETURNING id`, pageID(s, o), site(s), attemptID(s, o), pageURL(s, o), kindOf(o)).Scan(&id))
	c.exec("UPDATE politeness_slots SET holder = 'crawl:' || $1::text, free_at = now() + interval '1 hour' WHERE key = $2",
		strconv.FormatInt(id, 10), "domain:"+site(s))
	return id
}

// start is the document of a request that is to begin for run 1.
func start(s, o int64, more object) object {
	a := object{
		"attempt_id": attemptID(s, o), "run_id": runLarge, "domain": site(s), "origin": origin(s), "url": pageURL(s, o), "kind": "page",
		"retry_priority": -9, "shared_slots": []object{}, "hold_ms": 60000, "span_ms": 60000, "queued": false, "claim_ms": 600000,
	}
	maps.Copy(a, more)
	return a
}

// begin begins a request, which must be granted.
func (c change) begin(s, o int64, more object) {
	c.t.Helper()
	a, err := c.q.AttemptBegin(c.t.Context(), doc(start(s, o, more)))
	require.NoError(c.t, err)
	require.True(c.t, a.Granted, "%s: %s", site(s), a.Reason)
}

// attempt is the document of a request that was answered with a page, and what more says.
func attempt(s int64, id int64, more object) object {
	a := object{
		"attempt_id": id, "domain": site(s), "requested": true, "reached": true, "outcome": "success", "status_code": 200,
		"since_end_ms": 1, "duration_ms": 20, "delay_ms": 1000, "reason": "delay", "bytes": 20000, "ip": "198.18.0.1",
		"content_type": "text/html", "robots_version": 2, "health": object{"baseline_latency": "1ms", "samples": []int{}},
		"page": object{
			"visit":   object{"content": fmt.Sprintf("%032x", id)},
			"signals": object{"title": "A page"}, "language": "en", "extractor": 2, "simhash": id, "images_recorded": true,
		},
	}
	maps.Copy(a, more)
	return a
}

// linksOf are links from a page of a site. Ten lead to known pages, one of them on another
// site. Four lead to new ones: a page, a subdomain, a part of an endless space, and a page
// on a block list.
func linksOf(s, o int64) []object {
	links, subdomain := []object{}, fmt.Sprintf("new-%d.hosting.example", s)
	for i := range int64(9) {
		links = append(links, object{"url": pageURL(s, 3+i), "domain": site(s), "origin": origin(s), "patterns": []string{"/section-N/page-N"}})
	}
	return append(links,
		object{"url": pageURL(siteOther, 4), "domain": site(siteOther), "origin": origin(siteOther), "anchor": "words"},
		object{"url": fmt.Sprintf("%s/new-%d", origin(s), o), "domain": site(s), "origin": origin(s), "patterns": []string{"/new-N"}},
		object{
			"url": "https://" + subdomain + "/", "domain": subdomain, "origin": "https://" + subdomain, "registered_domain": "hosting.example",
		},
		object{"url": "https://bad-4.example/", "domain": "bad-4.example", "origin": "https://bad-4.example"},
		object{"url": origin(s) + "/trap/trap/trap", "domain": site(s), "origin": origin(s), "trap": "repeated", "trap_evidence": "trap"})
}

var (
	follow = object{"depth": 2}
	index  = object{"configs": []string{"english"}, "a": "a page", "b": "headings", "c": "what it is", "d": "common words of a page"}
	charge = object{"patterns": []string{"/section-N/page-N", "/section-6/page-N"}, "fingerprints": "AAAA", "shared_text": "AAAA"}
)

// claimedSites are sites that a workflow serves for run 1, with the attempt in flight.
func claimedSites() (sites []int64) {
	for s := siteClaimed; len(sites) < 10; s += 100 {
		if s != siteExpired {
			sites = append(sites, s)
		}
	}
	return sites
}

// several are small sites with something due.
func several(n int64) (sites []int64) {
	for s := sitePlain; int64(len(sites)) < n; s += 4 {
		sites = append(sites, s)
	}
	return sites
}

func names(sites []int64) (all []string) {
	for _, s := range sites {
		all = append(all, site(s))
	}
	return all
}

func pageIDs(from, n int64) (ids []int64) {
	for i := range n {
		ids = append(ids, from+i)
	}
	return ids
}

func caseNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func ago(d time.Duration) time.Time { return time.Now().Add(-d) }
