package db_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/wait"
)

// idOf returns the id of a page.
func (b *bundle) idOf(t *testing.T, url string) int64 {
	t.Helper()
	return one[int64](t, b, "SELECT id FROM pages WHERE url = $1", url)
}

func TestForgetIsStoredWithTheBlock(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ctx := t.Context()
	block := func(by, reason string) {
		require.NoError(t, b.BlockToForget(ctx, domainA, crawl.Control{Reason: reason, SetBy: by}))
	}
	none, err := b.Forgotten(ctx, domainA)
	require.NoError(t, err)
	require.Nil(t, none)
	block("ada", "by mail")
	facts, err := b.Facts(ctx, domainA)
	require.NoError(t, err)
	_, forbidden := facts.Domain.Controls.FirstForbidding(facts.Now)
	require.True(t, forbidden)
	open, err := b.UnfinishedForgets(ctx, 10)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Equal(t, domainA, open[0].Domain)
	require.Equal(t, "ada", open[0].RequestedBy)
	require.Zero(t, open[0].DoneAt)
	asked := open[0].RequestedAt

	block("bob", "again")
	again, err := b.Forgotten(ctx, domainA)
	require.NoError(t, err)
	require.True(t, again.RequestedAt.Equal(asked), "it goes on with what was begun")
	require.Equal(t, "again", again.Reason)
	require.NoError(t, b.MarkForgotten(ctx, domainA))
	done, err := b.Domain(ctx, domainA)
	require.NoError(t, err)
	require.False(t, done.Forgotten.DoneAt.Before(asked))
	open, err = b.UnfinishedForgets(ctx, 10)
	require.NoError(t, err)
	require.Empty(t, open)
	block("cyd", "once more")
	later, err := b.Forgotten(ctx, domainA)
	require.NoError(t, err)
	require.Zero(t, later.DoneAt)
	require.True(t, later.RequestedAt.After(asked), "that was done: it begins anew")
}

func TestForgetPages(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ctx := t.Context()
	b.seed(t, "https://a.example/1", "https://a.example/2", "https://b.example/1")
	b.exec(t, `UPDATE pages SET status = 'fetched', language = 'de', signals = '{"title": "secret"}', noindex = true, nofollow = true,
		usage = '{"noai": {}}', etag = '"secret"', last_modified = now(), fresh_until = now(), content_hash = '\x01', simhash = 1,
		trap = 'depth', trap_evidence = 'secret', fetched_at = now(), failed_at = now(), duplicate = true, extractor = 1,
		history = '{}', images_recorded = true`)
	b.exec(t, `INSERT INTO page_links (from_page_id, to_page_id, anchor, rel, nofollow) SELECT f.id, t.id, 'from ' || f.domain, 1, true
		FROM pages f, pages t WHERE f.id <> t.id`)
	b.exec(t, `INSERT INTO images (id, page_id, url, domain) SELECT uuid_v7(), id, url, domain FROM pages WHERE url LIKE '%/2'`)
	b.exec(t, `INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type, alt, caption, width, height, variants)
		SELECT uuid_v7(), i.id, p.id, p.url, p.domain, 'img', 'secret', 'secret', 1, 1, ARRAY['secret'] FROM images i, pages p`)
	b.toIndex(t, "harbour", "https://a.example/1", "https://b.example/1")
	dbtest.WriteKeywords(t, b.Store)
	b.toIndex(t, "lighthouse", "https://a.example/1", "https://b.example/1")
	before := b.snapshot(t)

	pages, last, err := b.PagesOf(ctx, "a.example", "")
	require.NoError(t, err)
	require.Equal(t, "https://a.example/2", last)
	none, _, err := b.PagesOf(ctx, "a.example", last)
	require.NoError(t, err)
	require.Empty(t, none)
	changed, err := b.ForgetPages(ctx, pages)
	require.NoError(t, err)
	require.EqualValues(t, 2+1+4+2, changed, "pages, terms, links, provenance")
	again, err := b.ForgetPages(ctx, pages)
	require.NoError(t, err)
	require.Zero(t, again)

	require.Equal(t, []string{"b.example"}, column[string](t, b, "SELECT domain FROM page_keywords"))
	require.Equal(t, []string{"from b.example", "from b.example"}, column[string](t, b, "SELECT anchor FROM page_links WHERE anchor IS NOT NULL"))
	require.Equal(t, []string{"b.example"}, column[string](t, b, `SELECT source_domain FROM provenance
		WHERE gone_at IS NULL OR num_nonnulls(alt, caption, width, height, variants) > 0`))
	// but for when and where it is, a page is as one that was never fetched
	b.seed(t, "https://c.example/")
	const rest = `SELECT (to_jsonb(p) - ARRAY['id', 'url', 'domain', 'origin', 'kind', 'patterns', 'created_at', 'updated_at'])::text FROM pages p WHERE p.url = $1`
	require.Equal(t, one[string](t, b, rest, "https://c.example/"), one[string](t, b, rest, "https://a.example/1"))
	require.Contains(t, one[string](t, b, rest, "https://b.example/1"), "secret")
	after := b.snapshot(t)
	for _, table := range []string{"robots", "robots_history", "domain_controls"} {
		require.Equal(t, before[table], after[table])
	}
	for _, line := range before["page_crawls"] {
		require.Contains(t, after["page_crawls"], line)
	}
}

func TestForgetPatterns(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	b.exec(t, `INSERT INTO url_patterns (domain, pattern, seen, shared_text, fingerprints)
		SELECT d, '/' || n, 1, '\x01', '\x02' FROM unnest(ARRAY['a.example', 'b.example']) d, generate_series(1, 700) n`)
	total := int64(0)
	for after := ""; ; {
		last, changed, err := b.ForgetPatterns(t.Context(), "a.example", after)
		require.NoError(t, err)
		require.LessOrEqual(t, changed, int64(db.ForgetBatch))
		total += changed
		if after = last; last == "" {
			break
		}
	}
	require.EqualValues(t, 700, total)
	const left = "SELECT count(*)::int FROM url_patterns WHERE domain = $1 AND seen + num_nonnulls(shared_text, fingerprints) > 0"
	require.Zero(t, one[int](t, b, left, "a.example"))
	require.Equal(t, 700, one[int](t, b, left, "b.example"))
}

func TestForgetImages(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ctx := t.Context()
	b.seed(t, "https://a.example/", "https://b.example/", "https://a.example/own", "https://a.example/shared", "https://b.example/shared",
		"https://cdn.example/alone", "https://cdn.example/both")
	// its content, and who names it
	b.exec(t, `INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, creator, stored_at)
		SELECT encode(sha256(convert_to(c, 'UTF8')), 'hex'), 1, 'png', 1, 1, c, CASE WHEN c <> 'alone' THEN now() END
		FROM unnest(ARRAY['own', 'shared', 'alone', 'both', 'unused']) c`)
	b.exec(t, `INSERT INTO images (id, page_id, url, domain, sha256_hash, width, download_success)
		SELECT uuid_v7(), id, url, domain, encode(sha256(convert_to(substring(url FROM '[a-z]+$'), 'UTF8')), 'hex'), 1, true
		FROM pages WHERE url ~ '[a-z]+$'`)
	name := func(page, like string) {
		b.exec(t, `INSERT INTO provenance (id, image_id, page_id, source_page_url, source_domain, discovery_type)
			SELECT uuid_v7(), i.id, p.id, p.url, p.domain, 'img' FROM images i, pages p WHERE p.url = $1 AND i.url LIKE $2`, page, like)
	}
	name("https://a.example/", "%")
	name("https://b.example/", "%both")
	b.exec(t, "INSERT INTO revisits (page_id, run_id, due_at, revisit_interval) SELECT id, $1, now(), '1 day' FROM pages WHERE domain = 'cdn.example'", b.run.ID)
	pages, _, err := b.PagesOf(ctx, "a.example", "")
	require.NoError(t, err)

	named, err := b.ImagesNamedBy(ctx, "a.example", pages)
	require.NoError(t, err)
	require.Len(t, named, 3, "alone, both and the other shared one")
	alone, err := b.UnsharedImages(ctx, "a.example", named)
	require.NoError(t, err)
	require.Contains(t, alone, b.idOf(t, "https://cdn.example/alone"))
	require.NotContains(t, alone, b.idOf(t, "https://cdn.example/both"))

	images := append(slices.Clone(pages), b.idOf(t, "https://cdn.example/alone"))
	own, err := b.ImageContentsOf(ctx, images)
	require.NoError(t, err)
	require.Len(t, own, 2, "own and alone: shared is another's, too")
	stored := map[bool]int{}
	for _, c := range own {
		stored[c.Stored]++
		require.Len(t, c.Images, 1)
	}
	require.Equal(t, map[bool]int{true: 1, false: 1}, stored)
	changed, err := b.ForgetImages(ctx, images)
	require.NoError(t, err)
	require.EqualValues(t, 3, changed)
	again, err := b.ForgetImages(ctx, images)
	require.NoError(t, err)
	require.Zero(t, again)
	require.Equal(t, []string{"both", "shared", "unused"}, column[string](t, b, "SELECT creator FROM image_contents ORDER BY 1"))
	require.Equal(t, []string{"https://b.example/shared", "https://cdn.example/both"},
		column[string](t, b, "SELECT url FROM images WHERE sha256_hash IS NOT NULL AND width = 1 AND download_success ORDER BY 1"))
	require.Equal(t, 1, one[int](t, b, "SELECT count(*)::int FROM revisits WHERE due_at IS NOT NULL"), "that of the other image")

	unused, last, err := b.UnusedContents(ctx, "")
	require.NoError(t, err)
	require.Len(t, unused, 1)
	none, end, err := b.UnusedContents(ctx, last)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Empty(t, end)
	dropped, err := b.DropContents(ctx, []string{unused[0].SHA256, one[string](t, b, "SELECT sha256_hash FROM image_contents WHERE creator = 'both'")})
	require.NoError(t, err)
	require.EqualValues(t, 1, dropped, "what an image has stays")

	b.exec(t, "UPDATE page_crawls SET locked_at = now() WHERE url = 'https://cdn.example/both'")
	pending, err := b.PendingOf(ctx, []int64{b.idOf(t, "https://cdn.example/alone"), b.idOf(t, "https://cdn.example/both")})
	require.NoError(t, err)
	require.Len(t, pending, 2)
	require.False(t, pending[0].InFlight)
	require.True(t, pending[1].InFlight)
	require.Equal(t, b.run.Name, pending[0].Run)
}

// A row that a worker has locked is not deleted under it.
func TestForgetImagesSparesWhatIsBeingRecorded(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	hash := b.storeContents(t, []crawl.ImageHash{1}, false)[0]
	page := one[int64](t, b, "SELECT page_id FROM images")
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	// as images_record does
	_, err = tx.Exec(t.Context(), `INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height) VALUES ($1, 1, 'png', 1, 1)
		ON CONFLICT (sha256_hash) DO UPDATE SET low_detail = true`, hash)
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `INSERT INTO images (id, page_id, url, domain, sha256_hash) VALUES (uuid_v7(), 1, 'https://b.example/x', 'b.example', $1)`, hash)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := b.ForgetImages(t.Context(), []int64{page})
		done <- err
	}()
	wait.Until(t, func() bool {
		return one[int](t, b, "SELECT count(*)::int FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") > 0
	}, time.Minute, 5*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-done)
	require.Equal(t, []string{"https://b.example/x"}, column[string](t, b, "SELECT url FROM images WHERE sha256_hash = $1", hash))
}

func TestForgetWaitsForWhatIsInFlight(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ctx := t.Context()
	b.seed(t, "https://a.example/")
	require.Equal(t, []string{domainA}, b.claim(t, 1))
	flies := func() (bool, bool) {
		request, claim, err := b.InFlight(ctx, domainA)
		require.NoError(t, err)
		return !request.IsZero(), !claim.IsZero()
	}
	request, claim := flies()
	require.False(t, request)
	require.True(t, claim)
	b.exec(t, "UPDATE page_crawls SET locked_at = now()")
	b.exec(t, `INSERT INTO politeness_slots (key, free_at, holder, reason)
		SELECT 'domain:a.example', now() + interval '1 hour', 'crawl:' || id, 'in flight' FROM page_crawls`)
	request, _ = flies()
	require.True(t, request)
	require.NoError(t, b.BlockToForget(ctx, domainA, crawl.Control{Reason: "x", SetBy: "me"}))
	b.expire(t, "domain:a.example")
	b.exec(t, "UPDATE domains SET claim_expires_at = now() - interval '1 second'")
	request, claim = flies()
	require.False(t, request || claim)
	require.Equal(t, "failed", one[string](t, b, "SELECT outcome::text FROM page_crawls WHERE lost"), "nothing can be recorded of it any more")
}

func TestForgetIndexed(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ctx := t.Context()
	const page, linked, other = "https://a.example/1", "https://b.example/linked", "https://b.example/other"
	b.seed(t, page, linked, other)
	word := func(text string) int {
		return one[int](t, b, "SELECT count(*)::int FROM index_chunks WHERE position(convert_to($1, 'UTF8') IN data) > 0", text)
	}
	forget := func() int {
		t.Helper()
		n, free, err := b.ForgetIndexed(ctx, "a.example", func(int, int) {})
		require.NoError(t, err)
		require.True(t, free)
		return n
	}
	for text, url := range map[string]string{"harbour": page, "lighthouse": linked, "pier": other} {
		b.toIndex(t, text, url)
		dbtest.WriteKeywords(t, b.Store)
	}
	b.exec(t, "INSERT INTO page_links (from_page_id, to_page_id, anchor) VALUES ($1, $2, 'anchorage')", b.idOf(t, page), b.idOf(t, linked))
	_, err := b.StoreAnchors(ctx, []crawl.AnchorTerms{{Page: b.idOf(t, linked), Terms: "anchorage:1"}})
	require.NoError(t, err)
	called, err := b.PagesFoundByAnchors(ctx, "a.example", []int64{b.idOf(t, page)})
	require.NoError(t, err)
	require.Equal(t, []int64{b.idOf(t, linked)}, called)
	for forget() > 0 {
		continue
	}
	require.Positive(t, word("harbour"), "it is found still")
	untouched := one[int64](t, b, "SELECT version FROM page_keywords WHERE page_id = $1", b.idOf(t, other))

	_, err = b.ForgetPages(ctx, []int64{b.idOf(t, page)})
	require.NoError(t, err)
	_, err = b.StoreAnchors(ctx, []crawl.AnchorTerms{{Page: b.idOf(t, linked)}})
	require.NoError(t, err)
	require.Positive(t, word("harbour"))
	require.Positive(t, word("anchorage"))

	conn, err := b.Pool().Acquire(ctx)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(0x6d6f736579_07))
	require.NoError(t, err)
	_, free, err := b.ForgetIndexed(ctx, "a.example", func(int, int) {})
	require.NoError(t, err)
	require.False(t, free, "another process merges")
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(0x6d6f736579_07))
	require.NoError(t, err)
	conn.Release()

	require.Equal(t, 2, forget())
	require.Zero(t, word("harbour"))
	require.Zero(t, word("anchorage"))
	require.Zero(t, forget())
	require.Len(t, b.finds(t, "lighthouse"), 1)
	require.Len(t, b.finds(t, "pier"), 1)
	require.Equal(t, 1, one[int](t, b, "SELECT count(*)::int FROM index_segments WHERE id = $1", untouched), "the other's is as it was")
	require.Empty(t, column[int64](t, b, "SELECT segment_id FROM index_chunks EXCEPT SELECT id FROM index_segments"))
}
