package manners_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
)

const hostile = "<script>alert(1)</script>\"'</title></svg>\x1b[31m\u202e\x00\xff"

// hostileRun has a failed case of each kind of level, and strings of a crawler that is hostile.
func hostileRun(t *testing.T) *manners.Report {
	t.Helper()
	at := func(host, target string, start, end, status int) web.Record {
		return web.Record{
			Host: host + ".test:8080", Method: "GET", Target: target, Start: time.Duration(start) * time.Millisecond, End: time.Duration(end) * time.Millisecond,
			Status: status, UserAgent: hostile, Conn: int64(start),
		}
	}
	run := aRun()
	run.Crawler = hostile
	run.Truncated = true
	run.Options.Only = []string{"robots-404", "robots-403", "robots-429", "robots-500", "robots-deny-all", "robots-first"}
	run.Events = append(run.Events, manners.Event{At: 2 * time.Second, Kind: manners.Started})
	run.Log = web.Log{
		at("robots-404", "/robots.txt", 0, 10, 404),
		at("robots-404", "/a", 1200, 1300, 200),
		at("robots-deny-all", "/robots.txt", 20, 30, 200),
		at("robots-deny-all", "/a", 1000, 1500, 200),
		at("robots-429", "/robots.txt", 40, 50, 429),
		at("robots-429", "/a", 1000, 1500, 200),
		at("robots-first", "/"+hostile, 50, 60, 200),
	}
	for i := range 1200 {
		run.Log = append(run.Log, at("robots-403", fmt.Sprintf("/%d", i), 2000+i*10, 2000+i*10+15, 200))
	}
	report, err := run.Report()
	require.NoError(t, err)
	return report
}

func findingOf(t *testing.T, r *manners.Report, id string) manners.Finding {
	t.Helper()
	for _, f := range r.Cases {
		if f.ID == id {
			return f
		}
	}
	require.FailNow(t, "no such case", id)
	return manners.Finding{}
}

func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	report := hostileRun(t)
	require.Equal(t, manners.Pass, findingOf(t, report, "robots-404").Result)
	require.True(t, findingOf(t, report, "robots-deny-all").Fails())
	opinion := findingOf(t, report, "robots-429")
	require.Equal(t, manners.Fail, opinion.Result)
	require.False(t, opinion.Fails())
	require.Equal(t, 3, report.Failed) // robots-first and robots-403 had no robots.txt read
	require.Contains(t, report.Summary(), "4 fail")
	require.Contains(t, report.Summary(), "(1 of these a matter of opinion)")

	var b bytes.Buffer
	require.NoError(t, report.WriteJSON(&b))
	var got map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	for _, field := range []string{
		"agent", "cases", "crawler", "cut", "delay_seconds", "failed", "proxied", "requests", "results", "started", "user_agents", "version",
	} {
		require.Contains(t, got, field)
	}
	require.Len(t, got, 12)
	first, isObject := got["cases"].([]any)[0].(map[string]any)
	require.True(t, isObject)
	for _, field := range []string{"group", "hosts", "id", "level", "reason", "requests", "result", "source", "title"} {
		require.Contains(t, first, field)
	}
	results, isObject := got["results"].(map[string]any)
	require.True(t, isObject)
	sum := 0.0
	for _, n := range results {
		sum += n.(float64)
	}
	require.InDelta(t, len(report.Cases), sum, 0)
	requireClean(t, findingOf(t, report, "robots-first").Reason)
	requireClean(t, report.Crawler)
	requireClean(t, report.UserAgents[0])
}

// requireClean finds no character that a terminal or a page would obey.
func requireClean(t *testing.T, text string) {
	t.Helper()
	require.Contains(t, text, "<script>", "what was sent is shown")
	for _, r := range text {
		require.True(t, unicode.IsPrint(r) || r == '\ufffd', "%q", text)
	}
}

func TestReportCuts(t *testing.T) {
	t.Parallel()
	for n := range 8 {
		run := aRun()
		run.Crawler = strings.Repeat("x", n) + strings.Repeat("日本", 100)
		report, err := run.Report()
		require.NoError(t, err)
		require.LessOrEqual(t, len(report.Crawler), 203)
		require.Greater(t, len(report.Crawler), 195)
		require.NotContains(t, report.Crawler, "\ufffd")
		require.True(t, strings.HasSuffix(report.Crawler, "…"))
	}
}

func TestReportAsJUnit(t *testing.T) {
	t.Parallel()
	type why struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
	}
	type suite struct {
		Name      string `xml:"name,attr"`
		Tests     int    `xml:"tests,attr"`
		Failures  int    `xml:"failures,attr"`
		Errors    int    `xml:"errors,attr"`
		Skipped   int    `xml:"skipped,attr"`
		Timestamp string `xml:"timestamp,attr"`
		Cases     []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *why   `xml:"failure"`
			Skipped *why   `xml:"skipped"`
		} `xml:"testcase"`
	}
	var got struct {
		XMLName  xml.Name `xml:"testsuites"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Skipped  int      `xml:"skipped,attr"`
		Suites   []suite  `xml:"testsuite"`
	}
	var b bytes.Buffer
	report := hostileRun(t)
	require.NoError(t, report.WriteJUnit(&b))
	require.NoError(t, xml.Unmarshal(b.Bytes(), &got))
	require.Equal(t, 6, got.Tests)
	require.Equal(t, report.Failed, got.Failures)
	for _, s := range got.Suites {
		require.Len(t, s.Cases, s.Tests)
		_, err := time.Parse(time.RFC3339, s.Timestamp)
		require.NoError(t, err)
		failed, skipped := 0, 0
		for _, c := range s.Cases {
			f := findingOf(t, report, c.Name)
			require.Equal(t, "manners."+string(f.Group), c.Class)
			if c.Failure != nil {
				failed++
				require.Equal(t, string(f.Level), c.Failure.Type)
				require.Equal(t, f.Reason, c.Failure.Message)
			}
			if c.Skipped != nil {
				skipped++
				require.NotEqual(t, manners.Pass, f.Result)
			}
			if c.Name == "robots-429" {
				require.Contains(t, c.Skipped.Message, "failed, a matter of opinion: ")
			}
		}
		require.Equal(t, s.Failures, failed)
		require.Equal(t, s.Skipped, skipped)
	}
}

// The page is well-formed, holds what was sent as text alone, and draws each host.
func TestReportAsHTML(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, hostileRun(t).WriteHTML(&b))
	doc, err := html.Parse(&b)
	require.NoError(t, err)
	count := make(map[string]int)
	ids := make(map[string]bool)
	var links, titles, captions, classes []string
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			count[n.Data]++
			for _, a := range n.Attr {
				switch a.Key {
				case "id":
					require.False(t, ids[a.Val], a.Val)
					ids[a.Val] = true
				case "href", "src":
					links = append(links, a.Val)
				case "class":
					classes = append(classes, n.Data+"."+a.Val)
				}
				require.False(t, strings.HasPrefix(a.Key, "on"), a.Key)
			}
			switch n.Data {
			case "title":
				titles = append(titles, n.FirstChild.Data)
			case "figcaption":
				captions = append(captions, n.FirstChild.Data)
			}
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(doc)
	require.Zero(t, count["script"])
	require.Zero(t, count["link"])
	require.Zero(t, count["img"])
	require.Equal(t, 1, count["h1"])
	require.Equal(t, 6, count["article"])
	require.Equal(t, 5, count["figure"], "a time axis for each host that was asked")
	for _, link := range links {
		require.True(t, ids[strings.TrimPrefix(link, "#")], "%q leads nowhere", link)
	}
	all := strings.Join(titles, "\n")
	require.Contains(t, all, "GET /a 200, at 1.2s for 100ms, 1.19s after the one before")
	require.Contains(t, all, "5ms before the end of the one before")
	require.Contains(t, all, "GET /<script>alert(1)</script>")
	require.Contains(t, all, "the crawler was killed at 1s")
	require.Contains(t, all, "the crawler was started at 2s")
	require.Contains(t, strings.Join(captions, "\n"), "robots-403.test. The chart shows 400 of 1200 requests.")
	require.Contains(t, classes, "rect.seen")
	require.Contains(t, classes, "rect.s4")
	require.Less(t, count["rect"], 450)
}

// Whatever times a log has, it can be drawn.
func TestReportOfAnySpan(t *testing.T) {
	t.Parallel()
	for _, span := range []time.Duration{0, time.Millisecond, time.Second, time.Minute, 7 * time.Hour, 9 * 365 * 24 * time.Hour} {
		run := aRun()
		run.Events = nil
		run.Log = web.Log{{Host: "robots-404.test", Target: "/robots.txt", End: span}}
		report, err := run.Report()
		require.NoError(t, err)
		var b strings.Builder
		require.NoError(t, report.WriteHTML(&b))
		require.NotContains(t, b.String(), "NaN")
		ticks := strings.Count(b.String(), "text-anchor=")
		require.GreaterOrEqual(t, ticks, 2, span)
		require.LessOrEqual(t, ticks, 6, span)
	}
}
