package main

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mosey-web/mosey/manners"
)

// Variables of a process that crawls instead of testing.
const (
	// howVariable says how it crawls: politely or rudely.
	howVariable = "MANNERS_TEST_HOW"
	// onceVariable names a file. While the file is missing, a crawl makes it and waits for its end.
	onceVariable = "MANNERS_TEST_ONCE"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(howVariable); how != "" {
		if err := crawl(how); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// crawl crawls the seeds of the suite.
func crawl(how string) error {
	seeds, err := os.ReadFile(os.Getenv("MANNERS_SEEDS"))
	if err != nil {
		return err
	}
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, os.Getenv("MANNERS_DNS"))
	}}
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: (&net.Dialer{Resolver: resolver}).DialContext, DisableKeepAlives: true, Proxy: http.ProxyFromEnvironment,
	}}
	paths := []string{"robots.txt", "", "a"}
	if how == "rude" {
		paths = []string{"private/"}
	}
	for seed := range strings.FieldsSeq(string(seeds)) {
		for _, path := range paths {
			res, err := client.Get(seed + path)
			if err != nil {
				return err
			}
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				return err
			}
			if err := res.Body.Close(); err != nil {
				return err
			}
		}
	}
	once := os.Getenv(onceVariable)
	if _, err := os.Stat(once); once == "" || err == nil {
		return nil
	}
	if err := os.WriteFile(once, nil, 0o600); err != nil {
		return err
	}
	time.Sleep(patience)
	return nil
}

// newCrawlerHarness returns a harness with a crawler, and the folder that its commands write into.
func newCrawlerHarness(t *testing.T, how string) (h *harness, dir string, serve func(args ...string) []string) {
	t.Helper()
	h = newHarness(t)
	executable, err := os.Executable()
	require.NoError(t, err)
	h.Setenv(howVariable, how)
	dir = filepath.Join(t.TempDir(), "manners")
	return h, dir, func(args ...string) []string {
		args = append([]string{"serve", "--write", dir, "--only", "robots-first", "--only", "robots-404"}, args...)
		return append(args, "--", executable, "one word")
	}
}

func readRun(t *testing.T, name string) manners.Run {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	run, err := manners.ReadRun(file)
	require.NoError(t, err)
	return run
}

func TestJudgesAPoliteCrawler(t *testing.T) {
	t.Parallel()
	h, dir, serve := newCrawlerHarness(t, "polite")
	r := h.Execute(serve("--crawler", "polite 1", "--agent", "polite")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "the crawler has ended after ")
	require.Contains(t, r.Stdout, "6 requests, by the name server")
	require.Contains(t, r.Stdout, "\n2 cases: 2 pass, 0 fail\n")
	require.NotContains(t, r.Stdout, "robots-first:", "what passed is not listed")

	log := filepath.Join(dir, "log.jsonl")
	run := readRun(t, log)
	require.Equal(t, "polite 1", run.Crawler)
	require.Equal(t, "polite", run.Options.Agent)
	require.Equal(t, time.Second, run.Options.Delay)
	require.Len(t, run.Events, 2)
	require.Equal(t, manners.Started, run.Events[0].Kind)
	require.Equal(t, manners.Ended, run.Events[1].Kind)
	require.Less(t, run.Events[0].At, run.Log[0].Start)
	hosts, err := os.ReadFile(filepath.Join(dir, "hosts"))
	require.NoError(t, err)
	require.Regexp(t, `(?m)^127\.64\.\d+\.\d+ robots-first\.test$`, string(hosts))

	out := h.Print("judge", log, "--all")
	require.Contains(t, out, "Crawler: polite 1\n")
	require.Contains(t, out, "robots-first: RFC 9309 section 2.3")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len(line), 81)
	}
}

// A crawler that fails a case fails the command, and each report says why.
func TestJudgesARudeCrawler(t *testing.T) {
	t.Parallel()
	h, dir, serve := newCrawlerHarness(t, "rude")
	h.Setenv("NO_PROXY", "*")
	r := h.Execute(serve("--proxy")...)
	require.Equal(t, 1, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "manners: 2 cases failed that a standard requires\n")
	require.Contains(t, r.Stdout, "2 requests, through the proxy")
	require.Contains(t, r.Stdout, "FAIL       must     Reads robots.txt before the first page\n")

	log := filepath.Join(dir, "log.jsonl")
	require.True(t, readRun(t, log).Options.Proxied)
	page, suites := filepath.Join(dir, "report.html"), filepath.Join(dir, "junit.xml")
	r = h.Execute("judge", log, "--json", "--html", page, "--junit", suites)
	require.Equal(t, 1, r.Code)
	require.JSONEq(t, `{"error":"2 cases failed that a standard requires","exit_code":1}`, r.Stderr)
	var report manners.Report
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &report))
	require.Equal(t, 2, report.Failed)
	require.Equal(t, "/private/", report.Cases[0].Seen[0].Target)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	_, err = html.Parse(strings.NewReader(string(text)))
	require.NoError(t, err)
	require.Contains(t, string(text), "2 of 2 cases failed")
	text, err = os.ReadFile(suites)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(text, new(struct{})))
	left, err := filepath.Glob(filepath.Join(dir, ".manners-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestKillsAndStartsAgain(t *testing.T) {
	t.Parallel()
	h, dir, serve := newCrawlerHarness(t, "polite")
	h.Setenv(onceVariable, filepath.Join(t.TempDir(), "once"))
	r := h.Execute(serve("--kill-after", "2s")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "the crawler was killed 2s after its first request")
	run := readRun(t, filepath.Join(dir, "log.jsonl"))
	var kinds []manners.EventKind
	for _, e := range run.Events {
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []manners.EventKind{manners.Started, manners.Killed, manners.Started, manners.Ended}, kinds)
	require.GreaterOrEqual(t, run.Events[2].At-run.Events[1].At, time.Second)
	require.Len(t, run.Log, 12, "it crawled twice")
}

func TestEndsInTime(t *testing.T) {
	t.Parallel()
	h, dir, serve := newCrawlerHarness(t, "polite")
	h.Setenv(onceVariable, filepath.Join(t.TempDir(), "once"))
	r := h.Execute(serve("--for", "2s", "--proxy=127.0.0.1:0")...)
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "stopping the crawler")
	log := filepath.Join(dir, "log.jsonl")
	run := readRun(t, log)
	require.Len(t, run.Log, 6)
	require.Equal(t, manners.Stopped, run.Events[len(run.Events)-1].Kind)

	// The next runs keep the log of this one: they have no requests.
	for range 2 {
		c := h.Start("serve", "--write", dir)
		c.Await("Ctrl-C stops.")
		require.Zero(t, c.Stop().Code)
	}
	require.Empty(t, readRun(t, log).Log)
	require.Len(t, readRun(t, log+".before").Log, 6)
}

func TestServesForOthers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := filepath.Join(t.TempDir(), "manners")
	c := h.Start("serve", "--write", dir, "--log", filepath.Join(dir, "other.jsonl"))
	c.Await("Ctrl-C stops.")
	seeds := filepath.Join(dir, "seeds.txt")
	require.Contains(t, c.stdout.String(), "\nseeds        "+seeds+" (")
	text, err := os.ReadFile(seeds)
	require.NoError(t, err)
	require.Contains(t, string(text), "http://robots-first.test:")
	r := c.Stop()
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "0 requests in ")
	h.Fail([]string{"judge", filepath.Join(dir, "other.jsonl")}, "the crawler made no request")
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	dir := t.TempDir()
	serve := func(args ...string) []string { return append([]string{"serve", "--write", dir}, args...) }
	h.Refuse(serve("--agent", "two words"), "--agent", `"two words"`)
	h.Refuse(serve("--delay", "10"), "--delay", `"10"`, "missing unit")
	h.Refuse(serve("--delay", "2h"), "--delay 2h0m0s", "want 0s to 1m0s")
	h.Refuse(serve("--only", "nothing"), "--only", `"nothing"`, "manners cases")
	h.Refuse(serve("--kill-after", "1s"), "--kill-after 1s needs a command")
	h.Refuse(serve("--kill-after", "2s", "--for", "1s", "--", "true"), "--kill-after 2s", "less than --for")
	h.Refuse(serve("--for=-1s"), "--for -1s")
	h.Refuse(serve("--proxy=nowhere"), "--proxy", `"nowhere"`)
	other := h.WriteFile("notes.txt", "mine\n")
	h.Refuse(serve("--log", other), "--log", "notes.txt", "name another file")
	r := h.Execute(serve("--only", "robots-first", "--", filepath.Join(dir, "no-such-program"))...)
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, "start the crawler: ")
	h.Refuse([]string{"judge", filepath.Join(dir, "none")}, "none", "no such file")
	h.Refuse([]string{"judge", other}, "notes.txt", "line 1", "not a log of manners")
}

func TestCases(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	out := h.Print("cases")
	require.Contains(t, out, "must     Reads robots.txt before the first page\n         robots-first: RFC 9309 section 2.3\n")
	for line := range strings.Lines(out) {
		require.LessOrEqual(t, len([]rune(line)), 81)
	}
	lines := strings.Split(strings.TrimSpace(h.Print("cases", "--json")), "\n")
	require.Len(t, lines, len(manners.Cases()))
	var first caseDoc
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	require.Equal(t, manners.Cases()[0].ID, first.ID)
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	require.NotEmpty(t, strings.TrimSpace(h.Print("--version")))
	require.Contains(t, h.Print("--help"), "Judges crawlers of any kind")
	r := h.Execute("judge")
	require.Equal(t, 2, r.Code)
	require.Regexp(t, `\Amanners: .*<log>.*\nTry: manners judge --help\n\z`, r.Stderr)
	r = h.Execute("judge", "--json")
	require.Equal(t, 2, r.Code)
	require.Regexp(t, `\A\{"error":".*log.*","exit_code":2\}\n\z`, r.Stderr)
	h.Refuse([]string{"serve", "--nothing", "--", "crawler", "--json"}, "--nothing")
}
