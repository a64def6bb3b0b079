package db_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

var imagesContents = flag.Int("images.contents", 100_000, "contents of BenchmarkImagesNear")

const (
	// nearQueries is the number of queried hashes, half of them planted. nearChecked of them are
	// also compared with every row.
	nearQueries, nearChecked = 500, 6
	// nearCopies is the number of near copies of a planted hash. The nth copy differs in n bits.
	nearCopies = 12
)

// nearHashes are the hashes of the ith content, as SQL: 64 random bits, and such that are
// the less random the lower the frequency is that they are of, from 15 ones in 16 on.
var nearHashes = map[string]string{
	"random": "hashint8extended(i, 1)",
	"skewed": "hashint8extended(i, 1) | (hashint8extended(i, 2) & m.half) | ((hashint8extended(i, 3) | hashint8extended(i, 4)) & m.low)",
}

// BenchmarkImagesNear measures the search for similar images among -images.contents different ones.
// It compares some results with a scan of every row.
func BenchmarkImagesNear(b *testing.B) {
	for _, name := range []string{"random", "skewed"} {
		b.Run(name, func(b *testing.B) {
			store := dbtest.New(b)
			fillContents(b, store, nearHashes[name])
			for range b.N {
				measureNear(b, store, nearHashes[name])
			}
		})
	}
}

// measureNear looks for hashes, in turns such as have copies and such as need not.
func measureNear(b *testing.B, store *db.Store, hashes string) {
	b.Helper()
	var took []time.Duration
	found := 0
	for n := range nearQueries {
		to := hashOf(b, store, hashes, *imagesContents/nearQueries*n+1, n%2 == 0)
		began := time.Now()
		near, err := store.SimilarImages(b.Context(), to, report.ImageDistanceMax, 1000)
		took = append(took, time.Since(began))
		require.NoError(b, err)
		found += len(near)
		if n%2 == 0 {
			require.GreaterOrEqual(b, len(near), report.ImageDistanceMax, "its copies")
		}
		if n < nearChecked {
			requireExact(b, store, to)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(found)/nearQueries, "found")
	for _, q := range []int{50, 95, 99} {
		b.ReportMetric(quantile(took, float64(q)/100), fmt.Sprintf("p%d-ms", q))
	}
	b.ReportMetric(quantile(took, 1), "max-ms")
	logNear(b, store, hashOf(b, store, hashes, 1, true))
}

// hashOf is the hash of the nth content, or one that is alike to nothing.
func hashOf(b *testing.B, store *db.Store, hashes string, n int, planted bool) crawl.ImageContent {
	b.Helper()
	if !planted {
		n += 2 * *imagesContents
	}
	var bits int64
	require.NoError(b, store.Pool().QueryRow(b.Context(), "SELECT "+hashes+" FROM "+nearMasks+", (VALUES ($1::bigint)) AS x (i)", n).Scan(&bits))
	return crawl.ImageContent{PHash: new(crawl.ImageHash(bits))}
}

// nearMasks are the bits of low and of middle frequencies, of a hash that has its 8 rows of
// 8 frequencies from the first bit on.
const nearMasks = `(
	SELECT bit_or(1::bigint << (63 - 8 * u - v)) FILTER (WHERE u + v <= 3) AS low, bit_or(1::bigint << (63 - 8 * u - v)) AS half
	FROM generate_series(0, 7) AS u, generate_series(0, 7) AS v WHERE u + v <= 6
) AS m`

// fillContents stores contents. Of them nearQueries are planted: they have an image, and near
// copies that have some too.
func fillContents(b *testing.B, store *db.Store, hashes string) {
	b.Helper()
	conn, err := pgx.ConnectConfig(b.Context(), store.Pool().Config().ConnConfig)
	require.NoError(b, err)
	defer conn.Close(b.Context())
	rows, err := conn.Query(b.Context(), "SELECT indexdef FROM pg_indexes WHERE indexname LIKE 'image_contents_band%'")
	require.NoError(b, err)
	bands, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	const insert = "INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height, phash, dhash) "
	for _, sql := range append(append([]string{
		"SET maintenance_work_mem = '512MB'", "SET synchronous_commit = off",
		// indexes whose order is not that of the rows are faster to make than to keep
		"ALTER TABLE images DROP CONSTRAINT images_sha256_hash_fkey",
		"ALTER TABLE image_contents DROP CONSTRAINT image_contents_pkey",
		"DROP INDEX image_contents_band1, image_contents_band2, image_contents_band3",
		fmt.Sprintf(insert+"SELECT encode(sha256(int8send(i)), 'hex'), 200000, 'jpeg', 1024, 768, %s, hashint8extended(i, 9) "+
			"FROM generate_series(1, %d) AS i, "+nearMasks, hashes, *imagesContents),
		// the copies of the ith differ from it in bits that are spread over all of it
		fmt.Sprintf(insert+"SELECT encode(sha256(int8send(-100 * i - n)), 'hex'), 200000, 'jpeg', 512, 384, "+
			"(SELECT bit_xor(1::bigint << (((i + 7 * k) * 11) %% 64)::integer) FROM generate_series(1, n) AS k) # (%s), hashint8extended(i, 9) "+
			"FROM generate_series(1, %d, %d) AS i, generate_series(1, %d) AS n, "+nearMasks,
			hashes, *imagesContents, *imagesContents/nearQueries, nearCopies),
		"ALTER TABLE image_contents ADD PRIMARY KEY (sha256_hash)",
		"ALTER TABLE images ADD FOREIGN KEY (sha256_hash) REFERENCES image_contents",
	}, bands...),
		fmt.Sprintf("INSERT INTO images (id, page_id, url, domain, sha256_hash) "+
			"SELECT uuid_v7(), row_number() OVER (), 'https://images.example/' || sha256_hash, 'images.example', sha256_hash "+
			"FROM image_contents WHERE width = 512 OR sha256_hash IN (SELECT encode(sha256(int8send(i)), 'hex') FROM generate_series(1, %d, %d) AS i)",
			*imagesContents, *imagesContents/nearQueries),
		"VACUUM ANALYZE", "CHECKPOINT") {
		began := time.Now()
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err, sql)
		if took := time.Since(began); took > time.Second {
			b.Logf("%s: %.60s", took.Round(time.Millisecond), sql)
		}
	}
}

// requireExact holds the answer for a hash against what a look at every row finds.
func requireExact(b *testing.B, store *db.Store, to crawl.ImageContent) {
	b.Helper()
	collect := func(sql string) []string {
		var found []string
		err := pgx.BeginFunc(b.Context(), store.Pool(), func(tx pgx.Tx) error {
			if _, err := tx.Exec(b.Context(), "SET LOCAL enable_seqscan = on"); err != nil {
				return err
			}
			rows, err := tx.Query(b.Context(), sql, to.PHash.Bits(), report.ImageDistanceMax)
			if err == nil {
				found, err = pgx.CollectRows(rows, pgx.RowTo[string])
			}
			return err
		})
		require.NoError(b, err)
		return found
	}
	require.ElementsMatch(b,
		collect("SELECT sha256_hash FROM image_contents WHERE bit_count((phash # $1::bigint)::bit(64)) <= $2::integer"),
		collect("SELECT sha256_hash FROM images_near($1, NULL, $2::integer)"))
}

// logNear logs the sizes of the table and its indexes, and the plan of images_near.
func logNear(b *testing.B, store *db.Store, to crawl.ImageContent) {
	b.Helper()
	rows, err := store.Pool().Query(b.Context(), `SELECT relname || ': ' || pg_size_pretty(pg_relation_size(oid)) FROM pg_class
		WHERE relname LIKE 'image\_contents%' ORDER BY relname`)
	require.NoError(b, err)
	sizes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b, err)
	b.Log(strings.Join(sizes, ", "))
	config := store.Pool().Config().ConnConfig
	var plan []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { plan = append(plan, n.Message) }
	conn, err := pgx.ConnectConfig(b.Context(), config)
	require.NoError(b, err)
	defer conn.Close(context.WithoutCancel(b.Context()))
	for _, sql := range []string{
		"LOAD 'auto_explain'", "SET auto_explain.log_min_duration = 0", "SET auto_explain.log_analyze = on",
		"SET auto_explain.log_buffers = on", "SET auto_explain.log_nested_statements = on", "SET client_min_messages = log",
		fmt.Sprintf("SELECT count(*) FROM images_near(%d, NULL, %d)", to.PHash.Bits(), report.ImageDistanceMax),
	} {
		_, err := conn.Exec(b.Context(), sql)
		require.NoError(b, err, sql)
	}
	for _, text := range plan {
		if strings.Contains(text, "image_contents_band1") {
			b.Log(text)
		}
	}
}
