package main

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/search/index"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/wait"
)

// Of the domains one is forgotten, and the other two are not. The beginnings of words are those
// that stems have.
const (
	leaver, stayer, cdn = "leaver.test", "stayer.test", "cdn.test"

	leaverWords = "xylophon narwhal quokka axolotl pangolin marzipan"
	stayerWords = "platypus wombat okapi capybara"
)

// forgetHarness is a world in which three domains were crawled.
type forgetHarness struct {
	*commandHarness

	store *db.Store
	site  site
	// own and alone are pictures of the leaver, there and on a host of others; shared and both are
	// also others'.
	own, alone, shared, both string
}

// portOfIt stands for the port of the web, which is known when it is asked.
const portOfIt = ":PORT"

// linking is a page that links to other hosts.
type linking struct{ body string }

func (l linking) Serve(v *web.Visit) {
	port := ""
	if i := strings.LastIndex(v.R.Host, ":"); i >= 0 {
		port = v.R.Host[i:]
	}
	web.Content{Type: "text/html; charset=utf-8", Body: strings.ReplaceAll(l.body, portOfIt, port)}.Serve(v)
}

func (linking) Truth() web.Truth { return web.Truth{Status: 200} }

func newForget(t *testing.T) *forgetHarness {
	t.Helper()
	h, store := newHarnessWithStack(t)
	h.Setenv("MOSEY_IMAGE_STORE", filepath.Join(h.dir, "images"))
	f := &forgetHarness{commandHarness: h, store: store}
	f.own, f.alone = pngOf(t, painting(300, 200, 1)), pngOf(t, painting(300, 200, 2))
	f.shared, f.both = pngOf(t, painting(300, 200, 3)), pngOf(t, painting(300, 200, 4))
	page := func(text string) web.Behaviour { return linking{"<!doctype html><html lang=en>" + text + "</html>"} }
	url := func(host, path string) string { return "http://" + host + portOfIt + path }
	f.site = site{web.StartT(t, web.Options{CrossLinks: -1, Sites: []web.Site{
		{Host: leaver, Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/": page(`<title>Xylophone</title><meta name=description content="axolotl"><h1>Quokka</h1><p>The quokka plays the xylophone.
				<a href="/second">The pangolin</a> <a href="` + url(stayer, "/") + `">marzipan</a>
				<img src="/own.png" alt="narwhal"><img src="/shared.png" alt="narwhal">
				<img src="` + url(cdn, "/alone.png") + `" alt="narwhal"><figure><img src="` + url(cdn, "/both.png") + `"><figcaption>narwhal</figcaption></figure>`),
			"/second":  page(`<title>Quokka</title><p>The quokka waits for the pangolin.`),
			"/own.png": pngContent(f.own), "/shared.png": pngContent(f.shared),
		}},
		{Host: stayer, Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/": page(`<title>Platypus</title><h1>Wombat</h1><p>The wombat meets the platypus.
				<a href="` + url(leaver, "/") + `">capybara</a> <img src="/same.png" alt="okapi"><img src="` + url(cdn, "/both.png") + `" alt="okapi">`),
			"/same.png": pngContent(f.shared),
		}},
		{Host: cdn, Pages: -1, Plain: true, Paths: map[string]web.Behaviour{
			"/alone.png": pngContent(f.alone), "/both.png": pngContent(f.both),
		}},
	}})}
	f.crawl("first")
	f.Print("rank") // what the leaver calls the other is indexed with that
	return f
}

// crawl crawls the two domains in a run.
func (f *forgetHarness) crawl(run string) {
	f.t.Helper()
	r := f.Execute(f.site.crawl("--images", "store", "--set", "thumbnails=on", "--set", "sitemaps=off", "--set", "min_refetch=0s",
		"--run", run, f.site.URL(leaver, "/"), f.site.URL(stayer, "/"))...)
	require.Zero(f.t, r.Code, r.Stderr)
}

// stored is all that the database and the index say, in lower case, by what says it.
func (f *forgetHarness) stored() map[string]string {
	f.t.Helper()
	ctx, pool, all := f.t.Context(), f.store.Pool(), map[string]string{}
	rows, err := pool.Query(ctx, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'")
	require.NoError(f.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(f.t, err)
	for _, table := range tables {
		rows, err := pool.Query(ctx, "SELECT x::text FROM "+table+" x ORDER BY 1")
		require.NoError(f.t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(f.t, err)
		all[table] = strings.ToLower(strings.Join(lines, "\n"))
	}
	require.NoError(f.t, f.store.Index(ctx, func(v index.View) error {
		segments, err := v.Segments(ctx)
		for _, s := range segments {
			for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
				if err := index.Words(ctx, v, s.ID, string(letter), func(word string, _ int) { all["index"] += word + "\n" }); err != nil {
					return err
				}
			}
		}
		return err
	}))
	return all
}

// says are where words stand, as text or as bytes.
func says(all map[string]string, words string) (where []string) {
	for word := range strings.FieldsSeq(words) {
		for name, text := range all {
			if strings.Contains(text, word) || strings.Contains(text, hex.EncodeToString([]byte(word))) {
				where = append(where, name+": "+word)
			}
		}
	}
	return where
}

// has are which of the pictures are in the store, small ones included.
func (f *forgetHarness) has(picture string) bool {
	f.t.Helper()
	found := 0
	for _, name := range f.objects() {
		if strings.Contains(name, shaOf(picture)) {
			found++
		}
	}
	require.NotEqual(f.t, 1, found, "a picture without a small one, or the other way round")
	return found > 0
}

func (f *forgetHarness) requireGone(all map[string]string) {
	f.t.Helper()
	require.Empty(f.t, says(all, leaverWords))
	for _, gone := range []string{f.own, f.alone} {
		require.False(f.t, f.has(gone))
		require.Empty(f.t, says(all, shaOf(gone)))
	}
	require.Empty(f.t, f.row("SELECT coalesce(string_agg(u::text, ' '), '') FROM url_patterns u WHERE domain = $1 AND num_nonnulls(shared_text, fingerprints) > 0", leaver))
	require.Empty(f.t, f.row(`SELECT coalesce(string_agg(url, ' '), '') FROM pages
		WHERE (domain = $1 OR url LIKE '%alone%') AND num_nonnulls(content_hash, simhash, etag, history, fetched_at) > 0`, leaver))
}

func (f *forgetHarness) requireOthers(all map[string]string) {
	f.t.Helper()
	for word := range strings.FieldsSeq(stayerWords) {
		require.NotEmpty(f.t, says(all, word), word)
	}
	require.True(f.t, f.has(f.shared))
	require.True(f.t, f.has(f.both))
	require.Contains(f.t, f.Print("search", "wombat"), stayer)
}

func (f *forgetHarness) row(sql string, args ...any) (text string) {
	f.t.Helper()
	require.NoError(f.t, f.store.Pool().QueryRow(f.t.Context(), sql, args...).Scan(&text))
	return text
}

func (f *forgetHarness) attempts() string {
	return f.row("SELECT string_agg(c::text, E'\n' ORDER BY c.id) FROM page_crawls c")
}

func TestForget(t *testing.T) {
	t.Parallel()
	f := newForget(t)
	before := f.stored()
	for word := range strings.FieldsSeq(leaverWords + " " + stayerWords) {
		require.NotEmpty(t, says(before, word), word)
	}
	require.Contains(t, says(before, leaverWords), "index: marzipan")
	for _, picture := range []string{f.own, f.alone, f.shared, f.both} {
		require.True(t, f.has(picture), f.Print("images"))
	}
	attempts, pages := f.attempts(), f.row("SELECT string_agg(url, ' ' ORDER BY id) FROM pages")
	forget := []string{"block", leaver, "--reason", "the owner asked by mail", "--forget"}

	// killed while it waits for a merge of the index
	conn, err := f.store.Pool().Acquire(t.Context())
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(0x6d6f736579_06))
	require.NoError(t, err)
	killed := f.mosey(forget...)
	var stderr bytes.Buffer
	killed.Stderr = &stderr
	require.NoError(t, killed.Start())
	wait.Until(t, func() bool {
		alts := f.row("SELECT count(*)::text FROM provenance WHERE alt = 'narwhal'")
		return alts+f.row("SELECT count(*)::text FROM images WHERE domain = $1 AND width > 0", leaver) == "00"
	}, 40*time.Second, 50*time.Millisecond, "%s", &stderr)
	require.NotEmpty(t, says(f.stored(), leaverWords), "in the index")
	require.NoError(t, killed.Process.Kill()) // SIGKILL
	require.Error(t, killed.Wait())
	_, err = conn.Exec(t.Context(), "SELECT pg_advisory_unlock($1)", int64(0x6d6f736579_06))
	require.NoError(t, err)
	conn.Release()
	r := f.Execute("doctor", "--only", "forgotten")
	found := strings.Join(strings.Fields(r.Stdout), " ")
	output.ContainsOnSameLine(t, found, "fault", "the content of 1 domain is not fully erased: leaver.test since ", "mosey block leaver.test --reason TEXT --forget")
	output.ContainsOnSameLine(t, f.Print("domain", leaver), "forgotten ", "not all erased yet")

	var done command.Change
	f.Decode(&done, append(forget, "--json")...)
	require.Equal(t, "forgotten", done.Action)
	require.Equal(t, leaver, done.Domain)
	require.Positive(t, *done.Count)
	f.requireGone(f.stored())
	f.requireOthers(f.stored())
	require.Equal(t, attempts, f.attempts(), "history is as it was")
	require.Equal(t, pages, f.row("SELECT string_agg(url, ' ' ORDER BY id) FROM pages"))
	output.ContainsOnSameLine(t, f.Print("doctor", "--only", "forgotten"), "ok")
	require.NotRegexp(t, `(?m)^(warning|fault)`, f.Print(dataOnly()...))
	output.ContainsOnSameLine(t, f.Print("why", leaver), "the contents of its pages up to then were erased on ", "the owner asked by mail")
	output.ContainsOnSameLine(t, f.Print("domain", leaver), "forgotten ", "erased on ")

	// nothing brings it back while the block holds
	f.crawl("second")
	f.Print("rank")
	f.requireGone(f.stored())
	f.requireOthers(f.stored())
	output.ContainsOnSameLine(t, f.Print(forget...), "leaver.test is blocked in all runs, and the content of ", " is erased.")
	f.requireGone(f.stored())

	f.Print("unblock", leaver)
	f.crawl("third")
	require.True(t, f.has(f.own))
	require.True(t, f.has(f.alone))
	require.Contains(t, f.Print("search", "quokka"), leaver)
	var rep report.Domain
	f.Decode(&rep, "domain", leaver, "--json")
	require.False(t, rep.Forgotten.DoneAt.IsZero())
}

// Without the store of images the words are erased all the same, and the command fails.
func TestForgetWithoutTheImageStore(t *testing.T) {
	form.Long(t)
	t.Parallel()
	f := newForget(t)
	forget := []string{"block", leaver, "--reason", "x", "--forget"}
	for _, where := range []string{filepath.Join(f.dir, "another"), "s3://images?region=x&use_path_style=true&anonymous=true&endpoint=http://127.0.0.1:1"} {
		f.Fail(append(forget, "--image-store", where), "leaver.test is blocked, and the content of its pages is not fully erased",
			"the bytes of 2 images are still in the image store: ", "--image-store")
		require.Empty(t, says(f.stored(), leaverWords), where)
		require.True(t, f.has(f.own))
		require.Equal(t, 1, f.Execute("doctor", "--only", "forgotten").Code)
	}
	f.Print(forget...)
	f.requireGone(f.stored())
	f.requireOthers(f.stored())
}

// TestForgetWaitsForWhatIsInFlight checks that the command waits for a request in flight and erases
// the result, too. An image on another host is no longer requested if only the domain links to it.
func TestForgetWaitsForWhatIsInFlight(t *testing.T) {
	form.Long(t)
	t.Parallel()
	f := newForget(t)
	exec := func(sql string, args ...any) {
		t.Helper()
		tag, err := f.store.Pool().Exec(t.Context(), sql, args...)
		require.NoError(t, err)
		require.Positive(t, tag.RowsAffected(), sql)
	}
	exec(`UPDATE politeness_slots SET holder = 'crawl:0', free_at = now() + interval '1 hour' WHERE key = 'domain:leaver.test'`)
	exec(`INSERT INTO page_crawls (page_id, domain, run_id, previous_id, url, kind, depth)
		SELECT page_id, domain, run_id, id, url, kind, depth FROM page_crawls WHERE url LIKE '%/alone.png'`)
	forgetting := f.Start("block", leaver, "--reason", "x", "--forget")
	wait.Until(t, func() bool { return f.row("SELECT count(*)::text FROM domain_erasures") == "1" }, patience, 5*time.Millisecond)
	time.Sleep(2 * time.Second) // it would have begun by now
	require.NotEmpty(t, says(f.stored(), "narwhal"))
	exec("UPDATE pages SET signals = '{\"title\": \"axolotl\"}' WHERE url LIKE '%leaver.test%/second'")
	exec(`UPDATE politeness_slots SET holder = NULL, free_at = now() WHERE key = 'domain:leaver.test'`)
	r := forgetting.Wait()
	require.Zero(t, r.Code, r.Stderr)
	f.requireGone(f.stored())
	require.Equal(t, "skipped forgotten", f.row("SELECT outcome || ' ' || skipped FROM page_crawls WHERE url LIKE '%/alone.png' AND previous_id IS NOT NULL"))
}

// Beside workers that crawl the domain they give it back, and write nothing of it afterwards.
func TestForgetDuringACrawl(t *testing.T) {
	form.Long(t)
	t.Parallel()
	h, store := newHarnessWithStack(t)
	f := &forgetHarness{commandHarness: h, store: store, site: newSite(t, 2, 120)}
	crawling := h.Start(append(f.site.crawl(), f.site.Seeds()...)...)
	const gone = "site-001.test"
	const read = "SELECT count(*)::text FROM pages WHERE domain = $1 AND fetched_at IS NOT NULL"
	wait.Until(t, func() bool { return len(f.row(read, gone)) > 1 }, patience, 10*time.Millisecond, "%s", &crawling.stderr)
	r := h.Execute("block", gone, "--reason", "x", "--forget")
	require.Zero(t, r.Code, r.Stderr)
	attempts := f.row("SELECT count(*)::text FROM page_crawls WHERE domain = $1 AND locked_at IS NOT NULL OR domain = $1 AND outcome IS NOT NULL", gone)
	r = crawling.Wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, attempts, f.row("SELECT count(*)::text FROM page_crawls WHERE domain = $1 AND outcome IS NOT NULL", gone), "no request since")
	for _, left := range []string{
		read, "SELECT count(*)::text FROM pages WHERE domain = $1 AND num_nonnulls(signals, content_hash, simhash, language) > 0",
		"SELECT count(*)::text FROM page_keywords WHERE domain = $1",
		"SELECT count(*)::text FROM page_links l JOIN pages p ON p.id = l.from_page_id WHERE p.domain = $1 AND l.anchor IS NOT NULL",
		"SELECT count(*)::text FROM url_patterns WHERE domain = $1 AND num_nonnulls(shared_text, fingerprints) > 0",
	} {
		require.Equal(t, "0", f.row(left, gone), left)
	}
	require.NotEqual(t, "0", f.row(read, "site-002.test"))
	require.NotRegexp(t, `(?m)^(warning|fault)`, h.Print(dataOnly()...))
}
