package manners_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners"
	"github.com/mosey-web/mosey/manners/web"
)

func aRun() manners.Run {
	return manners.Run{
		Head: manners.Head{
			Format: 1, Options: manners.Options{Agent: "examplebot", Delay: time.Second, Port: 8080, Proxied: true},
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Crawler: "example 1.0", Version: "9.9",
		},
		Events: []manners.Event{{Kind: manners.Started}, {At: time.Second, Kind: manners.Killed}},
		Log: web.Log{
			{Host: "robots-404.test:8080", Method: "GET", Target: "/robots.txt", Start: time.Millisecond, End: time.Second, Status: 404},
			{Host: "robots-404.test:8080", Method: "GET", Target: "/", Start: 2 * time.Second, End: 3 * time.Second, InFlight: true},
		},
	}
}

func written(t *testing.T, r manners.Run) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, r.Write(&b))
	return b.String()
}

func TestRunRoundTrip(t *testing.T) {
	t.Parallel()
	text := written(t, aRun())
	require.True(t, strings.HasPrefix(text, `{"manners":1,"options":{"agent":"examplebot",`), text)
	got, err := manners.ReadRun(strings.NewReader(text))
	require.NoError(t, err)
	require.Equal(t, aRun(), got)

	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	require.Len(t, lines, 5)
	mixed := strings.Join([]string{lines[0], lines[4], lines[2], "", lines[3], lines[1]}, "\n") // no line end
	got, err = manners.ReadRun(strings.NewReader(mixed))
	require.NoError(t, err)
	require.False(t, got.Truncated)
	require.Len(t, got.Events, 2)
	require.Len(t, got.Log, 2)

	judged, err := got.Judge()
	require.NoError(t, err)
	require.Len(t, judged, len(manners.Cases()))
}

// A file that was cut anywhere after its head reads as far as it goes, and says so.
func TestRunCut(t *testing.T) {
	t.Parallel()
	text := written(t, aRun())
	head := strings.Index(text, "\n") + 1
	for end := head; end < len(text); end++ {
		got, err := manners.ReadRun(strings.NewReader(text[:end]))
		require.NoError(t, err, text[:end])
		whole := text[end-1] == '\n' || text[end] == '\n'
		require.Equal(t, !whole, got.Truncated, text[:end])
	}
	_, err := manners.ReadRun(strings.NewReader(text[:head-2]))
	require.ErrorContains(t, err, "line 1")
}

func TestRunRefuses(t *testing.T) {
	t.Parallel()
	const head = `{"manners":1,"options":{"delay":0,"port":1},"started":"2026-01-02T03:04:05Z"}` + "\n"
	for text, want := range map[string]string{
		"":                                  "not a log of manners",
		"\n":                                "not a log of manners",
		`{"host":"a.test"}` + "\n":          "line 1: not a log of manners",
		`{"manners":2}` + "\n":              "line 1: manners 2: this program reads version 1",
		head + "{\n{}\n":                    "line 2: unexpected end of JSON",
		head + `{"event":"burnt"}`:          `line 2: event "burnt": want one of [killed started ended stopped]`,
		head + `{"start":-1}`:               "line 2: instant -1",
		head + `{"start":9e18}`:             "line 2: ",
		head + `{"start":2,"end":1}`:        "line 2: end 1",
		head + `{"status":1000}`:            "line 2: status 1000",
		head + `{"event":"killed","at":-1}`: "line 2: instant -1",
		head + "{}\n" + `{"host":"` + strings.Repeat("x", 1<<20): "line 3: the line is longer than 1048576 bytes",
	} {
		_, err := manners.ReadRun(strings.NewReader(text))
		require.ErrorContains(t, err, want, text[:min(len(text), 200)])
	}
	run := aRun()
	run.Options.Only = []string{"no-such-case"}
	_, err := run.Judge()
	require.ErrorContains(t, err, `options: unknown case "no-such-case"`)
}
