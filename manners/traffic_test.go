package manners_test

import (
	"testing"

	"github.com/mosey-web/mosey/manners"
)

const zipped = "[Accept-Encoding=gzip,_br]"

// trafficPlots has a client for each case of requests that passes, and one that does not.
func trafficPlots() []plotted {
	const browser = "[User-Agent=Mozilla/5.0_(X11;_Linux_x86_64)_AppleWebKit/537.36_(KHTML,_like_Gecko)_Chrome/140.0_Safari/537.36]"
	return append([]plotted{
		{id: "agent-token", good: "/robots.txt /", bad: "/robots.txt /[User-Agent=other/1.0]", reason: "product token"},
		{
			id: "agent-product", good: "/robots.txt /[User-Agent=Mozilla/5.0_(compatible;_Some-bot/1.0)]", bad: "/robots.txt /" + browser,
			reason: "no product that is the crawler's own",
		},
		{id: "agent-contact", good: "/ /p1[User-Agent=x/1;;From=a@b.example]", bad: "/[User-Agent=examplebot/1.0]", reason: "neither"},
		{id: "agent-same", good: "/robots.txt /", bad: "/robots.txt /" + browser, reason: "another"},
		{id: "traffic-host", good: "/", bad: "/[Host=traffic-host.test]", reason: "does not have the port"},
		{id: "traffic-gzip", good: "/" + zipped, bad: "/[Accept-Encoding=gzip;q=0]", reason: "Accept-Encoding"},
		{
			id: "traffic-gzip-read", good: plot("/ /packed" + zipped + " /plain /below-plain /below-packed"),
			bad: plot("/ /packed" + zipped + " /plain /below-plain"), reason: "was not followed",
		},
		{id: "traffic-conditional", good: `/a /a[If-None-Match="one"]`, bad: "/a /a", reason: "without If-None-Match"},
	}, secretPlots()...)
}

func secretPlots() []plotted {
	return []plotted{{
		id: "traffic-cookies", good: "/ /a[Cookie=manners=secret] traffic-cookies-2.test/beyond",
		bad: "/ traffic-cookies-2.test/beyond[Cookie=manners=secret]", reason: "a cookie of another host",
	}, {
		id: "traffic-credentials", good: "/ /in[Authorization=Basic_c29tZW9uZTpzZWNyZXQ] traffic-credentials-2.test/beyond",
		bad: "/ /in traffic-credentials-2.test/beyond[Authorization=Basic_c29tZW9uZTpzZWNyZXQ]", reason: "the Authorization of another host",
	}, {
		id: "traffic-referer", good: "/ /in /below[Referer=http://traffic-referer.test/in]",
		bad: "/ /in /below[Referer=http://someone:secret@traffic-referer.test/in]", reason: "someone:secret@",
	}, {
		id: "traffic-referer-tls", good: "traffic-referer-tls-2.test/beyond[Referer=http://traffic-referer-tls-2.test/a]",
		bad: "traffic-referer-tls-2.test/beyond[Referer=https://traffic-referer-tls.test/]", reason: "a Referer of https",
	}, {
		id: "traffic-refused", good: "/ /401 /401 /403 /451", bad: "/ /403 /403 /403 /403", reason: "4 times",
	}, {
		id: "traffic-gone", good: "/ /410", bad: "/ /410 /410", reason: "2 times",
	}, {
		id: "traffic-once", good: "/ /p1 kill /p1 /p2", bad: "/ /p1 /p2 /p1", reason: "/p1 was requested 2 times",
	}, {
		id: "traffic-normal", good: "/ /dots /~name /caf%C3%A9 /upper", bad: "/ /dots /~name /%7Ename /caf%C3%A9 /upper",
		reason: "/~name or /%7Ename",
	}, {
		id: "traffic-head", good: "HEAD:/ / /p1 /p2", bad: "HEAD:/ / HEAD:/p1 /p1 /p2", reason: "2 of 3",
	}}
}

func TestTraffic(t *testing.T) {
	t.Parallel()
	playPlots(t, trafficPlots())
}

func TestTrafficComplete(t *testing.T) {
	t.Parallel()
	plotsComplete(t, manners.GroupTraffic, trafficPlots())
}
