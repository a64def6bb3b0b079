package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

func TestServeListensToOwners(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{})
	c := r.Start("serve", "--web", "127.0.0.1:0", "--callback", "https://crawler.example/mosey", "--callback-listen", ":0")
	public, at, _ := strings.Cut(c.Field("Owners"), ", from ")
	require.Equal(t, "https://crawler.example/mosey", public)
	require.Regexp(t, `^127\.0\.0\.1:\d+$`, at)
	listener := "http://" + at

	status, body := scrape(t, listener+"/mosey/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, public+"/indexnow")
	for _, path := range []string{"/", "/runs/small-web", "/api/openapi.json", "/mosey/runs/small-web", "/mosey/api/runs/small-web"} {
		status, _ := scrape(t, listener+path)
		require.Equal(t, http.StatusNotFound, status, "%s is nothing for the public", path)
	}
	status, _ = scrape(t, listener+"/mosey/indexnow?key=0123456789abcdef&url="+url.QueryEscape(aPage))
	require.Equal(t, http.StatusAccepted, status)
	require.Contains(t, r.Print("domain", aDomain), "told by IndexNow on ")
	require.Contains(t, r.Print("why", aDomain), "its key file is asked for; 1 URL waiting")
	status, _ = scrape(t, c.Field("Web page")+"indexnow?key=0123456789abcdef&url="+url.QueryEscape(aPage))
	require.NotEqual(t, http.StatusAccepted, status, "the web page is not the listener")
	require.Zero(t, c.Stop().Code)
}

func TestCallbackOfNobody(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithDatabase(t)
	serve := func(args ...string) []string { return append([]string{"serve", "--web", "127.0.0.1:0"}, args...) }
	h.Refuse(serve("--callback", "crawler.example"), `--callback "crawler.example"`, "such as https://crawler.example")
	h.Refuse(serve("--callback", "https://u:p@crawler.example/"), "--callback", "want http or https")
	h.Refuse(serve("--callback-listen", ":8471"), "--callback-listen :8471", "--callback URL")
	h.Refuse(serve("--callback", "https://crawler.example", "--callback-listen", "nowhere"), "--callback-listen", "nowhere", "127.0.0.1:8471")
	h.Refuse(serve("--callback", "https://crawler.example", "--read-only"), "--read-only", "leave one of them out")
}
