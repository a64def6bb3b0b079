// Package manners is a suite that judges crawlers: any that can be given seeds, and
// a resolver or a proxy.
//
// A [Case] is one thing that a crawler does well or not. A [Suite] is a web with one host
// or more for each case. [Suite.Start] serves it on loopback and logs every request.
// [Suite.Judge] reads nothing but that log. It gives a [Verdict] for each case, with a
// reason. Each case names the section of the standard that it rests on. Where standards
// are silent, a case says that it is an opinion.
//
//	suite, err := manners.New(manners.Options{Agent: "examplebot", Delay: time.Second})
//	web, err := suite.Start(ctx)
//	// crawl web.Seeds(), resolving at web.DNSAddr()
//	report := suite.Judge(web.Log(), nil)
//
// A case that the crawler never came to is not passed. So is one that a run cannot
// show: what needs a restart, where there was none, or addresses, where a proxy hid
// them.
//
// The package shares no code with Mosey's crawler, so that no mistake of the one can
// hide in the other.
package manners
