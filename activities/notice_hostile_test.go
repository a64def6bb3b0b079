package activities_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

func TestHostilePings(t *testing.T) {
	t.Parallel()

	t.Run("OfWhatIsNotCrawled", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, nil)
		for _, u := range []string{
			"https://unknown.example/", "http://127.0.0.1/", "http://10.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest/meta-data",
			"http://localhost/", "https://bücher.example/", "http://xn--bcher-kva.example/",
		} {
			status, body := l.send(t, http.MethodGet, "/indexnow?key="+pingKey+"&url="+url.QueryEscape(u), nil)
			require.Equal(t, http.StatusAccepted, status, u)
			require.Empty(t, body, "it looks like what is crawled")
		}
		require.Zero(t, l.count(t, "SELECT count(*) FROM notice_keys"), "and costs nothing")
		require.Equal(t, 1, l.count(t, "SELECT count(*) FROM domains"))
		require.Zero(t, l.apply(t))
	})

	t.Run("TooLarge", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		urls := make([]string, crawl.NoticeURLsMax+1)
		for i := range urls {
			urls[i] = l.page(fmt.Sprintf("/n/%d", i))
		}
		doc := map[string]any{"host": l.host(), "key": pingKey, "urlList": urls}
		status, _ := l.post(t, "/indexnow", doc)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
		status, _ = l.send(t, http.MethodPost, "/indexnow", io.LimitReader(zeros{}, 100<<20)) // chunked
		require.Equal(t, http.StatusRequestEntityTooLarge, status)

		doc["urlList"] = urls[1:]
		began := time.Now()
		status, _ = l.post(t, "/indexnow", doc)
		require.Equal(t, http.StatusAccepted, status)
		t.Logf("10,000 URLs are taken in %s", time.Since(began))
		require.Equal(t, crawl.NoticeURLsMax, l.count(t, "SELECT count(*) FROM notices"))
		status, _ = l.post(t, "/indexnow", doc)
		require.Equal(t, http.StatusTooManyRequests, status, "an hour's worth with one key")
		l.round(t)
		require.Equal(t, crawl.NoticeURLsMax, l.apply(t))
		require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
		require.Equal(t, crawl.NoticeURLsMax, l.count(t, "SELECT count(*) FROM page_crawls WHERE priority = 1 AND depth = 1 AND outcome IS NULL"))
	})

	t.Run("OfOtherHosts", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		doc := map[string]any{"host": l.host(), "key": pingKey, "urlList": []string{l.page("/a"), "https://evil.example/"}}
		status, _ := l.post(t, "/indexnow", doc)
		require.Equal(t, http.StatusUnprocessableEntity, status, "all or nothing")
		require.Zero(t, l.count(t, "SELECT count(*) FROM notices"))
		doc["urls"] = doc["urlList"]
		delete(doc, "urlList")
		status, body := l.post(t, "/api/recrawl", doc)
		require.Equal(t, http.StatusAccepted, status)
		require.JSONEq(t, fmt.Sprintf(`{"host": %q, "key_file": %q, "proof": "waiting", "taken": 1,
			"refused": [{"url": "https://evil.example/", "why": "it is not on the host %s"}]}`, l.host(), l.page(pingFile), l.host()), body)
	})

	t.Run("AThousandTimes", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, map[string]web.Behaviour{pingFile: text(pingKey)})
		for range 1000 {
			require.Equal(t, http.StatusAccepted, l.ping(t, "/a"))
		}
		require.Equal(t, 1, l.count(t, "SELECT count(*) FROM notices"))
		l.round(t)
		require.Equal(t, []string{pingFile}, l.asked())
		require.Equal(t, 1, l.apply(t))
	})

	t.Run("WithManyKeys", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{MaxAttempts: new(1)}, nil)
		for i := range 50 {
			require.Equal(t, http.StatusAccepted, l.ping(t, "/a", "key", fmt.Sprintf("stranger-%d", i)))
			if i%10 == 0 {
				l.round(t)
				l.apply(t)
			}
		}
		require.Equal(t, []string{"/stranger-0.txt"}, l.asked(), "one key file in ten minutes")
		require.LessOrEqual(t, l.count(t, "SELECT count(*) FROM notice_keys"), crawl.NoticeKeysOfDomain+1)
		l.exec(t, "UPDATE notice_keys SET asked_at = asked_at - interval '11 minutes'")
		l.apply(t)
		l.round(t)
		require.Len(t, l.asked(), 2, "and then the next, without another ping")
	})

	t.Run("TooOften", func(t *testing.T) {
		t.Parallel()
		l := listening(t, settings.Settings{}, nil)
		var last *http.Response
		for range 80 {
			resp, err := l.server.Client().Get(l.server.URL + "/indexnow?key=" + pingKey + "&url=" + url.QueryEscape(l.page("/a")))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			last = resp
		}
		require.Equal(t, http.StatusTooManyRequests, last.StatusCode)
		require.NotEmpty(t, last.Header.Get("Retry-After"))
	})
}

// zeros is a body without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
