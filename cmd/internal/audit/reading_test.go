package audit

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/jimsmart/grobotstxt"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/robots"
)

type corpusCase struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Class     string `json:"class"`
	UserAgent string `json:"ua"`
	URL       string `json:"url"`
	Robots    string `json:"robots"`
	RobotsB64 []byte `json:"robots_b64"`
	Allow     bool   `json:"allow"`
}

func (c corpusCase) body() []byte {
	if c.RobotsB64 != nil {
		return c.RobotsB64
	}
	return []byte(c.Robots)
}

// corpus are the cases of package robots that ask for what is allowed.
func corpus(tb testing.TB) []corpusCase {
	tb.Helper()
	data, err := os.ReadFile("../../../internal/robots/testdata/robots_cases.json")
	require.NoError(tb, err)
	var all, cases []corpusCase
	require.NoError(tb, json.Unmarshal(data, &all))
	for _, c := range all {
		if c.Kind == "allow" && c.Class != "cc-api" {
			cases = append(cases, c)
		}
	}
	require.Greater(tb, len(cases), 700)
	return cases
}

// targetOf returns the host and the request target of a URL, and false if the URL is invalid.
func targetOf(raw string) (host, target string, ok bool) {
	u, err := urls.Parse(raw)
	if err != nil {
		return "", "", false
	}
	return u.Host(), u.RequestTarget(), true
}

// decides reports whether the crawler's own parser allows the target.
func decides(body []byte, token, host, target string) bool {
	return robots.Parse(body).On(host).Rules(token).Decide(target).Allowed
}

// TestReadingAgreesWithTheCrawlers compares two independent parsers on the same files.
func TestReadingAgreesWithTheCrawlers(t *testing.T) {
	t.Parallel()
	judged := 0
	for _, c := range corpus(t) {
		host, target, ok := targetOf(c.URL)
		if !ok {
			continue
		}
		judged++
		why := parseRobots(c.body(), c.UserAgent, host).forbids(target)
		require.Equal(t, decides(c.body(), c.UserAgent, host, target), why == "", "case %s: %s", c.ID, why)
	}
	require.Greater(t, judged, 600)
}

// Neither the crawler nor the audit is laxer than Google's own parser, of which
// grobotstxt is a port, but for an Allow with escapes: RFC 9309 §2.2.2 has it
// percent-normalized.
func TestNotLaxerThanGoogle(t *testing.T) {
	t.Parallel()
	t.Run("OnTheCorpus", func(t *testing.T) {
		t.Parallel()
		laxer, forbidden := []string{}, 0
		for _, c := range corpus(t) {
			host, target, ok := targetOf(c.URL)
			// where the port errs itself, the corpus allows; and robots.txt may be had always
			if !ok || c.Allow || target == "/robots.txt" || grobotstxt.AgentAllowed(string(c.body()), c.UserAgent, "http://a.test"+target) {
				continue
			}
			forbidden++
			if decides(c.body(), c.UserAgent, host, target) || parseRobots(c.body(), c.UserAgent, host).forbids(target) == "" {
				laxer = append(laxer, c.ID)
			}
		}
		require.Equal(t, []string{"067"}, laxer)
		require.Greater(t, forbidden, 200)
	})
	// Every short pattern of what fails, on the paths that it is about.
	t.Run("OnPatterns", func(t *testing.T) {
		t.Parallel()
		paths := []string{"/"}
		for _, path := range []string{"/a", "/2", "/a2", "/é", "/a%2Fb", "/a%2fb", "/%25", "/%252F", "/a%C3%A9", "/a?2", "/a*", "/a$", "/%F2"} {
			_, target, ok := targetOf("http://a.test" + path)
			require.True(t, ok)
			paths = append(paths, target)
		}
		for _, pattern := range words([]string{"/", "a", "%", "2", "F", "*", "$", "é"}, 4) {
			if strings.Contains(pattern, "**") {
				continue // is as long as "*" for us
			}
			body := "User-agent: *\nAllow: /a\nDisallow: " + pattern + "\n"
			crawler, audit := robots.Parse([]byte(body)).Rules("mosey"), parseRobots([]byte(body), "mosey", "a.test")
			for _, path := range paths {
				allowed := crawler.Decide(path).Allowed
				// compared here, as so many calls of require are slow
				if allowed != (audit.forbids(path) == "") {
					require.Fail(t, "the readings differ", "%s on %s", body, path)
				}
				if allowed && !grobotstxt.AgentAllowed(body, "mosey", "http://a.test"+path) {
					require.Fail(t, "laxer than Google", "%s on %s", body, path)
				}
			}
		}
	})
}

// words returns all sequences of one to n of the letters.
func words(letters []string, n int) []string {
	all := []string{""}
	for from := 0; n > 0; n-- {
		to := len(all)
		for _, word := range all[from:to] {
			for _, letter := range letters {
				all = append(all, word+letter)
			}
		}
		from = to
	}
	return all[1:]
}

func FuzzReading(f *testing.F) {
	for i, c := range corpus(f) {
		if i%20 == 0 && len(c.body()) < 1000 {
			f.Add(c.body(), c.URL)
		}
	}
	f.Add([]byte("User-agent: *\nDisallow: /*%\nDisallow: /a%2\nAllow: a\n"), "https://a.test/a%2Fb?é")
	f.Add([]byte("User-agent: *\nDisallow: HTTP://www.A.test:80/b?\nDisallow: https://b.test\n"), "https://a.test/b?c")
	f.Add([]byte("\xa0User-agent;*\x00\nDisallow;:\xa0/a\u00a0\n"), "https://a.test/a")
	f.Fuzz(func(t *testing.T, body []byte, raw string) {
		host, target, ok := targetOf(raw)
		if !ok || len(body) > 4000 {
			t.Skip("no input: not a target, or too long for the slow reading")
		}
		why := parseRobots(body, "mosey", host).forbids(target)
		if allowed := decides(body, "mosey", host, target); allowed != (why == "") {
			require.Fail(t, "the readings differ", "%q on %s: %t, %q", body, target, allowed, why)
		}
		require.NotContains(t, strings.TrimPrefix(why, "disallowed"), "\n")
	})
}
