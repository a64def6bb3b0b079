// Package web is a synthetic web that judges the crawler: many host names on many loopback
// addresses, its own DNS server, deterministic linked pages, robots.txt files of every kind and
// hosts that misbehave.
//
// A [Plan] knows by construction which URLs exist, where each link leads and which URLs robots.txt
// allows. So it knows which URLs a crawl has to fetch. [Start] serves a plan and logs every
// connection and request with monotonic times. [Judge] compares the log with the plan. It needs
// nothing from the crawler, and shares no code with it.
//
//	w, err := web.Start(ctx, web.Options{Sites: web.Uniform(20, web.Site{})})
//	// crawl w.Seeds(), resolving at w.DNSAddr()
//	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: time.Second})
//	fmt.Print(report)
//
// [Uniform] makes healthy sites. [Zoo] makes a site of every kind of robots.txt and of common
// misbehaviour. [Hostile] makes a site of every attack on a crawler. The attacks include endless
// responses, bombs, traps, redirects and names that lead to internal addresses, untrusted
// certificates and hosts that throttle.
//
// # Addresses
//
// All sites listen on one common port of addresses within [Plan.Network], 127.64.0.0/10. A crawler
// under test is allowed this network, but not all of 127.0.0.0/8. Some pages redirect to 127.0.0.1,
// and some names resolve to [Plan.Forbidden]. A crawler must not connect there; every connection is
// logged and judged. Linux routes the whole block to the loopback interface. On other systems,
// [Start] fails and names the address. A site of https uses the same port, but its own address. A
// crawler under test must trust [Web.RootCA].
//
// # Time
//
// A request begins when its connection is accepted, or with its first byte if it is not the
// connection's first request. It ends when the kernel has taken the last bytes of the response. An
// incomplete response ends when the connection is seen to be closed. Over TLS these are the bytes
// on the wire, except the final alert. The stamps are late at the start and early at the end, so a
// busy machine can hide a violation of a few microseconds but cannot invent one. Only a close by
// the client is seen late; the judge's tolerance covers this delay.
package web
