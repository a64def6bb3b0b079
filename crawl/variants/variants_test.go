package variants_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/crawl/variants"
)

func mustURL(t testing.TB, target string) urls.URL {
	t.Helper()
	u, err := urls.Parse("https://example.org" + target)
	require.NoError(t, err)
	return u
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for _, target := range []string{
		"/pub/?C=N;O=D", "/pub/?C=M&O=A", "/?C=S;O=A", "/pub/?N=D", "/pub/?M=A",
		"/index.php?title=Main_Page&action=edit", "/w/index.php?title=Main_Page&action=history", "/w/index.php?title=New&action=edit&redlink=1",
		"/wiki/Main_Page?action=info", "/w/index.php?title=Main_Page&oldid=17", "/w/index.php?oldid=17", "/w/index.php?title=A&diff=2&oldid=1",
		"/w/index.php?title=A&printable=yes", "/wiki/Special:WhatLinksHere/A", "/w/index.php?title=Special%3AUserLogin&returnto=A",
		"/wiki/Special:RecentChangesLinked/A", "/wiki/A?mobileaction=toggle_view_mobile", "/wiki/A?veaction=edit",
		"/2024/05/a-post/?replytocom=4711", "/2024/05/a-post/?share=twitter", "/a-post/?share=facebook&nb=1", "/wp-login.php?redirect_to=x",
		"/wp-admin/edit.php", "/shop/?add-to-cart=17", "/shop/page/2/?add-to-cart=17",
		"/forum/posting.php?mode=reply&t=17", "/ucp.php?mode=login", "/search.php?search_id=unanswered", "/memberlist.php?mode=email&u=2",
		"/viewtopic.php?t=17&view=print", "/viewtopic.php?f=2&t=17&view=next",
		"/newreply.php?do=newreply&p=17", "/printthread.php?t=17", "/login.php?do=login", "/showthread.php?t=1&goto=nextnewest",
		"/index.php?action=printpage;topic=17.0", "/index.php?action=post;topic=17.0;last_msg=3", "/index.php?action=login",
		"/index.php?topic=17.0;prev_next=next", "/smf/index.php?action=reporttm;topic=1.0;msg=2",
		"/doku.php?id=start&do=edit", "/doku.php?id=start&do=revisions", "/doku.php?id=start&rev=1700000000", "/start?do=edit", "/wiki/start?do=export_pdf",
		"/events/?ical=1", "/event/party/?outlook-ical=1", "/cal?format=ics", "/event/party.ics",
	} {
		require.NotEmpty(t, variants.Describe(mustURL(t, target)), target)
	}
	for _, target := range []string{
		"/", "/pub/", "/pub/?C=N", "/list?C=N;O=D", "/pub/?C=Nord&O=D", "/?q=A", "/?p=D",
		"/index.php?title=Main_Page", "/w/index.php?title=Main_Page&action=view", "/wiki/Main_Page", "/wiki/Special:AllPages", "/index.php?action=edit",
		"/w/index.php?title=Special:Categories", "/wiki/Talk:A", "/wiki/A?section=2", "/article?oldid=17", "/tour?diff=easy",
		"/2024/05/a-post/", "/?share=4711", "/a?share=my-report&x=y", "/blog/wp-login.php-explained", "/?replytocom=me", "/shop/?add-to-cart=",
		"/viewtopic.php?t=17", "/viewtopic.php?p=17", "/viewforum.php?f=2", "/search.php?q=word", "/memberlist.php?mode=viewprofile&u=2", "/posting.php",
		"/showthread.php?t=17", "/login.php", "/member.php?u=3", "/index.php?topic=17.0", "/index.php?board=2.0", "/index.php?action=post&id=17",
		"/index.php?action=profile;u=3", "/doku.php?id=start", "/doku.php?id=start&do=show", "/index.php?id=5&do=profile", "/todo?do=wash",
		"/events/2026/", "/?format=html", "/topics/", "/calendar?view=month",
	} {
		require.Empty(t, variants.Describe(mustURL(t, target)), target)
	}
}

func TestExtension(t *testing.T) {
	t.Parallel()
	require.Equal(t, "an image by its extension (.jpg)", variants.Extension(mustURL(t, "/a/photo.JPG?size=large")))
	for _, target := range []string{
		"/a.tar.gz", "/a.pdf", "/a.mp3", "/a.webm", "/a.deb", "/a.woff2", "/a.docx", "/a.7z", "/download/a.zip", "/a.b.c.png", "/a.epub",
	} {
		require.NotEmpty(t, variants.Extension(mustURL(t, target)), target)
	}
	for _, target := range []string{
		"/", "/a", "/a.html", "/a.php", "/a.txt", "/a.pdf/", "/a.pdf/view", "/.png", "/wiki/File:Map.png", "/wiki/Datei%3AMap.png", "/example.com",
		"/?file=a.zip", "/get.php?file=a.zip", "/index.php?title=File:Map.jpg", "/v1.2", "/a.xml", "/a.json", "/what.is.this", "/a.markdown",
	} {
		require.Empty(t, variants.Extension(mustURL(t, target)), target)
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for pattern, c := range map[string]struct{ yes, no []string }{
		"/wiki/":                     {[]string{"/wiki/", "/wiki/A?b"}, []string{"/", "/a/wiki/", "/wiki"}},
		"/*?replytocom=":             {[]string{"/a/b?replytocom=1"}, []string{"/a?b&replytocom=1", "/?reply"}},
		"/*.php$":                    {[]string{"/a.php", "/a.php.php"}, []string{"/a.php?b", "/a.phps"}},
		"/$":                         {[]string{"/"}, []string{"/a", "/?a"}},
		"https://example.org/a":      {[]string{"/a", "/ab"}, []string{"/", "/b/a"}},
		"https://*/private/":         {[]string{"/private/", "/a/private/b"}, []string{"/private"}},
		"*://example.org/*/x":        {[]string{"/a/x", "/a/b/x1"}, []string{"/x"}},
		"https://other.example.org/": {nil, []string{"/"}},
		"*":                          {[]string{"/", "/a"}, nil},
	} {
		for _, target := range c.yes {
			got, found := variants.Match(mustURL(t, target), []string{"/none-of-it", pattern})
			require.True(t, found, "%s %s", pattern, target)
			require.Equal(t, pattern, got)
		}
		for _, target := range c.no {
			_, found := variants.Match(mustURL(t, target), []string{pattern})
			require.False(t, found, "%s %s", pattern, target)
		}
	}
	start := time.Now()
	variants.Match(mustURL(t, "/"+strings.Repeat("a", 2000)), []string{"/" + strings.Repeat("*a", 200) + "b$"})
	require.Less(t, time.Since(start), time.Minute)
}

func FuzzVariants(f *testing.F) {
	f.Add("/pub/?C=N;O=D", "/*?C=$")
	f.Add("/%3b.%ff?=&;=", "*")
	f.Fuzz(func(t *testing.T, target, pattern string) {
		u, err := urls.Parse("https://example.org" + target)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(variants.Describe(u)), 200)
		require.LessOrEqual(t, len(variants.Extension(u)), 200)
		_, found := variants.Match(u, []string{pattern, "*"})
		require.True(t, found)
	})
}
