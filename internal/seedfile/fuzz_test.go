package seedfile_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/seedfile"
)

func FuzzRead(f *testing.F) {
	for source, list := range map[seeds.Source]string{
		seeds.URLs:     "\ufeff# c\r\n\r\nhttps://a.example/\r\nb.example\nme:pw@c.example\n1\n\xff",
		seeds.CSV:      "rank;url\n1;\"a.example\n\"\n\"2;b.example\n3;\"c\"\"\"d\n;;\n4\t5,6",
		seeds.Tranco:   "1,a.example\n2,b\n3",
		seeds.Majestic: "GlobalRank,TldRank,Domain\n1,1,a.example\n",
		seeds.OPML: "<?xml version='1.0' encoding='latin1'?><opml>\n<outline htmlUrl='a.example' xmlUrl='&amp;'>" +
			"<![CDATA[x]]></outline><!-- --></opml>",
	} {
		f.Add(string(source), "", []byte(list), int64(0), int64(0))
		f.Add(string(source), "2", []byte(list), int64(1), int64(2))
	}
	f.Add(strings.Repeat("x", 9000), "]", []byte("\xf3"), int64(0), int64(2))
	f.Add("csv", strings.Repeat("x", 9000), []byte("a,b\nc,d\n"), int64(0), int64(0))
	f.Add("csv", "url", []byte("a,\"url\"\n\"b\n"), int64(0), int64(0))
	f.Fuzz(func(t *testing.T, source, column string, list []byte, offset, limit int64) {
		o := seedfile.Options{Source: seeds.Source(source), Column: column, Offset: offset, Limit: limit}
		last, count := int64(1), int64(0)
		next := func(line int64) {
			require.GreaterOrEqual(t, line, last)
			if o.Source != seeds.OPML && count > 0 {
				require.Greater(t, line, last, "one entry a line")
			}
			require.LessOrEqual(t, line, int64(bytes.Count(list, []byte("\n")))+1)
			last = line
			count++
		}
		var texts []string
		err := seedfile.Read(t.Context(), bytes.NewReader(list), o, func(e seedfile.Entry) error {
			next(e.Line)
			u, err := urls.ParseSeed(e.Seed)
			require.NoError(t, err)
			require.Equal(t, u, e.URL)
			require.Equal(t, strings.TrimSpace(e.Seed), e.Seed)
			require.True(t, utf8.ValidString(e.Seed))
			require.LessOrEqual(t, len(e.Seed), seedfile.MaxRecordBytes)
			require.GreaterOrEqual(t, e.Rank, int64(0))
			texts = append(texts, e.Seed)
			return nil
		}, func(b seedfile.BadLine) error {
			next(b.Line)
			require.LessOrEqual(t, len(b.Text), 80)
			require.Equal(t, crawl.CleanText(b.Text, 80), b.Text)
			require.NotEmpty(t, b.Reason)
			require.LessOrEqual(t, len(b.Reason), 120)
			return nil
		})
		if err != nil {
			require.ErrorIs(t, err, crawl.ErrInvalid, "it can be read")
			require.Less(t, len(err.Error()), 4<<10)
		}
		if limit > 0 && o.Source != seeds.OPML {
			require.LessOrEqual(t, count, limit)
		}

		// Stopped at each seed, it gives the same.
		stop := errors.New("stop")
		if len(texts) > 0 {
			again := seedfile.Read(t.Context(), bytes.NewReader(list), o, func(e seedfile.Entry) error {
				require.Equal(t, texts[0], e.Seed)
				return stop
			}, func(seedfile.BadLine) error { return nil })
			require.ErrorIs(t, again, stop)
		}
	})
}

func FuzzFrom(f *testing.F) {
	f.Add([]byte(someHosts))
	f.Add([]byte(gzipped(f, someHosts)))
	f.Add([]byte(zipped(f, "lists/", "", "lists/list.csv", someHosts)))
	f.Add([]byte(zipped(f, "a", someHosts, "b", "")))
	f.Add([]byte("PK\x03\x06" + strings.Repeat("\n", 1_100))) // no archive, for its fourth byte
	f.Fuzz(func(t *testing.T, packed []byte) {
		const bound = 1 << 10
		file, err := seedfile.FromBounded(t.Context(), bytes.NewReader(packed), bound)
		if err != nil {
			return
		}
		got, err := io.ReadAll(file)
		if slices.ContainsFunc([]string{"PK\x03\x04", "PK\x05\x06", "\x1f\x8b"}, func(magic string) bool {
			return bytes.HasPrefix(packed, []byte(magic))
		}) {
			require.LessOrEqual(t, len(got), bound)
		} else {
			require.NoError(t, err)
			require.Equal(t, string(packed), string(got))
		}
		read, total := file.Progress()
		require.GreaterOrEqual(t, read, int64(0))
		require.GreaterOrEqual(t, total, int64(0))
		require.NoError(t, file.Close())
	})
}
