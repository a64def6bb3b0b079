package manners

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// trafficCases returns the cases of the form of requests, and of needless ones.
func trafficCases() []Case {
	var cases []Case
	for _, table := range [][]timingCase{agents(), encodings(), secrets(), repeats()} {
		for _, t := range table {
			cases = append(cases, t.make(GroupTraffic))
		}
	}
	return cases
}

var (
	comment = regexp.MustCompile(`\([^()]*\)`)
	// compatible matches the name that a crawler adds within a browser's User-Agent.
	compatible = regexp.MustCompile(`(?i)compatible;\s*([\w-]+)`)
	// browsers matches the products of browsers, and their compatibility claims.
	browsers = regexp.MustCompile(
		`(?i)^(Mozilla|AppleWebKit|(Headless)?Chrome|Chromium|Safari|Mobile|Gecko|Firefox|Version|Edge?|OPR|Opera)(/|$)`)
	// product matches a product and its version, RFC 9110 section 10.1.5.
	product = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+(/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$")
	contact = regexp.MustCompile(`(?i)https?://|www\.|[^\s@]+@[^\s@]+`)
)

// productOf returns the first product in a User-Agent that is no browser's.
func productOf(agent string) string {
	if m := compatible.FindStringSubmatch(agent); m != nil && !strings.EqualFold(m[1], "MSIE") {
		return m[1]
	}
	for word := range strings.FieldsSeq(comment.ReplaceAllString(agent, " ")) {
		if product.MatchString(word) && !browsers.MatchString(word) {
			return word
		}
	}
	return ""
}

func agents() []timingCase {
	each := func(id, title, source string, level Level, problem string, ok func(e *Evidence, r web.Record) bool) timingCase {
		return timingCase{
			id: id, title: title, source: source, level: level, sites: oneHost("User-agent: *\nAllow: /\n", 2),
			judge: func(e *Evidence) Verdict {
				for _, r := range e.Log {
					if !ok(e, r) {
						return fail([]web.Record{r}, "%s was requested, and %s: %q", r.Target, problem, r.UserAgent)
					}
				}
				return pass("%s by %q", formatCount(len(e.Log), "request"), e.Log[0].UserAgent)
			},
		}
	}
	token := each("agent-token", "Has its robots.txt token in User-Agent", "RFC 9309 section 2.2.1", Should,
		"the User-Agent does not have the product token",
		func(e *Evidence, r web.Record) bool {
			return strings.Contains(strings.ToLower(r.UserAgent), strings.ToLower(e.Agent))
		})
	token.agent = true
	return []timingCase{
		token,
		each("agent-product", "Names its product, not only a browser, in User-Agent", "RFC 9110 section 10.1.5", Should,
			"the User-Agent names no product that is the crawler's own",
			func(_ *Evidence, r web.Record) bool { return productOf(r.UserAgent) != "" }),
		each("agent-contact", "Gives a contact in User-Agent or From", sourceOwners, Opinion,
			"neither User-Agent nor From has a contact address",
			func(_ *Evidence, r web.Record) bool {
				return r.Headers["From"] != "" || contact.MatchString(r.UserAgent)
			}),
		each("agent-same", "Uses one User-Agent for robots.txt and pages", sourceOwners, Opinion,
			"the previous request had another User-Agent",
			func(e *Evidence, r web.Record) bool { return r.UserAgent == e.Log[0].UserAgent }),
		each("traffic-host", "Sends a nondefault port in Host", "RFC 9110 section 7.2", Must,
			"the Host header does not have the port of the URL",
			func(e *Evidence, r web.Record) bool {
				_, port, found := strings.Cut(r.Host, ":")
				return e.Port == 80 || e.Port == 0 || found && port == strconv.Itoa(e.Port)
			}),
	}
}

func encodings() []timingCase {
	return []timingCase{{
		id: "traffic-gzip", source: sourceOwners, title: "Accepts compressed pages",
		sites: oneHost("", 2),
		judge: func(e *Evidence) Verdict {
			log := pages(e.requestsTo(e.host))
			if len(log) == 0 {
				return unreached("no page was requested")
			}
			for _, r := range log {
				if !offers(r, "gzip", "br", "zstd", "deflate") {
					return fail([]web.Record{r}, "%s was requested with Accept-Encoding %q", r.Target, r.Headers["Accept-Encoding"])
				}
			}
			return pass("%s with Accept-Encoding %q", formatCount(len(log), "request"), log[0].Headers["Accept-Encoding"])
		},
	}, {
		id: "traffic-gzip-read", source: "RFC 9110 section 12.5.3", level: Should, title: "Reads the compressed pages that it accepts",
		sites: func(host string, _ Options) []web.Site {
			s := linked(host, nil, "/packed", "/plain", "/below-packed", "/below-plain")
			s.Paths["/"] = page{title: host, links: []string{"/packed", "/plain"}}
			s.Paths["/plain"] = page{links: []string{"/below-plain"}}
			s.Paths["/packed"] = serveFunc(func(v *web.Visit) {
				v.W = typed{v.W}
				gzipped{body: "<!doctype html><title>Packed</title><a href=\"/below-packed\">below</a>\n"}.Serve(v)
			})
			return []web.Site{s}
		},
		judge: func(e *Evidence) Verdict {
			packed, control := e.requestsFor("/packed"), e.requestsFor("/below-plain")
			switch {
			case len(packed) == 0 || len(control) == 0:
				return unreached("/packed or /below-plain was not requested")
			case !offers(packed[0], "gzip"):
				return unjudged("gzip was not offered")
			case len(e.requestsFor("/below-packed")) == 0:
				return fail(packed, "the link of /packed, which gzip compressed, was not followed, and that of /plain was")
			}
			return pass("the link of a compressed page was followed")
		},
	}, {
		id: "traffic-conditional", source: "RFC 9110 section 13.1", title: "Makes conditional requests for known pages",
		sites: func(host string, _ Options) []web.Site {
			s := linked(host, nil, "/a", "/b")
			tag := map[string]string{"ETag": `"one"`, "Last-Modified": "Mon, 02 Nov 2026 10:00:00 GMT", "Cache-Control": "max-age=1"}
			for target, b := range s.Paths {
				p, _ := b.(page)
				p.header = tag
				s.Paths[target] = serveFunc(func(v *web.Visit) {
					h := v.R.Header
					if h.Get("If-None-Match") != "" || h.Get("If-Modified-Since") != "" {
						v.W.Header().Set("ETag", tag["ETag"])
						v.W.WriteHeader(http.StatusNotModified)
						return
					}
					p.Serve(v)
				})
			}
			return []web.Site{s}
		},
		judge: conditional,
	}}
}

// offers reports whether a request accepts one of the codings, RFC 9110 section 12.5.3.
func offers(r web.Record, codings ...string) bool {
	for part := range strings.SplitSeq(strings.ToLower(r.Headers["Accept-Encoding"]), ",") {
		name, weight, _ := strings.Cut(part, ";")
		refused := regexp.MustCompile(`^\s*q=0(\.0*)?\s*$`).MatchString(weight)
		if slices.Contains(codings, strings.TrimSpace(name)) && !refused {
			return true
		}
	}
	return false
}

// typed declares text as HTML.
type typed struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w typed) WriteHeader(status int) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w typed) Write(p []byte) (int, error) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	return w.ResponseWriter.Write(p)
}

func conditional(e *Evidence) Verdict {
	seen, repeated := make(map[string]bool), 0
	for _, r := range pages(e.requestsTo(e.host)) {
		if seen[r.Target] && r.Method == http.MethodGet {
			repeated++
			if r.Headers["If-None-Match"] == "" && r.Headers["If-Modified-Since"] == "" {
				return fail([]web.Record{r}, "%s was requested again, without If-None-Match or If-Modified-Since", r.Target)
			}
		}
		if r.Answered() && r.Method == http.MethodGet {
			seen[r.Target] = true
		}
	}
	if repeated == 0 {
		return unjudged("no page was requested twice")
	}
	return pass("%s for a known page, all conditional", formatCount(repeated, "request"))
}
