package robots_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

// corpusCase is a case of Google's, crawler-commons' or RFC 9309's own tests: see
// testdata/README.md.
type corpusCase struct {
	ID        string   `json:"id"`
	Kind      string   `json:"kind"` // allow, delay or sitemaps
	Class     string   `json:"class"`
	UserAgent string   `json:"ua"`
	URL       string   `json:"url"`
	Robots    string   `json:"robots"`
	RobotsB64 []byte   `json:"robots_b64"`
	Allow     bool     `json:"allow"`
	DelayMS   *int64   `json:"delay_ms"`
	Sitemaps  []string `json:"sitemaps"`
}

func (c corpusCase) body() []byte {
	if c.RobotsB64 != nil {
		return c.RobotsB64
	}
	return []byte(c.Robots)
}

// corpusChoices are the cases on which we differ, with the reason. Ten are about permission. Four
// are about a delay, where the sources disagree with each other. A listed case that agrees is an
// error as well.
var corpusChoices = map[string]string{
	"064": "both sides are percent-normalized",
	"066": "both sides are percent-normalized",
	"067": "both sides are percent-normalized",
	"079": "index.html is not the directory",
	"225": "/robots.txt is always allowed",
	"231": "/robots.txt is always allowed",
	"235": "/robots.txt is always allowed",
	"376": "/robots.txt is always allowed",
	"707": "rules with HTML tags in them: the file is malformed",
	"719": "delay: a whole User-Agent header is no product token",
	"748": "delay: a version is no part of a product token",
	"779": "/* is longer than /",
	"941": "delay: an absurd one is capped, not ignored",
	"942": "delay: an absurd one is capped, not ignored",
}

func TestCorpus(t *testing.T) {
	t.Parallel()
	missed := map[string]bool{}
	passed := map[string]int{}
	for _, c := range loadCorpus(t) {
		if c.Class == "cc-api" {
			continue // about crawler-commons' interface, not about robots.txt
		}
		if msg := checkCorpusCase(c); msg == "" {
			passed[c.Class+" "+c.Kind]++
		} else {
			missed[c.ID] = true
			t.Logf("%s (%s): %s", c.ID, c.Class, msg)
		}
	}
	t.Log(passed)
	want := map[string]bool{}
	for id := range corpusChoices {
		want[id] = true
	}
	require.Equal(t, want, missed, "missed cases")
}

// Of all these files only HTML, and what is riddled with NULs, is malformed.
func TestCorpusMalformed(t *testing.T) {
	t.Parallel()
	for _, c := range loadCorpus(t) {
		got, why := robots.Parse(c.body()).Malformed()
		want := ""
		switch {
		case strings.HasPrefix(c.Robots, "<"):
			want = "an HTML or XML document"
		case c.ID == "926":
			want = "binary data"
		}
		require.Equal(t, want, why, "case %s", c.ID)
		require.Equal(t, want != "", got, "case %s", c.ID)
	}
}

func checkCorpusCase(c corpusCase) string {
	file := robots.Parse(c.body())
	rules := file.Rules(c.UserAgent)
	switch c.Kind {
	case "allow":
		if got := rules.Decide(pathOf(c.URL)); got.Allowed != c.Allow {
			return "decided " + got.Rule
		}
	case "delay":
		delay, ok := rules.CrawlDelay()
		if ok != (c.DelayMS != nil) {
			return "delay " + delay.String()
		}
		if ok && delay != time.Duration(*c.DelayMS)*time.Millisecond {
			return "delay " + delay.String()
		}
	case "sitemaps":
		if strings.Join(file.Sitemaps(), " ") != strings.Join(c.Sitemaps, " ") {
			return "sitemaps " + strings.Join(file.Sitemaps(), " ")
		}
	default:
		return "unknown kind " + c.Kind
	}
	return ""
}

// pathOf returns the path and query of a URL as they are written.
func pathOf(url string) string {
	if _, rest, found := strings.Cut(url, "://"); found {
		url = rest
		if at := strings.IndexAny(url, "/?#"); at >= 0 {
			url = url[at:]
		} else {
			url = ""
		}
	}
	url, _, _ = strings.Cut(url, "#")
	return url
}

func loadCorpus(t *testing.T) []corpusCase {
	t.Helper()
	data, err := os.ReadFile("testdata/robots_cases.json")
	require.NoError(t, err)
	var cases []corpusCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.Len(t, cases, 950)
	return cases
}
