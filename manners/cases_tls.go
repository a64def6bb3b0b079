package manners

import (
	"strings"

	"github.com/mosey-web/mosey/manners/web"
)

// RFC 9110 has automated clients refuse a bad certificate with SHOULD, not MUST.
const sourceTLS = "RFC 9110 section 4.3.4"

// tlsCases returns the cases of certificates. A client that refuses one connects without a request.
func tlsCases() []Case {
	return []Case{
		tlsValid(),
		refusedCertificate("tls-expired", "Requests nothing from a host with an expired certificate", web.TLSExpired),
		refusedCertificate("tls-self-signed", "Requests nothing from a host with a self-signed certificate", web.TLSSelfSigned),
		refusedCertificate("tls-wrong-host", "Requests nothing from a host with the certificate of another host", web.TLSWrongHost),
		tlsDowngrade(),
	}
}

// httpsSite is a site of https.
func httpsSite(host string, kind web.Certificate, targets ...string) web.Site {
	s := linked(host, nil, targets...)
	s.TLS = kind
	return s
}

// tlsValid is the control of the others: a crawler that passes it can speak TLS to the suite.
func tlsValid() Case {
	const id = "tls-valid"
	return Case{
		ID: id, Group: GroupSafety, Level: Opinion, Source: sourceTLS, Silent: true,
		Title: "Accepts a certificate of the test authority",
		sites: func(Options) []web.Site { return []web.Site{httpsSite(id+".test", web.TLSValid, "/a")} },
		judge: func(e *Evidence) Verdict {
			switch {
			case len(e.requestsFor("/a")) > 0:
				return pass("%s came over TLS", formatCount(len(e.Log), "request"))
			case len(e.Log) > 0:
				return cautious("%s came over TLS, and a link was not followed", formatCount(len(e.Log), "request"))
			}
			return unreached("%s came without a request: the crawler may not trust the test authority", formatCount(len(e.Silent), "connection"))
		},
	}
}

// refusedCertificate is a site of https whose certificate is bad.
func refusedCertificate(id, title string, kind web.Certificate) Case {
	return Case{
		ID: id, Group: GroupSafety, Level: Should, Source: sourceTLS, Title: title, Silent: true,
		sites: func(Options) []web.Site { return []web.Site{httpsSite(id+".test", kind, "/a")} },
		judge: func(e *Evidence) Verdict {
			if len(e.Log) > 0 {
				return fail(e.Log, "%s came over TLS, the first for %s, but the certificate is invalid",
					formatCount(len(e.Log), "request"), e.Log[0].Target)
			}
			return pass("%s came without a request", formatCount(len(e.Silent), "connection"))
		},
	}
}

// tlsDowngrade redirects from https to http of another host, which a crawler may follow.
func tlsDowngrade() Case {
	const id, other = "tls-downgrade", "tls-downgrade-2.test"
	return Case{
		ID: id, Group: GroupSafety, Level: Must, Source: "RFC 9110 section 10.1.3", Silent: true,
		Title: "Sends no Referer of an https page to an http host",
		sites: func(Options) []web.Site {
			first := httpsSite(id+".test", web.TLSValid, "/leave", "http://"+other+"{port}/linked")
			first.Paths["/leave"] = web.Redirect{Code: 302, To: "http://" + other + "{port}/landed"}
			second := linked(other, nil, "/linked", "/landed")
			return []web.Site{first, second}
		},
		judge: func(e *Evidence) Verdict {
			plain := e.requestsTo(other)
			for _, r := range plain {
				if strings.HasPrefix(strings.ToLower(r.Headers["Referer"]), "https:") {
					return fail([]web.Record{r}, "%s was requested with the Referer %s", r.URL(), r.Headers["Referer"])
				}
			}
			switch {
			case len(e.requestsTo(e.host)) == 0:
				return unreached("%s came without a request: the crawler may not trust the test authority", formatCount(len(e.Silent), "connection"))
			case len(requestsFor(plain, "/linked"))+len(requestsFor(plain, "/landed")) == 0:
				return cautious("neither the link nor the redirect to http was followed")
			}
			return pass("%s to http came without a Referer of https", formatCount(len(plain), "request"))
		},
	}
}
