// Package web is a synthetic web that judges the crawler: many host names on
// many loopback addresses, a DNS server of its own, deterministic linked
// pages, robots.txt files of every kind and hosts that misbehave.
//
// A [Plan] knows everything about such a web by construction: which URLs
// exist, what each link leads to, which of them robots.txt allows, and so what
// a crawl has to fetch. [Start] serves a plan and logs every connection and
// request with monotonic times. [Judge] compares the log with the plan; it
// needs nothing from the crawler, and shares no code with it.
//
//	w, err := web.Start(ctx, web.Options{Sites: web.Uniform(20, web.Site{})})
//	// crawl w.Seeds(), resolving at w.DNSAddr()
//	report := web.Judge(w.Log(), web.Expectations{Plan: w.Plan, Delay: time.Second})
//	fmt.Print(report)
//
// [Uniform] makes healthy sites, [Zoo] one of every robots.txt and common
// misbehaviour, and [Hostile] one of everything that is out to harm a crawler:
// answers without end, bombs, traps, redirects and names that lead inside,
// certificates not to be trusted, hosts that ask to be left alone.
//
// # Addresses
//
// All sites listen on one common port of addresses within [Plan.Network],
// 127.64.0.0/10. A crawler under test is given that network, and not all of
// 127.0.0.0/8: pages also redirect to 127.0.0.1, and names resolve to
// [Plan.Forbidden], where nothing of theirs is to be fetched and every
// connection is logged and judged. Linux routes the whole block to the loopback
// interface; on systems that do not, [Start] fails with the address it could
// not listen on. A site of https listens on the same port, but on an address of
// its own; a crawler under test is given [Web.RootCA].
//
// # Time
//
// A request lasts from the accept of its connection (or its first byte, when
// it is not the connection's first request) to the instant the last bytes of
// the answer are handed to the kernel, or the connection is seen to be closed
// when there is no complete answer. Over TLS, that is what is on the wire, but
// for the alert that ends it. The stamps are taken late at the start and
// early at the end, so a busy machine can hide a violation of a few
// microseconds but cannot invent one. Only the closing of a connection by the
// client is seen late; the judge's tolerance is for that.
package web
