package web

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// TrapShape names an endless space of pages. Each page is a function of its URL, responds with 200
// (except TrapRedirects) and leads to more; their texts are the same, or nearly so. The judge only
// counts the pages, because a crawl need not fetch all and may fetch any.
type TrapShape string

// The kinds.
const (
	// TrapNone means no trap.
	TrapNone TrapShape = ""
	// TrapCalendar is a calendar whose months link to the next and the previous, in any year.
	TrapCalendar TrapShape = "calendar"
	// TrapLinks holds the targets of the million links of ManyLinks.
	TrapLinks TrapShape = "links"
	// TrapPaths is one page whose relative links append to its path: /a/b/a/b/ and so on.
	TrapPaths TrapShape = "paths"
	// TrapQuery is a search whose filters combine in any order.
	TrapQuery TrapShape = "query"
	// TrapRedirects is an endless chain of redirects.
	TrapRedirects TrapShape = "redirects"
	// TrapSession has a few pages whose links carry a new sid= each time.
	TrapSession TrapShape = "session"
	// TrapSessionPath is TrapSession with the id as a segment of the path.
	TrapSessionPath TrapShape = "session-path"
)

// trap defines a kind.
type trap struct {
	enter string // the request target that the site's root links to

	// page returns the resource of a target, and whether the trap has it
	page func(target string) (resource, bool)
}

// trapKinds defines all kinds but TrapNone.
var trapKinds = map[TrapShape]trap{
	TrapCalendar:    {enter: "/calendar/2026/11", page: calendarPage},
	TrapLinks:       {enter: "/l/0", page: linkPage},
	TrapPaths:       {enter: "/a/b/", page: pathPage},
	TrapQuery:       {enter: "/search?page=1", page: queryPage},
	TrapRedirects:   {enter: "/hop/1", page: redirectPage},
	TrapSession:     {enter: "/shop/1?sid=0", page: sessionPage},
	TrapSessionPath: {enter: "/s/0/shop/1", page: sessionPathPage},
}

// TrapShapes lists all kinds but TrapNone, in order of name.
func TrapShapes() []TrapShape {
	kinds := make([]TrapShape, 0, len(trapKinds))
	for kind := range trapKinds {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// trapPage returns a page that links to targets.
func trapPage(targets ...string) (resource, bool) {
	return resource{behaviour: Healthy{}, index: -1, to: targets, trap: true}, true
}

// number reads a canonical number of at most nine digits.
func number(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && len(digits) <= 9 && strconv.Itoa(n) == digits && n >= 0
}

func calendarPage(target string) (resource, bool) {
	rest, found := strings.CutPrefix(target, "/calendar/")
	y, m, cut := strings.Cut(rest, "/")
	year, okYear := number(y)
	month, okMonth := number(m)
	if !found || !cut || !okYear || !okMonth || month < 1 || month > 12 {
		return resource{}, false
	}
	at := func(months int) string { return fmt.Sprintf("/calendar/%d/%d", months/12, months%12+1) }
	now := year*12 + month - 1
	return trapPage(at(now+1), at(max(now-1, 0)), at(now+12))
}

func linkPage(target string) (resource, bool) {
	digits, found := strings.CutPrefix(target, "/l/")
	if _, ok := number(digits); !found || !ok {
		return resource{}, false
	}
	return trapPage()
}

const pathPageText = "<!doctype html><title>Folder</title><p>Empty.</p>" +
	"<a href=\"a/b/\">more</a> <a href=\"b/\">other</a>\n"

func pathPage(target string) (resource, bool) {
	if !strings.HasPrefix(target, "/a/") || strings.Trim(target, "/ab") != "" {
		return resource{}, false
	}
	return resource{
		behaviour: Healthy{}, content: pathPageText, ctype: contentHTML, index: -1, trap: true,
	}, true
}

func redirectPage(target string) (resource, bool) {
	digits, found := strings.CutPrefix(target, "/hop/")
	n, ok := number(digits)
	if !found || !ok {
		return resource{}, false
	}
	return resource{behaviour: Redirect{Code: 302, To: "/hop/" + strconv.Itoa(n+1)}, index: -1, trap: true}, true
}

// filters and filterValues combine to the URLs of TrapQuery.
var (
	filters      = [...]string{"brand", "colour", "size", "sort", "view"}
	filterValues = [...]string{"first", "second", "third"}
)

func queryPage(target string) (resource, bool) {
	query, found := strings.CutPrefix(target, "/search?")
	if !found {
		return resource{}, false
	}
	var pairs []string
	page := 1
	for pair := range strings.SplitSeq(query, "&") {
		if n, ok := number(strings.TrimPrefix(pair, "page=")); ok && strings.HasPrefix(pair, "page=") {
			page = n
			continue
		}
		pairs = append(pairs, pair)
	}
	at := func(pairs []string, page int) string {
		return "/search?" + strings.Join(append(slices.Clone(pairs), "page="+strconv.Itoa(page)), "&")
	}
	to := []string{at(pairs, page+1)}
	for _, filter := range filters {
		others := slices.DeleteFunc(slices.Clone(pairs), func(pair string) bool {
			return strings.HasPrefix(pair, filter+"=")
		})
		for _, value := range filterValues {
			to = append(to, at(append(others, filter+"="+value), 1))
		}
	}
	return trapPage(to...)
}

// sessionPages counts the pages without regard to ids.
const sessionPages = 5

func sessionPage(target string) (resource, bool) {
	n, id, _ := strings.Cut(strings.TrimPrefix(target, "/shop/"), "?sid=")
	if i, ok := number(n); !strings.HasPrefix(target, "/shop/") || !ok || i < 1 || i > sessionPages {
		return resource{}, false
	}
	var to []string
	for i := range sessionPages {
		to = append(to, fmt.Sprintf("/shop/%d?sid=%s", i+1, nextID(n, id)))
	}
	return trapPage(to...)
}

func sessionPathPage(target string) (resource, bool) {
	id, n, found := strings.Cut(strings.TrimPrefix(target, "/s/"), "/shop/")
	if i, ok := number(n); !strings.HasPrefix(target, "/s/") || !found || !ok || i < 1 || i > sessionPages {
		return resource{}, false
	}
	var to []string
	for i := range sessionPages {
		to = append(to, fmt.Sprintf("/s/%s/shop/%d", nextID(n, id), i+1))
	}
	return trapPage(to...)
}

// nextID returns the id in the links of a page.
func nextID(page, id string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(page + "/" + id)) // a hash takes every write
	return strconv.FormatUint(hash.Sum64(), 36)
}
