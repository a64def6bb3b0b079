package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
)

// feedLine is the part of a line of the feed that tests compare.
type feedLine struct {
	Cursor  string
	Event   string
	Attempt struct{ URL, Run string }
	Page    struct{ URL, Status string }
	Links   []struct {
		URL string `json:"to_url"`
	}
}

func feedLines(t *testing.T, text string) (lines []feedLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l feedLine
		require.NoError(t, json.Unmarshal([]byte(line), &l), line)
		lines = append(lines, l)
	}
	return lines
}

func eventsOf(lines []feedLine) (all []string) {
	for _, l := range lines {
		all = append(all, l.Event+" "+strings.TrimPrefix(l.Attempt.URL, aOrigin))
	}
	return all
}

//nolint:paralleltest,tparallel // each part goes on where the last one ended
func TestFeed(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{}, aOrigin+"/1", aOrigin+"/2", aOrigin+"/3", aOrigin+"/4", aOrigin+"/5", aOrigin+"/6", aOrigin+"/7")
	end := func(page, result string) {
		r.exec("UPDATE page_crawls SET completed_at = now(), " + result + " WHERE outcome IS NULL AND url = '" + aOrigin + "/" + page + "'")
	}
	require.Empty(t, r.Print("feed"))
	end("1", "outcome = 'success', status_code = 200")
	end("2", "outcome = 'success', status_code = 302")
	end("3", "outcome = 'blocked_4xx', status_code = 404")
	end("4", "outcome = 'blocked_4xx', status_code = 403, skipped = 'wall: Anubis'")
	end("5", "outcome = 'blocked_robots'")
	end("6", "outcome = 'success', status_code = 200, skipped = 'media type'")
	end("7", "outcome = 'skipped', skipped = 'fresh'")
	r.exec("INSERT INTO page_links (from_page_id, to_page_id) SELECT f.id, o.id FROM pages f, pages o WHERE f.url LIKE '%/1' AND o.url LIKE '%/2'")
	first := feedLines(t, r.Print("feed"))
	require.Equal(t, []string{"read /1", "redirected /2", "gone /3", "failed /4", "forbidden /5", "no content /6"}, eventsOf(first))
	require.Equal(t, "small-web", first[0].Attempt.Run)
	require.Equal(t, aOrigin+"/1", first[0].Page.URL)
	require.Equal(t, aOrigin+"/2", first[0].Links[0].URL)
	require.Equal(t, first[4:], feedLines(t, r.Print("feed", "--after", first[3].Cursor, "--run", "small-web")))
	last := first[len(first)-1].Cursor
	require.Empty(t, r.Print("feed", "--after", last))

	again := func(page, result string) {
		r.exec(`INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, is_revisit)
			SELECT page_id, domain, run_id, max(id), url, true FROM page_crawls WHERE url = '` + aOrigin + "/" + page + `' GROUP BY 1, 2, 3, 5`)
		end(page, result)
	}
	again("1", "outcome = 'success', status_code = 304, unchanged_reason = 'not modified'")
	again("1", "outcome = 'success', status_code = 200")
	news := feedLines(t, r.Print("feed", "--after", last))
	require.Equal(t, []string{"unchanged /1", "changed /1"}, eventsOf(news))
	require.Equal(t, news, feedLines(t, r.Print("feed", "--since", "1h"))[len(first):])

	for _, c := range []struct{ args, message string }{
		{"--after|x", `cursor "x": want the cursor of a line of the feed`},
		{"--after|" + last + "1", "perhaps because a backup was restored"},
		{"--after|" + last + "|--since|1d", "--since 1d: the cursor of --after already says where to start"},
		{"--run|nobody", `run "nobody" does not exist`},
	} {
		r.Refuse(append([]string{"feed"}, strings.Split(c.args, "|")...), c.message)
	}

	t.Run("Follow", func(t *testing.T) {
		c := r.Start("feed", "--follow", "--after", last)
		c.Await("changed")
		again("2", "outcome = 'failed'")
		c.Await("failed")
		require.Zero(t, c.Stop().Code)
		require.Equal(t, []string{"unchanged /1", "changed /1", "failed /2"}, eventsOf(feedLines(t, c.stdout.String())))
	})

	t.Run("OverHTTP", func(t *testing.T) {
		s := serveRows(t, r.commandHarness)
		status, body := s.get("/api/feed?after=" + first[3].Cursor + "&run=small-web")
		require.Equal(t, http.StatusOK, status, body)
		lines := feedLines(t, body)
		require.Equal(t, []string{"forbidden /5", "no content /6", "unchanged /1", "changed /1", "failed /2"}, eventsOf(lines))
		last := lines[len(lines)-1].Cursor
		status, body = s.get("/api/feed?after=" + last)
		require.Equal(t, http.StatusOK, status)
		require.Empty(t, body, "without a wait")
		for _, query := range []string{"after=x", "wait=2m", "wait=-1s", "wait=x"} {
			status, body = s.get("/api/feed?" + query)
			require.Equal(t, http.StatusBadRequest, status, body)
		}

		polled := make(chan io.ReadCloser, 1)
		go func() { polled <- s.feed(last, "application/jsonl", "/api/feed?wait=1m&after="+last) }()
		streamed := s.feed(last, "text/event-stream", "/api/feed") // as a browser that connects again
		again("3", "outcome = 'timeout'")
		require.Equal(t, []string{"failed /3"}, eventsOf(feedLines(t, event(t, streamed))))
		polledBody, err := io.ReadAll(<-polled)
		require.NoError(t, err)
		require.Equal(t, []string{"failed /3"}, eventsOf(feedLines(t, string(polledBody))))
	})
}

// feed requests the feed, again while the database, which other tests share, is slow.
func (s shownPages) feed(last, accept, path string) io.ReadCloser {
	for s.t.Context().Err() == nil {
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.url+path, http.NoBody)
		if err != nil {
			break
		}
		req.Header.Set("Accept", accept)
		req.Header.Set("Last-Event-ID", last)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			break
		}
		s.t.Cleanup(func() { _ = resp.Body.Close() })
		if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), accept) {
			return resp.Body
		}
	}
	return http.NoBody
}

// event reads the data of the next event of a stream.
func event(t *testing.T, body io.Reader) string {
	t.Helper()
	for scan := bufio.NewScanner(body); scan.Scan(); {
		if data, is := strings.CutPrefix(scan.Text(), "data: "); is {
			return data
		}
	}
	require.Fail(t, "the stream has ended")
	return ""
}

// The program of --exec runs for each page that its publisher allows, and its answers are exported
// and fed.
func TestExec(t *testing.T) {
	t.Parallel()
	h, _ := newHarnessWithStack(t)
	s := site{web.StartT(t, web.Options{CrossLinks: -1, Sites: []web.Site{{
		Pages: 4, Plain: true, Paths: map[string]web.Behaviour{
			"/p/4": web.Content{Type: "text/html", Body: `<meta name="robots" content="noai"><p>Forbidden words`},
		},
	}}})}
	const program = `while read -r line; do
		case $line in *'/p/2","run":'*) exit 1;; *'"text":'*) echo '{"has":"text"}';; *) echo '{"has":"nothing"}';; esac; done`
	r := h.Execute(s.crawl(s.Seeds()[0], "--purpose", "ai-train", "--exec", program)...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "the program of --exec failed, and is started again")
	extras := map[string]string{}
	for line := range strings.Lines(h.Execute("export", "pages", "--out", "-", "--format", "jsonl").Stdout) {
		var page struct{ Kind, URL, Extra string }
		require.NoError(t, json.Unmarshal([]byte(line), &page))
		if page.Kind == "page" {
			extras[strings.TrimPrefix(page.URL, strings.TrimSuffix(s.Seeds()[0], "/"))] = page.Extra
		}
	}
	const answer = `{"has": "text"}`
	require.Equal(t, map[string]string{"/": answer, "/p/1": answer, "/p/2": "", "/p/3": answer, "/p/4": ""}, extras)
	require.Equal(t, 3, strings.Count(h.Print("feed"), `"extra":"{\"has\": \"text\"}"`))
}
