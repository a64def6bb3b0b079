// Package web is a synthetic web that judges the crawler: many host names on
// many loopback addresses, a DNS server of its own, deterministic linked
// pages, robots.txt files of every kind and hosts that misbehave.
//
// A [Plan] knows by construction which URLs exist, where each link leads, what
// robots.txt allows, and so what a crawl has to fetch. [Start] serves a plan
// and logs every connection and request with monotonic times. [Judge] compares
// the log with the plan; it needs nothing from the crawler, and shares no code
// with it.
//
//	w, err := web.Start(ctx, web.Options{Sites: web.Uniform(20, web.Site{})})
//	// crawl w.Seeds(), resolving at w.DNSAddr()
//	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: time.Second})
//	fmt.Print(report)
//
// [Uniform] makes healthy sites. [Zoo] makes a site of every kind of robots.txt
// and of common misbehaviour. [Hostile] makes a site of every attack on a
// crawler: endless answers, bombs, traps, redirects and names that lead inside,
// untrusted certificates, hosts that ask to be left alone.
//
// # Addresses
//
// All sites listen on one common port of addresses within [Plan.Network],
// 127.64.0.0/10. A crawler under test is allowed that network, but not all of
// 127.0.0.0/8. Some pages redirect to 127.0.0.1, and some names resolve to
// [Plan.Forbidden]. A crawler must not connect there, and every connection is
// logged and judged. Linux routes the whole block to the loopback interface; on
// systems that do not, [Start] fails with the address it could not listen on. A
// site of https listens on the same port, but on an address of its own; a
// crawler under test is given [Web.RootCA].
//
// # Time
//
// A request begins when its connection is accepted, or with its first byte if
// it is not the connection's first request. It ends when the last bytes of the
// answer are handed to the kernel, or without a complete answer when the
// connection is seen to be closed. Over TLS these are the bytes on the wire,
// except the final alert. The stamps are taken late at the start and early at
// the end, so a busy machine can hide a violation of a few microseconds but
// cannot invent one. Only the closing of a connection by the client is seen
// late; the judge's tolerance is for that.
package web
