package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/export"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/wait"
)

// exported runs an export to standard output that works, and returns its rows.
func (h *commandHarness) exported(args ...string) (rows []map[string]any) {
	h.t.Helper()
	r := h.Execute(append([]string{"export", "--out", "-", "--format", "jsonl"}, args...)...)
	require.Zero(h.t, r.Code, "%v: %s", args, r.Stderr)
	for line := range strings.Lines(r.Stdout) {
		var row map[string]any
		require.NoError(h.t, json.Unmarshal([]byte(line), &row))
		rows = append(rows, row)
	}
	return rows
}

// aHash is the SHA-256 of an image.
var aHash = strings.Repeat("ab", 32)

// newExported is a world of two domains. One page links and names images, and one of its
// images was fetched. Another page failed, and further pages are known.
func newExported(t *testing.T) *rows {
	t.Helper()
	r := newRows(t, settings.Settings{}, aPage, aPage+"second", "https://b.example/").robots(crawl.Robots{
		Verdict: crawl.RobotsAllowAll, Sitemaps: []string{aPage + "sitemap.xml"}, CrawlDelay: new(crawl.Millis(5 * time.Second)),
	})
	at := found("First, \"one\"", "one")
	at.Page.Signals.Description, at.Page.Signals.Feeds = "line\nfeed; ünï 灯台", []string{aPage + "feed"}
	at.Page.Language = "pt-BR"
	at.AllLinks = true
	at.Links = []crawl.Link{
		{URL: "https://other.example/", Domain: "other.example", Origin: "https://other.example", Anchor: "Other", Rel: crawl.RelUGC, NoFollow: true},
		{URL: aPage + "own", Domain: aDomain, Origin: aOrigin},
	}
	at.AllImages, at.Images = true, []crawl.FoundImage{
		{
			URL: aPage + "a.jpg", Domain: aDomain, Origin: aOrigin, Discovery: crawl.DiscoveryImg, Alt: "=a harbour,\nat \"dusk\"", Width: 320,
			Variants: []string{aPage + "small.jpg"},
		},
		{URL: "https://cdn.example/b.png", Domain: "cdn.example", Origin: "https://cdn.example", Discovery: crawl.DiscoveryCSS},
	}
	r.fetched(at)
	r.exec(`INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, frames, phash, dhash, license, stored_at)
		VALUES ($1, 9000, 'jpeg', 640, 480, 1, -2, 255, 'https://creativecommons.org/licenses/by/4.0/', now())`, aHash)
	r.exec(`UPDATE images SET (sha256_hash, file_size_bytes, format, width, height, phash, dhash)
		= (SELECT sha256_hash, file_size_bytes, format, width, height, phash, dhash FROM image_contents),
		content_type = 'image/jpeg', last_seen_at = now(), download_success = true WHERE domain = $1`, aDomain)
	r.exec("UPDATE politeness_slots SET free_at = now() - interval '1 second'")
	r.fetched(crawl.Attempt{Outcome: crawl.OutcomeBlocked4xx, StatusCode: 404, Error: "gone", Page: &crawl.PageUpdate{Failed: true}})
	r.control(crawl.Control{Type: crawl.ControlPause, Reason: "quiet"})
	return r
}

func TestExport(t *testing.T) {
	t.Parallel()

	t.Run("HasWhatIsStored", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		pages := r.exported("pages")
		require.Len(t, pages, 7)
		first := pages[slices.IndexFunc(pages, func(p map[string]any) bool { return p["url"] == aPage })]
		require.Subset(t, first, map[string]any{
			"domain": aDomain, "kind": "page", "status": "fetched", "outcome": "success", "status_code": 200.0,
			"title": "First, \"one\"", "description": "line\nfeed; ünï 灯台", "feeds": []any{aPage + "feed"}, "language": "pt-BR", "noindex": false,
		})
		second := pages[slices.IndexFunc(pages, func(p map[string]any) bool { return p["url"] == aPage+"second" })]
		require.Subset(t, second, map[string]any{"status": "failed", "outcome": "blocked_4xx", "status_code": 404.0})
		require.NotContains(t, second, "fetched_at")

		links := r.exported("links")
		require.Len(t, links, 2)
		other := links[slices.IndexFunc(links, func(l map[string]any) bool { return l["to_domain"] == "other.example" })]
		require.Subset(t, other, map[string]any{
			"from_url": aPage, "from_domain": aDomain, "to_url": "https://other.example/", "kind": "link", "anchor": "Other",
			"nofollow": true, "ugc": true, "sponsored": false, "last_seen": first["fetched_at"],
		})

		crawls := r.exported("crawls")
		require.Len(t, crawls, 2, "what is pending is no history")
		require.Subset(t, crawls[1], map[string]any{"run": "small-web", "outcome": "blocked_4xx", "error": "gone", "delay_ms": 10000.0})

		domains := r.exported("domains")
		require.Len(t, domains, 2)
		require.Subset(t, domains[0], map[string]any{
			"domain": aDomain, "requests": 2.0, "success": 1.0, "blocked_4xx": 1.0, "crawl_delay_ms": 5000.0, "seed": true,
			"sitemaps": []any{aPage + "sitemap.xml"}, "controls": []any{"pause"},
		})
		require.NotContains(t, domains[1], "controls")
	})

	t.Run("HasTheRowsOfARunAndOfAnOutcome", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		other, err := r.store.EnsureRun(t.Context(), "other", "test", settings.Settings{})
		require.NoError(t, err)
		r.seed(other, aPage, "https://c.example/")
		urls := func(args ...string) (urls []string) {
			for _, row := range r.exported(args...) {
				urls = append(urls, row["url"].(string))
			}
			slices.Sort(urls)
			return urls
		}
		require.Equal(t, []string{aPage, aPage + "second", "https://b.example/"}, urls("pages", "--run", "small-web")[:3])
		require.Equal(t, []string{aPage}, urls("pages", "--run", "small-web", "--outcome", "success"))
		require.Equal(t, []string{aPage}, urls("pages", "--outcome", "success"))
		require.Equal(t, []string{aPage, "https://c.example/"}, urls("pages", "--run", "other"), "also those that were not requested yet")
		require.Empty(t, urls("pages", "--run", "other", "--outcome", "success"), "it was fetched in another run")
		require.Equal(t, []string{aPage + "second"}, urls("crawls", "--run", "small-web", "--outcome", "blocked_4xx"))
		require.Empty(t, urls("crawls", "--run", "other"))
		domains := r.exported("domains", "--run", "other")
		require.Len(t, domains, 2)
		require.Subset(t, domains[0], map[string]any{"domain": aDomain, "runs": 1.0, "requests": 0.0}, "sums are those of the run")
		out := []string{"--out", "-", "--format", "csv"}
		r.Refuse(append([]string{"export", "pages", "--run", "nobody"}, out...), `run "nobody" does not exist`)
		r.Refuse(append([]string{"export", "links", "--run", "other"}, out...), "--run other does not apply to links", "export pages or crawls or domains")
		r.Refuse(append([]string{"export", "domains", "--outcome", "success"}, out...), "--outcome success does not apply to domains")
		r.Refuse(append([]string{"export", "pages", "--outcome", "good"}, out...), `--outcome must be one of "","success",`, `but got "good"`)
	})

	t.Run("HasTheImagesThatPagesNameStill", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		r.exec("UPDATE provenance SET gone_at = now() WHERE discovery_type = 'css'")
		of := r.exported("images", "--domain", aDomain)
		require.Len(t, of, 1)
		require.Equal(t, aPage+"a.jpg", of[0]["url"])
		require.Len(t, r.exported("images"), 2, "it is known all the same")
	})

	t.Run("HasImagesAndWhoNamesThem", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		images := r.exported("images")
		require.Len(t, images, 2)
		slices.SortFunc(images, func(a, b map[string]any) int { return strings.Compare(a["url"].(string), b["url"].(string)) })
		require.Subset(t, images[0], map[string]any{
			"url": aPage + "a.jpg", "domain": aDomain, "sha256_hash": aHash, "width": 640.0, "height": 480.0, "format": "jpeg",
			"content_type": "image/jpeg", "file_size_bytes": 9000.0, "phash": "fffffffffffffffe", "dhash": "00000000000000ff", "frames": 1.0,
			"flat": false, "license": "https://creativecommons.org/licenses/by/4.0/", "download_success": true, "pages": 1.0,
			"source_page_url": aPage, "discovery_type": "img", "alt": "=a harbour,\nat \"dusk\"",
		})
		require.Contains(t, images[0], "stored_at")
		require.NotContains(t, images[0], "problem")
		require.Subset(t, images[1], map[string]any{"url": "https://cdn.example/b.png", "domain": "cdn.example", "discovery_type": "css"})
		for _, name := range []string{"download_success", "sha256_hash", "phash", "last_seen_at", "stored_at", "width"} {
			require.NotContains(t, images[1], name, "it was not fetched")
		}
		named := r.exported("provenance")
		require.Len(t, named, 2)
		a := named[slices.IndexFunc(named, func(n map[string]any) bool { return n["image_id"] == images[0]["id"] })]
		require.Subset(t, a, map[string]any{
			"image_url": aPage + "a.jpg", "source_page_url": aPage, "source_domain": aDomain, "discovery_type": "img", "width": 320.0,
			"variants": []any{aPage + "small.jpg"},
		})
		require.NotContains(t, a, "gone_at")
		r.exec("UPDATE images SET download_success = false, problem = 'too small' WHERE domain = 'cdn.example'")
		r.exec("UPDATE provenance SET gone_at = now() WHERE discovery_type = 'css'")
		failed := r.exported("images", "--domain", "cdn.example")
		require.Empty(t, failed, "no page of that domain names one")
		for _, i := range r.exported("images") {
			if i["domain"] == "cdn.example" {
				require.Subset(t, i, map[string]any{"download_success": false, "problem": "too small", "pages": 0.0})
				require.NotContains(t, i, "source_page_url")
			}
		}
	})

	t.Run("LeavesOutWhatPublishersForbid", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		page := func(usage string, noindex bool) map[string]any {
			r.exec("UPDATE pages SET usage = $1, noindex = $2 WHERE url = $3", usage, noindex, aPage)
			pages := r.exported("pages", "--lang", "pt")
			require.Len(t, pages, 1)
			require.Equal(t, aPage, pages[0]["url"])
			return pages[0]
		}
		shown := page(`{"nosnippet":"meta robots"}`, false)
		require.NotContains(t, shown, "description")
		require.Contains(t, shown, "title")
		require.Equal(t, true, shown["nosnippet"])
		for usage, noindex := range map[string]bool{
			`{"noindex":"meta robots"}`: true,
			`{"unavailable_after":"2020-01-01T00:00:00Z","unavailable_after_by":"meta robots"}`: false,
			`{"content_signals":{"search":{"answer":"no","by":"header"}}}`:                      false,
		} {
			hidden := page(usage, noindex)
			for _, name := range []string{"title", "description", "language", "feeds"} {
				require.NotContains(t, hidden, name, usage)
			}
		}
	})

	t.Run("IsFiltered", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		later := time.Now().Add(time.Hour).Format(time.RFC3339)
		for _, c := range []struct {
			want int
			args []string
		}{
			{4, []string{"pages", "--domain", aDomain}},
			{1, []string{"pages", "--domain", "other.example"}},
			{1, []string{"pages", "--since", "1h"}},
			{1, []string{"pages", "--lang", "pt-br"}},
			{0, []string{"pages", "--lang", "en"}},
			{2, []string{"links", "--domain", aDomain}},
			{0, []string{"links", "--domain", "other.example"}},
			{2, []string{"links", "--since", "1h"}},
			{0, []string{"links", "--since", later}},
			{2, []string{"crawls", "--domain", aDomain}},
			{0, []string{"crawls", "--domain", aDomain, "--since", later}},
			{2, []string{"crawls", "--since", "1h"}},
			{1, []string{"domains", "--domain", "b.example"}},
			{0, []string{"domains", "--domain", "unknown.example"}},
			{2, []string{"images", "--domain", aDomain}},
			{0, []string{"images", "--domain", "cdn.example"}},
			{1, []string{"images", "--since", "1h"}},
			{0, []string{"images", "--since", later}},
			{2, []string{"provenance", "--domain", aDomain}},
			{0, []string{"provenance", "--domain", "cdn.example"}},
			{2, []string{"provenance", "--since", "1h"}},
			{0, []string{"provenance", "--domain", aDomain, "--since", later}},
		} {
			require.Len(t, r.exported(c.args...), c.want, "%v", c.args)
		}
	})

	t.Run("GoesToAFileADirectoryOrStandardOutput", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		dir := t.TempDir()
		for _, kind := range export.Tables() {
			for _, format := range export.Formats() {
				name := filepath.Join(dir, string(kind)+"."+string(format))
				got := r.Execute("export", string(kind), "--out", name)
				require.Zero(t, got.Code, got.Stderr)
				require.Empty(t, got.Stdout)
				require.Regexp(t, `\A\d `+string(kind)+` in 1 file, [\d.]+ k?B, in \S+s \(\d+ per second\)\n\z`, got.Stderr)
				data, err := os.ReadFile(name)
				require.NoError(t, err)
				if format == export.Parquet {
					require.True(t, bytes.HasPrefix(data, []byte("PAR1")) && bytes.HasSuffix(data, []byte("PAR1")))
					continue
				}
				require.Equal(t, string(data), r.Execute("export", string(kind), "--out", "-", "--format", string(format)).Stdout)
			}
		}
		got := r.Execute("export", "pages", "--out", dir+"/all/")
		require.Zero(t, got.Code, got.Stderr)
		require.FileExists(t, dir+"/all/pages-00001.parquet")
		r.Refuse([]string{"export", "pages", "--out", dir + "/all"}, dir+"/all/pages.json", "a complete export", "--force")
		r.Refuse([]string{"export", "pages", "--out", dir + "/all", "--lang", "de"}, "not of pages --format parquet --lang de", "--force")
		data, err := os.ReadFile(filepath.Join(dir, "pages.csv"))
		require.NoError(t, err)
		records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
		require.NoError(t, err)
		require.Len(t, records, 8)
	})

	t.Run("LeavesTerminalsAlone", func(t *testing.T) {
		t.Parallel()
		r := newExported(t)
		r.exec("UPDATE pages SET signals = jsonb_set(signals, '{title}', to_jsonb('evil' || chr(155) || '31m'::text)) WHERE url = $1", aPage)
		r.terminal = true
		out := r.Execute("export", "pages", "--out", "-", "--format", "csv").Stdout
		require.Contains(t, out, "evil31m")
		r.Refuse([]string{"export", "pages", "--out", "-", "--format", "parquet"}, "--format parquet: a terminal cannot show binary data: name a file")
	})
}

func TestExportUsage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	there := h.WriteFile("there.csv", "")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"everything", "--out", "x.csv"}, []string{`must be one of "pages","links","crawls","domains","images","provenance" but got "everything"`}},
		{[]string{"pages"}, []string{"missing flags: --out=FILE|DIR|-"}},
		{[]string{"pages", "--out="}, []string{"--out is empty: give a file"}},
		{[]string{"pages", "--out", "x.csv", "--format", "xml"}, []string{`--format must be one of "","parquet","jsonl","csv" but got "xml"`}},
		{[]string{"pages", "--out", "x.xml"}, []string{"--out x.xml: unknown file extension", "--format"}},
		{[]string{"pages", "--out", "-"}, []string{"--out -: ", "add --format, want parquet, jsonl or csv"}},
		{[]string{"pages", "--out", "x.csv", "--domain", "no domain"}, []string{`domain "no domain"`}},
		{[]string{"pages", "--out", "x.csv", "--since", "soon"}, []string{`--since "soon": want a date`}},
		{[]string{"pages", "--out", "x.csv", "--lang", "Welsh?"}, []string{`--lang "Welsh?": want a tag`}},
		{[]string{"links", "--out", "x.csv", "--lang", "cy"}, []string{"--lang cy does not apply to links: leave it out, or export pages"}},
		{[]string{"images", "--out", "x.csv", "--lang", "cy"}, []string{"--lang cy does not apply to images: leave it out, or export pages"}},
		{[]string{"domains", "--out", "x.csv", "--since", "1h"}, []string{"--since 1h does not apply to domains"}},
		{[]string{"pages", "--out", "x/", "--rows-per-file", "1"}, []string{"--rows-per-file 1: want 10000 or more"}},
	} {
		h.Refuse(append([]string{"export"}, c.args...), c.want...)
	}
	h, _ = newHarnessWithDatabase(t)
	h.Refuse([]string{"export", "pages", "--out", there}, there+" exists: name another file, or replace it with --force")
	r := h.Execute("export", "pages", "--out", there, "--force")
	require.Zero(t, r.Code, r.Stderr)
	h.Fail([]string{"export", "pages", "--out", there + "/sub/x.csv"}, "not a directory")
	require.NoDirExists(t, "x")
}

// storeLinks stores so many links, twenty to a page.
func storeLinks(t testing.TB, store *db.Store, n int) {
	t.Helper()
	for _, sql := range []string{
		`INSERT INTO pages (url, domain, origin, status, language, signals, fetched_at)
		SELECT 'https://d' || i % 1000 || '.example/page/' || i, 'd' || i % 1000 || '.example', 'https://d' || i % 1000 || '.example',
			'fetched', 'en', jsonb_build_object('title', 'Page ' || i, 'description', repeat(md5(i::text), 3)), now()
		FROM generate_series(1, $1::bigint) i`,
		`INSERT INTO page_links (from_page_id, to_page_id, anchor)
		SELECT p.id, 1 + (p.id * 7 + j * 7919) % $1::bigint, 'link ' || j || ' of ' || p.id
		FROM pages p CROSS JOIN generate_series(1, 20) j ON CONFLICT DO NOTHING`,
	} {
		_, err := store.Pool().Exec(t.Context(), sql, n/20)
		require.NoError(t, err)
	}
	_, err := store.Pool().Exec(t.Context(), "VACUUM ANALYZE")
	require.NoError(t, err)
}

// exportVariable makes the test binary run mosey with the binary's arguments.
const exportVariable = "MOSEY_TEST_EXPORT"

// mosey runs this program as another process.
func (h *commandHarness) mosey(args ...string) *exec.Cmd {
	h.t.Helper()
	executable, err := os.Executable()
	require.NoError(h.t, err)
	cmd := exec.CommandContext(h.t.Context(), executable, args...)
	cmd.Env = append(h.environ.Environ(), exportVariable+"=1")
	return cmd
}

// runsAsMosey runs mosey if exportVariable is set. TestMain calls it.
func runsAsMosey() {
	if os.Getenv(exportVariable) == "" {
		return
	}
	main()
}

func TestExportGoesOnAfterAKill(t *testing.T) {
	form.Long(t)
	t.Parallel()
	const links = 400_000
	r := newRows(t, settings.Settings{})
	storeLinks(t, r.store, links)
	dir := t.TempDir()
	args := []string{"export", "links", "--out", dir, "--format", "csv", "--rows-per-file", "20000"}
	files := func() []string {
		found, err := filepath.Glob(dir + "/links-*.csv")
		require.NoError(t, err)
		return found
	}
	for kills := 1; kills <= 3; kills++ {
		cmd := r.mosey(args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		wait.Until(t, func() bool { return len(files()) >= 3*kills }, patience, time.Millisecond, "%s", &stderr)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait(), "it was killed: %s", &stderr)
	}
	before := len(files())
	last := r.Execute(args...)
	require.Zero(t, last.Code, last.Stderr)
	require.Regexp(t, `; \d+ earlier in \d+ files`, last.Stderr)
	require.Less(t, before, len(files()))
	seen := make(map[[2]string]bool, links)
	for _, name := range files() {
		f, err := os.Open(name)
		require.NoError(t, err)
		records, err := csv.NewReader(f).ReadAll()
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.LessOrEqual(t, len(records), 20_001)
		for _, record := range records[1:] {
			key := [2]string{record[0], record[3]}
			require.False(t, seen[key], "%v twice", key)
			seen[key] = true
		}
	}
	var stored int
	require.NoError(t, r.store.Pool().QueryRow(t.Context(), "SELECT count(*) FROM page_links").Scan(&stored))
	require.Len(t, seen, stored)
}

func TestExportStops(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{})
	storeLinks(t, r.store, 400_000)

	t.Run("WithWhatIsThereAndHowToGoOn", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		cmd := r.mosey("export", "links", "--out", dir, "--format", "csv", "--rows-per-file", "20000")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		wait.Until(t, func() bool {
			found, err := filepath.Glob(dir + "/links-*.csv")
			return err == nil && len(found) > 0
		}, patience, time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		err := cmd.Wait()
		require.Error(t, err, "%s", &stderr)
		require.Regexp(t, `\Amosey: stopped: `+dir+` has \d+ links in \d+ files?; the same command resumes the export\n\z`, stderr.String())
		left, err := filepath.Glob(dir + "/*.part")
		require.NoError(t, err)
		require.Empty(t, left)
	})

	t.Run("QuietlyWhenNobodyReadsOn", func(t *testing.T) {
		t.Parallel()
		cmd := r.mosey("export", "links", "--out", "-", "--format", "csv")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.ReadFull(out, make([]byte, 100))
		require.NoError(t, err)
		require.NoError(t, out.Close())
		require.Error(t, cmd.Wait())
		require.Equal(t, 141, cmd.ProcessState.ExitCode())
		require.Empty(t, stderr.String())
	})
}
