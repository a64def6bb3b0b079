package seedfile_test

import (
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/seedfile"
)

// BenchmarkRead reads a million entries each time. The heap is the most that is in use, as
// sampled; the list is written as it is read, and so not in it.
func BenchmarkRead(b *testing.B) {
	const count = 1_000_000
	for _, c := range []struct {
		name   string
		source seeds.Source
		head   string
		line   string // with # for its number
	}{
		{"URLs", seeds.URLs, "", "https://www.site-#.example.org/a/b.html\n"},
		{"Hosts", seeds.URLs, "", "site-#.example.org\n"},
		{"Tranco", seeds.Tranco, "", "#,site-#.example.org\n"},
		{"Majestic", seeds.Majestic, "GlobalRank,TldRank,Domain,TLD,RefSubNets,RefIPs\n", "#,#,site-#.com,com,495826,2357714\n"},
		{"Quoted", seeds.CSV, "name,url\n", "\"Site \"\"#\"\"\",\"https://site-#.example.org/\"\n"},
		{"Bad", seeds.URLs, "", "this line # is no seed\n"},
		{"OPML", seeds.OPML, "<opml>", "<outline text='Site' type='rss' xmlUrl='https://site-#.example.org/feed'/>\n"},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var now runtime.MemStats
			runtime.GC()
			most, entries := uint64(0), 0
			sample := func() {
				if entries++; entries%50_000 == 0 {
					runtime.ReadMemStats(&now)
					most = max(most, now.HeapInuse)
				}
			}
			for b.Loop() {
				entries = 0
				list := &numbered{line: []byte(c.line), left: count, text: []byte(c.head)}
				_ = seedfile.Read(b.Context(), list, seedfile.Options{Source: c.source},
					func(seedfile.Entry) error { sample(); return nil }, func(seedfile.BadLine) error { sample(); return nil })
				require.GreaterOrEqual(b, entries, count)
			}
			b.ReportMetric(float64(count*b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(most)/(1<<20), "heap-MB")
		})
	}
}

// numbered repeats a line as often as is left, with its number in place of #.
type numbered struct {
	line   []byte
	left   int
	number int64
	text   []byte
}

func (n *numbered) Read(p []byte) (int, error) {
	for len(n.text) < len(p) && n.left > 0 {
		n.left--
		n.number++
		for _, c := range n.line {
			if c == '#' {
				n.text = strconv.AppendInt(n.text, n.number, 10)
			} else {
				n.text = append(n.text, c)
			}
		}
	}
	if len(n.text) == 0 {
		return 0, io.EOF
	}
	read := copy(p, n.text)
	n.text = n.text[:copy(n.text, n.text[read:])]
	return read, nil
}

// BenchmarkParseSeed measures the part of BenchmarkRead that is outside this package.
func BenchmarkParseSeed(b *testing.B) {
	for name, seed := range map[string]string{
		"Host": "site-123456.example.org", "URL": "https://www.site-123456.example.org/a/b.html", "Bad": "this line is no seed",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = urls.ParseSeed(seed)
			}
		})
	}
}

// BenchmarkFrom unpacks the lists that BenchmarkRead reads.
func BenchmarkFrom(b *testing.B) {
	var list strings.Builder
	for i := range 1_000_000 {
		fmt.Fprintf(&list, "%[1]d,site-%[1]d.example.org\n", i+1)
	}
	for name, packed := range map[string]string{"GZIP": gzipped(b, list.String()), "ZIP": zipped(b, "top-1m.csv", list.String())} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(list.Len()))
			for b.Loop() {
				f, err := seedfile.From(b.Context(), strings.NewReader(packed))
				require.NoError(b, err)
				_, err = io.Copy(io.Discard, f)
				require.NoError(b, err)
				require.NoError(b, f.Close())
			}
		})
	}
}
