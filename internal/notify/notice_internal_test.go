package notify

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
)

const testKey = "0123456789abcdef"

func TestNotice(t *testing.T) {
	t.Parallel()
	one := func(host, location string, urls ...string) told {
		return told{host: host, key: testKey, keyLocation: location, urls: urls, by: "indexnow"}
	}
	for name, c := range map[string]struct {
		told    told
		keyURL  string
		urls    []string
		refused int
	}{
		"TheKeyFileIsAtTheRoot": {
			one("example.org", "", "https://example.org/a", "https://EXAMPLE.org:443/a", "https://example.org/b#c"),
			"https://example.org/" + testKey + ".txt",
			[]string{"https://example.org/a", "https://example.org/b"},
			0,
		},
		"OfHTTPAloneItIsThere": {
			one("example.org:8080", "", "http://example.org:8080/"), "http://example.org:8080/" + testKey + ".txt",
			[]string{"http://example.org:8080/"},
			0,
		},
		"AnotherHostIsRefused": {
			one("example.org", "", "https://example.org/", "https://www.example.org/", "https://evil.example/", "https://example.org.evil.example/"),
			"https://example.org/" + testKey + ".txt",
			[]string{"https://example.org/"},
			3,
		},
		"AnotherPortIsAnotherHost": {
			one("example.org", "", "https://example.org:8443/"), "https://example.org/" + testKey + ".txt", nil, 1,
		},
		"AFolderVouchesForWhatIsBelow": {
			one("example.org", "https://example.org/shop/k.txt", "https://example.org/shop/a", "https://example.org/shop", "https://example.org/other",
				"https://example.org/shop/../other", "https://example.org/shop/%2e%2e/other"),
			"https://example.org/shop/k.txt",
			[]string{"https://example.org/shop/a"},
			4,
		},
		"AnIDNHostInEitherForm": {
			one("BÜCHER.example", "", "https://bücher.example/é", "https://xn--bcher-kva.example/"),
			"https://xn--bcher-kva.example/" + testKey + ".txt",
			[]string{"https://xn--bcher-kva.example/%C3%A9", "https://xn--bcher-kva.example/"},
			0,
		},
		"WhatIsNoURL": {
			one("example.org", "", "https://example.org/", "javascript:alert(1)", "ftp://example.org/", "/a", ""),
			"https://example.org/" + testKey + ".txt",
			[]string{"https://example.org/"},
			4,
		},
		"AnAddress": {
			one("[::1]:8080", "", "http://[::1]:8080/"), "http://[::1]:8080/" + testKey + ".txt", []string{"http://[::1]:8080/"}, 0,
		},
		"AnAddressOnTheUsualPort": {
			one("[::1]", "", "http://[::1]/"), "http://[::1]/" + testKey + ".txt", []string{"http://[::1]/"}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, refused, wrong := c.told.notice()
			require.Nil(t, wrong)
			require.Equal(t, c.keyURL, n.KeyURL)
			require.Equal(t, c.urls, n.URLs)
			require.Len(t, refused, c.refused, "%v", refused)
		})
	}
}

func TestNoticeOfNobody(t *testing.T) {
	t.Parallel()
	urls := []string{"https://example.org/"}
	for name, c := range map[string]struct {
		told   told
		status int
	}{
		"NoHost":                {told{key: testKey, urls: urls}, http.StatusBadRequest},
		"NoKey":                 {told{host: "example.org", urls: urls}, http.StatusBadRequest},
		"NoURL":                 {told{host: "example.org", key: testKey}, http.StatusBadRequest},
		"TooManyURLs":           {told{host: "example.org", key: testKey, urls: make([]string, crawl.NoticeURLsMax+1)}, http.StatusUnprocessableEntity},
		"AShortKey":             {told{host: "example.org", key: "1234567", urls: urls}, http.StatusUnprocessableEntity},
		"ALongKey":              {told{host: "example.org", key: strings.Repeat("a", 129), urls: urls}, http.StatusUnprocessableEntity},
		"AKeyWithAPath":         {told{host: "example.org", key: "../../../etc", urls: urls}, http.StatusUnprocessableEntity},
		"AHostWithAPath":        {told{host: "example.org/a", key: testKey, urls: urls}, http.StatusUnprocessableEntity},
		"AHostWithAUser":        {told{host: "a@b@example.org", key: testKey, urls: urls}, http.StatusUnprocessableEntity},
		"AHostThatIsNone":       {told{host: "exa mple", key: testKey, urls: urls}, http.StatusUnprocessableEntity},
		"AKeyFileElsewhere":     {told{host: "example.org", key: testKey, urls: urls, keyLocation: "https://evil.example/k.txt"}, http.StatusUnprocessableEntity},
		"AKeyFileOfAQuery":      {told{host: "example.org", key: testKey, urls: urls, keyLocation: "https://example.org/e?x=" + testKey}, http.StatusUnprocessableEntity},
		"AKeyFileThatIsNoURL":   {told{host: "example.org", key: testKey, urls: urls, keyLocation: "k.txt"}, http.StatusUnprocessableEntity},
		"AKeyFileOnAnotherPort": {told{host: "example.org", key: testKey, urls: urls, keyLocation: "https://example.org:22/k.txt"}, http.StatusUnprocessableEntity},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, wrong := c.told.notice()
			require.NotNil(t, wrong)
			require.Equal(t, c.status, wrong.status, wrong.why)
		})
	}
}

func TestAListIsNotReadPastItsBound(t *testing.T) {
	t.Parallel()
	var b body
	require.NoError(t, json.Unmarshal(fmt.Appendf(nil, `{"urlList": [%s"b"]}`, strings.Repeat(`"a",`, 100_000)), &b))
	require.Len(t, b.URLList, crawl.NoticeURLsMax+1)
	require.Error(t, json.Unmarshal([]byte(`{"urlList": {"a": 1}}`), &b))
	require.Error(t, json.Unmarshal([]byte(`{"urlList": [1]}`), &b))
}

func TestAddressOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remote, want string
		forwarded    []string
	}{
		"APeer":                        {"192.0.2.1:99", "192.0.2.1", nil},
		"APeerThatClaimsToBeAnother":   {"192.0.2.1:99", "192.0.2.1", []string{"198.51.100.1"}},
		"AProxyOfThisMachine":          {"127.0.0.1:99", "198.51.100.2", []string{"198.51.100.1, 198.51.100.2"}},
		"TheLastHeaderIsTheProxys":     {"[::1]:99", "198.51.100.2", []string{"198.51.100.1", "198.51.100.2"}},
		"AProxyThatSaysNothing":        {"127.0.0.1:99", "127.0.0.1", nil},
		"AProxyThatSaysWhatIsNoOthers": {"127.0.0.1:99", "127.0.0.1", []string{"unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr, ok := addressOf(&http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}})
			require.True(t, ok)
			require.Equal(t, c.want, addr.String())
		})
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"https://crawler.example/":      "https://crawler.example",
		"https://crawler.example/mosey": "https://crawler.example/mosey",
		"http://127.0.0.1:8471":         "http://127.0.0.1:8471",
	} {
		got, err := Address(raw)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, raw := range []string{"crawler.example", "ftp://a/", "https://u:p@a/", "https://a/?b", "https://a/#b", "https://", "https://a/{b}"} {
		_, err := Address(raw)
		require.Error(t, err, raw)
	}
}
