package manners

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// links is a case of links to follow, and of others to leave alone.
type links struct {
	id, title, source string

	agent bool // the pages hold {agent}, the crawler's product token
	level Level
	// robots is the text of robots.txt; empty responds with 404.
	robots string
	root   page
	pages  map[string]web.Behaviour
	others []web.Site

	// first are the pages whose links the case judges. If one of them, or of control, was not
	// requested, the case cannot be judged.
	first, control []string

	// want are the targets to request. Leaving one out does no harm.
	want []string
	// wantOther are the targets on the first of the other hosts.
	wantOther []string

	// deny are targets that a crawler has no reason to request, for the reason why.
	deny       []string
	denyReason string

	// exact is set if a request for a missing page, in place of a link, shows that the link was
	// misread.
	exact bool
}

// make builds the case.
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
	log := e.requestsTo(e.host)
	for _, target := range t.deny {
		if seen := requested(log, target); len(seen) > 0 {
			return fail(seen, "%s was requested, %s", target, t.denyReason)
		}
	}
	for _, target := range slices.Concat([]string{"/"}, t.first, t.control) {
		if len(requested(log, target)) == 0 {
			return unreached("%s was not requested, one of %d pages that the case needs", target, 1+len(t.first)+len(t.control))
		}
	}
	missed := unrequested(log, t.want)
	if len(t.wantOther) > 0 {
		missed = append(missed, unrequested(e.requestsTo(e.hosts[1]), t.wantOther)...)
	}
	all := len(t.want) + len(t.wantOther)
	switch seen := missingPageRequests(log); {
	case all == 0:
		return pass("none of %s was for a forbidden page", formatCount(len(log), "request"))
	case len(missed) == 0 && len(t.deny) == 0:
		return pass("%d of %s followed", all, formatCount(all, "link"))
	case len(missed) == 0:
		return pass("%d of %s followed, and no forbidden page requested", all, formatCount(all, "link"))
	case t.exact && len(seen) > 0:
		return fail(seen, "%s was requested, to which no link leads, and %s was not", seen[0].Target, missed[0])
	}
	return cautious("%d of %s not followed: %s", len(missed), formatCount(all, "link"), strings.Join(missed, ", "))
}

// unrequested returns the targets without a request in a log.
func unrequested(log web.Log, targets []string) []string {
	var missed []string
	for _, target := range targets {
		if len(requested(log, target)) == 0 {
			missed = append(missed, target)
		}
	}
	return missed
}

// requested returns the requests of a log for a target in any spelling: links are not judged by the
// order of the query or by percent-encoding.
func requested(log web.Log, target string) web.Log {
	normalized := normalizeTarget(target)
	var found web.Log
	for _, r := range log {
		if r.Host != "" && (r.Target == target || normalizeTarget(r.Target) == normalized) {
			found = append(found, r)
		}
	}
	return found
}

// normalizeTarget normalizes the spelling of a target. It returns an invalid URL unchanged.
func normalizeTarget(target string) string {
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

// missingPageRequests returns the requests for missing pages, except for files at well-known paths.
func missingPageRequests(log web.Log) web.Log {
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
