package db_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/settings"
)

// storeContents stores contents with some hashes, each with an image of its own, and
// returns their SHA-256.
func (b *bundle) storeContents(t *testing.T, hashes []crawl.ImageHash, flat bool) []string {
	t.Helper()
	bits := make([]int64, len(hashes))
	for i, h := range hashes {
		bits[i] = h.Bits()
	}
	return column[string](t, b, `
		WITH c AS (
			INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, phash, dhash, low_detail)
			SELECT encode(sha256(convert_to(h::text || n, 'UTF8')), 'hex'), 1, 'png', 200, 200, h, h, $2
			FROM unnest($1::bigint[]) WITH ORDINALITY AS u (h, n) RETURNING sha256_hash, phash
		), i AS (
			INSERT INTO images (id, page_id, url, domain, sha256_hash, phash, dhash, download_success)
			SELECT uuid_v7(), hashtextextended(c.sha256_hash, 0), 'http://a.example/' || c.sha256_hash, 'a.example',
				c.sha256_hash, c.phash, c.phash, true FROM c
			RETURNING sha256_hash
		)
		SELECT sha256_hash FROM i`, bits, flat)
}

func TestImagesNear(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	random := rand.New(rand.NewPCG(1, 2))
	flipped := func(h crawl.ImageHash, bits int) crawl.ImageHash {
		for _, bit := range random.Perm(64)[:bits] {
			h ^= 1 << bit
		}
		return h
	}
	// around some pictures others at any distance, and far more that are unlike all
	var hashes, queries []crawl.ImageHash
	for range 20 {
		q := crawl.ImageHash(random.Uint64())
		queries = append(queries, q)
		for bits := range 14 {
			hashes = append(hashes, flipped(q, bits), flipped(q, bits))
		}
	}
	for range 3000 {
		hashes = append(hashes, crawl.ImageHash(random.Uint64()))
	}
	b.storeContents(t, hashes, false)

	t.Run("FindsExactlyThose", func(t *testing.T) {
		t.Parallel()
		for _, q := range append(queries, crawl.ImageHash(0), ^crawl.ImageHash(0)) {
			for _, distance := range []int{0, 3, 8} {
				near, err := b.SimilarImages(t.Context(), crawl.ImageContent{PHash: &q}, distance, 1000)
				require.NoError(t, err)
				var found []int
				for _, n := range near {
					require.Equal(t, n.Distance, n.PHash.Distance(q))
					found = append(found, n.Distance)
				}
				var want []int
				for _, h := range hashes {
					if d := h.Distance(q); d <= distance {
						want = append(want, d)
					}
				}
				slices.Sort(want)
				require.Equal(t, want, found, "%s within %d", q, distance)
			}
		}
	})

	t.Run("TellsLayoutsApartByTheOtherHash", func(t *testing.T) {
		t.Parallel()
		q := queries[0]
		for bits, want := range map[int]int{0: 2, report.ImageDHashMax: 2, report.ImageDHashMax + 1: 0} {
			near, err := b.SimilarImages(t.Context(), crawl.ImageContent{PHash: &q, DHash: new(q ^ (1<<bits - 1))}, 0, 10)
			require.NoError(t, err)
			require.Len(t, near, want, "%d bits of dHash", bits)
		}
	})

	t.Run("LeavesFlatPicturesOut", func(t *testing.T) {
		t.Parallel()
		own := setup(t, settings.Settings{})
		own.storeContents(t, []crawl.ImageHash{5}, true)
		near, err := own.SimilarImages(t.Context(), crawl.ImageContent{PHash: new(crawl.ImageHash(5))}, 8, 10)
		require.NoError(t, err)
		require.Empty(t, near)
	})
}

func TestLoseUnusedImages(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	had := b.storeContents(t, []crawl.ImageHash{1, 2, 3}, false)
	b.exec(t, "UPDATE image_contents SET stored_at = clock_timestamp(), thumbnail_at = clock_timestamp()")
	b.exec(t, "DELETE FROM images WHERE sha256_hash = $1", had[0])
	stored := func() []string {
		return column[string](t, b, "SELECT sha256_hash FROM image_contents WHERE stored_at IS NOT NULL AND thumbnail_at IS NOT NULL")
	}
	require.NoError(t, b.MarkUnusedImagesLost(t.Context(), had[1:]))
	require.ElementsMatch(t, had, stored(), "others are not asked for")
	require.NoError(t, b.MarkUnusedImagesLost(t.Context(), had))
	require.ElementsMatch(t, had[1:], stored())

	now, err := b.ImagesClock(t.Context())
	require.NoError(t, err)
	require.WithinRange(t, now, one[time.Time](t, b, "SELECT clock_timestamp() - interval '1 minute'"), one[time.Time](t, b, "SELECT clock_timestamp()"))
}

func TestImageIDs(t *testing.T) {
	t.Parallel()
	b := setup(t, settings.Settings{})
	ids := column[string](t, b, "SELECT uuid_v7()::text FROM generate_series(1, 3) n CROSS JOIN LATERAL pg_sleep(n * 0.002)")
	for _, id := range ids {
		require.Equal(t, byte('7'), id[14], "%s: its version", id)
		require.Contains(t, "89ab", string(id[19]), "%s: its variant", id)
	}
	require.IsIncreasing(t, ids, "in the order of time")
	ms := one[float64](t, b, "SELECT abs(extract(EPOCH FROM clock_timestamp()) * 1000 - ('x' || replace(left(uuid_v7()::text, 13), '-', ''))::bit(48)::bigint)::float8")
	require.Less(t, ms, 60_000.0)
}
