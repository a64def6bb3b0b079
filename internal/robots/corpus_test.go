package robots_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/robots"
)

// corpusEnv names the file with the cases of Google's, crawler-commons' and
// RFC 9309's own tests, which is too large and too varied in its licences to
// live here.
const corpusEnv = "MOSEY_ROBOTS_CORPUS"

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

// corpusChoices are the cases on which we differ, and why. A case that is here
// and agrees is an error as well.
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
	path := os.Getenv(corpusEnv)
	if path == "" {
		path = filepath.Join(moduleRoot(t), "..", "shared", "corpora", "robots_cases.json")
		if _, err := os.Stat(path); os.IsNotExist(err) {
			t.Skipf("no corpus of robots.txt cases: set %s to run it", corpusEnv)
		}
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var cases []corpusCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	return cases
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		require.NotEqual(t, filepath.Dir(dir), dir, "no go.mod above the package")
		dir = filepath.Dir(dir)
	}
}
