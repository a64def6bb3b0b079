package manners

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// links is a case of links that are to be followed, and of others that are not.
type links struct {
	id, title, source string

	agent bool // the pages hold {agent}, the crawler's product token
	level Level
	// robots is the text of robots.txt; empty is an answer of 404.
	robots string
	root   page
	pages  map[string]web.Behaviour
	others []web.Site

	// first are the pages whose links the case is about. Where one of them, or of
	// control, was not asked for, nothing can be said.
	first, control []string

	// want are the targets that the links lead to. One that is left out does no harm.
	want []string
	// wantOther are those on the first of the other hosts.
	wantOther []string

	// deny are targets that a crawler has no reason to ask for. The reason for it is why.
	deny []string
	why  string

	// exact is set if a request for what is not there, where a link was not followed,
	// shows that the link was misread.
	exact bool
}

// make is the case of the links.
func (t links) make() Case {
	return Case{
		ID: t.id, Group: GroupLinks, Level: t.level, Title: t.title, Source: t.source, Agent: t.agent,
		sites: t.sites,
		judge: t.judge,
	}
}

func (t links) sites(o Options) []web.Site {
	named := func(b web.Behaviour) web.Behaviour {
		p, ok := b.(page)
		if !ok {
			return b
		}
		p.head = strings.ReplaceAll(p.head, "{agent}", o.Agent)
		header := make(map[string]string)
		for name, value := range p.header {
			header[name] = strings.ReplaceAll(value, "{agent}", o.Agent)
		}
		p.header = header
		return p
	}
	if t.root.title == "" {
		t.root.title = t.id + ".test"
	}
	paths := map[string]web.Behaviour{"/": named(t.root)}
	for _, target := range slices.Concat(t.first, t.control, t.want) {
		paths[target] = page{}
	}
	for target, b := range t.pages {
		paths[target] = named(b)
	}
	if t.robots != "" {
		paths[robotsPath] = text{body: t.robots}
	}
	return append([]web.Site{site(t.id+".test", paths)}, t.others...)
}

func (t links) judge(e *Evidence) Verdict {
	log := e.of(e.host)
	for _, target := range t.deny {
		if seen := requested(log, target); len(seen) > 0 {
			return fail(seen, "%s was asked for, %s", target, t.why)
		}
	}
	for _, target := range slices.Concat([]string{"/"}, t.first, t.control) {
		if len(requested(log, target)) == 0 {
			return unreached("%s was not asked for, one of %d pages that the case needs", target, 1+len(t.first)+len(t.control))
		}
	}
	left := missing(log, t.want)
	if len(t.wantOther) > 0 {
		left = append(left, missing(e.of(e.hosts[1]), t.wantOther)...)
	}
	all := len(t.want) + len(t.wantOther)
	switch seen := strays(log); {
	case all == 0:
		return pass("none of %s was for what is to be left alone", counted(len(log), "request"))
	case len(left) == 0 && len(t.deny) == 0:
		return pass("%d of %s followed", all, counted(all, "link"))
	case len(left) == 0:
		return pass("%d of %s followed, and nothing that is to be left alone", all, counted(all, "link"))
	case t.exact && len(seen) > 0:
		return fail(seen, "%s was asked for, where no link leads, and %s was not", seen[0].Target, left[0])
	}
	return cautious("%d of %s not followed: %s", len(left), counted(all, "link"), strings.Join(left, ", "))
}

// missing are the targets that a log has no request for.
func missing(log web.Log, targets []string) []string {
	var left []string
	for _, target := range targets {
		if len(requested(log, target)) == 0 {
			left = append(left, target)
		}
	}
	return left
}

// requested are the requests of a log for a target, however it is written: an order of the
// query or a percent-encoding of one's own is not what links are judged by.
func requested(log web.Log, target string) web.Log {
	want := plainly(target)
	var found web.Log
	for _, r := range log {
		if r.Host != "" && (r.Target == target || plainly(r.Target) == want) {
			found = append(found, r)
		}
	}
	return found
}

// plainly writes a target in one of the ways that mean the same. One that is no URL stays
// as it is.
func plainly(target string) string {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return target
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return u.Path + "?" + u.RawQuery
	}
	if len(query) == 0 {
		return u.Path
	}
	return u.Path + "?" + query.Encode()
}

// strays are the requests for what is not there, but for files that crawlers look for
// at fixed places.
func strays(log web.Log) web.Log {
	var found web.Log
	for _, r := range log {
		probe := strings.HasPrefix(r.Target, "/.well-known/") || strings.HasSuffix(r.Target, ".txt") ||
			strings.HasSuffix(r.Target, ".ico") || strings.Contains(r.Target, "sitemap") || strings.Contains(r.Target, "icon") ||
			strings.Contains(r.Target, "feed") || strings.Contains(r.Target, "rss")
		if r.Host != "" && r.Status == http.StatusNotFound && !probe {
			found = append(found, r)
		}
	}
	return found
}
