package manners

import (
	"net/http"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// sourcePrivate is the source of the cases of private addresses. No standard of crawlers covers
// them.
const sourcePrivate = "OWASP, server-side request forgery prevention"

// privateCases returns the cases of private addresses, which the public web must not use. A crawler
// judged on loopback is allowed the network of the suite, and no other of 127.0.0.0/8. All cases
// need the address of each request, which a proxy would hide.
func privateCases() []Case {
	link := func(id, title string, hosts ...string) Case {
		return privateCase(id, title, "/", func(at urlBuilder) map[string]web.Behaviour {
			var targets []string
			for _, host := range hosts {
				targets = append(targets, at(host))
			}
			return map[string]web.Behaviour{"/": page{links: append(targets, "/open")}}
		})
	}
	return []Case{
		link("private-link", "Follows no link to 127.0.0.1", "127.0.0.1"),
		link("private-name", "Follows no link to localhost", "localhost", "LOCALHOST.", "private.localhost"),
		link("private-forms", "Recognizes 127.0.0.1 in every notation",
			"2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0x7f000001", "[::ffff:127.0.0.1]", "0.0.0.0"),
		privateCase("private-redirect", "Follows no redirect to 127.0.0.1", "/go", func(at urlBuilder) map[string]web.Behaviour {
			return map[string]web.Behaviour{
				"/":   page{links: []string{"/go", "/open"}},
				"/go": web.Redirect{Code: http.StatusFound, To: at("127.0.0.1")},
			}
		}),
		privateCase("private-robots", "Reads no robots.txt from 127.0.0.1 for another host", robotsPath,
			func(at urlBuilder) map[string]web.Behaviour {
				return map[string]web.Behaviour{
					"/":        page{links: []string{"/open"}},
					robotsPath: web.Redirect{Code: http.StatusFound, To: at("127.0.0.1") + "robots.txt"},
				}
			}),
		privateCase("private-sitemap", "Reads no sitemap at 127.0.0.1", robotsPath, func(at urlBuilder) map[string]web.Behaviour {
			return map[string]web.Behaviour{
				"/":        page{links: []string{"/open"}},
				robotsPath: text{body: "User-agent: *\nAllow: /\nSitemap: " + at("127.0.0.1") + "map.xml\n"},
			}
		}),
		privateCase("private-image", "Requests no image, script or style from 127.0.0.1", "/", func(at urlBuilder) map[string]web.Behaviour {
			return map[string]web.Behaviour{"/": page{
				head: "<link rel=\"stylesheet\" href=\"" + at("127.0.0.1") + "a.css\">\n<script src=\"" + at("127.0.0.1") + "a.js\"></script>\n",
				body: "<img alt=\"\" src=\"" + at("127.0.0.1") + "a.png\">", links: []string{"/open"},
			}}
		}),
		resolvedCase("private-dns", "Requests nothing from a host with a private address", web.DNSForbidden),
		resolvedCase("private-dns-mixed", "Skips the private address among the addresses of a name", web.DNSMixed),
		resolvedCase("private-dns-rebind", "Checks the address of every connection", web.DNSRebind),
	}
}

// urlBuilder builds a URL of a host.
type urlBuilder func(host string) string

// privateCase is a case whose pages lead to a private address. Each case has its own path, which
// identifies it in the log. The function at builds such a URL for a host. The page at the target
// needs leads there.
func privateCase(id, title, needs string, paths func(at urlBuilder) map[string]web.Behaviour) Case {
	prefix := "/" + id + "/"
	return Case{
		ID: id, Group: GroupSafety, Level: Opinion, Source: sourcePrivate, Title: title, Direct: true,
		sites: func(Options) []web.Site {
			s := site(id+".test", paths(func(host string) string { return "http://" + host + "{port}" + prefix }))
			s.Paths["/open"] = page{}
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			var seen web.Log
			for _, r := range e.All {
				if strings.HasPrefix(r.Target, prefix) && hostName(r.Host) != e.host {
					seen = append(seen, r)
				}
			}
			switch {
			case len(seen) > 0:
				return fail(seen, "%s went to %s, which is not an address of the web: the first for %s",
					formatCount(len(seen), "request"), seen[0].LocalAddr.Addr(), seen[0].URL())
			case len(e.requestsFor(needs)) == 0:
				return unreached("%s, which leads to the private address, was not requested", needs)
			}
			return pass("none of %s of the run went to the target of %s", formatCount(len(e.All), "request"), needs)
		},
	}
}

// resolvedCase is a case of two hosts. The first resolves normally and links to the second, whose
// name resolves to a private address.
func resolvedCase(id, title string, mode web.DNSMode) Case {
	other := id + "-2.test"
	targets := []string{"/a", "/b", "/c"}
	return Case{
		ID: id, Group: GroupSafety, Level: Opinion, Source: sourcePrivate, Title: title, Direct: true,
		sites: func(Options) []web.Site {
			first := linked(id+".test", nil, "http://"+other+"{port}/a", "/open")
			second := linked(other, nil, targets...)
			second.DNS = mode
			for _, target := range append(targets, "/") {
				// Each request then needs its own connection, and a lookup of the name.
				p, _ := second.Paths[target].(page)
				p.header = map[string]string{"Connection": "close"}
				second.Paths[target] = p
			}
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			var seen web.Log
			for _, r := range e.requestsTo(other) {
				if !e.network.Contains(r.LocalAddr.Addr()) {
					seen = append(seen, r)
				}
			}
			switch all := len(e.requestsTo(other)); {
			case len(seen) > 0:
				return fail(seen, "%d of %s to %s went to %s, which is not an address of the web",
					len(seen), formatCount(all, "request"), other, seen[0].LocalAddr.Addr())
			case all > 0:
				return pass("all %s to %s went to its public address", formatCount(all, "request"), other)
			case len(e.requestsFor("/")) == 0:
				return unreached("the page that links to %s was not requested", other)
			}
			return pass("the page that links to %s was read, and the host got no request", other)
		},
	}
}
