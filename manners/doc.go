// Package manners is a suite that judges crawlers: any crawler that accepts seeds, and a resolver
// or a proxy.
//
// A [Case] is one rule that a crawler keeps or breaks. A [Suite] is a web with one host or more for
// each case. [Suite.Start] serves it on loopback and logs every request. [Suite.Judge] reads only
// this log. It gives a [Verdict] with a reason for each case. Each case names its source: the
// section of a standard, or an opinion where standards are silent.
//
//	suite, err := manners.New(manners.Options{Agent: "examplebot", Delay: time.Second})
//	web, err := suite.Start(ctx)
//	// crawl web.Seeds(), resolving at web.DNSAddr()
//	report := suite.Judge(web.Log(), nil)
//
// A case that the crawler never reached is not passed. Neither is a case that the run cannot show:
// one that needs a restart in a run without it, or addresses that a proxy hid.
//
// The package shares no code with Mosey's crawler, so that no mistake of the crawler can hide in
// the judge.
package manners
