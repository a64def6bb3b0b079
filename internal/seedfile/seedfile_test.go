package seedfile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/seeds"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/seedfile"
)

// read reads a list. An entry is told as "line seed", with its rank if it has one and
// whether it is a feed, a bad line as "line! text: reason".
func read(t *testing.T, o seedfile.Options, r io.Reader) ([]string, error) {
	t.Helper()
	var got []string
	err := seedfile.Read(t.Context(), r, o, func(e seedfile.Entry) error {
		u, err := urls.ParseSeed(e.Seed)
		require.NoError(t, err)
		require.Equal(t, u, e.URL)
		text := fmt.Sprintf("%d %s", e.Line, e.Seed)
		if e.Rank != 0 {
			text += fmt.Sprintf(" #%d", e.Rank)
		}
		if e.Feed {
			text += " feed"
		}
		got = append(got, text)
		return nil
	}, func(b seedfile.BadLine) error {
		got = append(got, fmt.Sprintf("%d! %s: %s", b.Line, b.Text, b.Reason))
		return nil
	})
	return got, err
}

// wants is a list and what is read of it.
type wants struct {
	list string
	o    seedfile.Options
	want []string
}

// check reads lists, at once and in small parts.
func check(t *testing.T, source seeds.Source, cases map[string]wants) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.o.Source = source
			for _, r := range []io.Reader{
				strings.NewReader(c.list), iotest.OneByteReader(strings.NewReader(c.list)), iotest.DataErrReader(strings.NewReader(c.list)),
			} {
				got, err := read(t, c.o, r)
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			}
		})
	}
}

const (
	neither = "neither an http or https URL nor a host"
	long    = "the line is longer than 64 KiB"
)

func TestReadURLs(t *testing.T) {
	t.Parallel()
	atLimit := "https://a.example/#" + strings.Repeat("x", seedfile.MaxRecordBytes-19)
	check(t, seeds.URLs, map[string]wants{
		"TakesURLsAndHosts": {
			list: "https://a.example/x\nb.example:8443/y\n[2001:db8::1]\n192.0.2.7\nbücher.example",
			want: []string{"1 https://a.example/x", "2 b.example:8443/y", "3 [2001:db8::1]", "4 192.0.2.7", "5 bücher.example"},
		},
		"SkipsBlankLinesAndComments": {
			list: "# mine\n\n  \n\t# too\n a.example \n\n",
			want: []string{"5 a.example"},
		},
		"TakesAByteOrderMarkAndTheLineEndsOfWindows": {
			list: "\ufeffa.example\r\n\r\n# c\r\nb.example\r\n",
			want: []string{"1 a.example", "4 b.example"},
		},
		"ReadsNothingOfNothing": {},
		"TellsWhatIsNoSeed": {
			list: "word\nftp://a.example/\nhttps://exa mple.org/\nhttps://a.example:x/\nexample.org\n",
			want: []string{
				"1! word: " + neither,
				"2! ftp://a.example/: scheme is not http or https",
				"3! https://exa mple.org/: host is missing or malformed",
				"4! https://a.example:x/: malformed",
				"5 example.org",
			},
		},
		"TakesNoColumnsForAHost": {
			list: "1\ta.example\na.example\tb.example\na.example\rb.example\n12\n0.85\n24.12.2026\n.\n",
			want: []string{
				"1! 1 a.example: the line has a tab, a line end or another control character",
				"2! a.example b.example: the line has a tab, a line end or another control character",
				"3! a.example b.example: the line has a tab, a line end or another control character",
				"4! 12: a number is neither a URL nor a host",
				"5! 0.85: a number is neither a URL nor a host",
				"6! 24.12.2026: a number is neither a URL nor a host",
				"7! .: " + neither,
			},
		},
		"TakesUTF8Only": {
			list: "https://a.example/\xfcber\n",
			want: []string{"1! https://a.example/\ufffdber: the line is not in UTF-8"},
		},
		"ShowsNoPasswords": {
			list: "https://me:secret@a.example/\nme:secret@a.example\nhttps://me:secret@a.example/\x01x\n" +
				"x me:secret@a.example\n",
			want: []string{
				"1! https://…@a.example/: user names and passwords are refused",
				"2! …@a.example: user names and passwords are refused",
				"3! https:…@a.example/x: the line has a tab, a line end or another control character",
				"4! …@a.example: user names and passwords are refused",
			},
		},
		"ShowsNoEscapesAndNoMoreThanALine": {
			list: "\x1b[31m" + strings.Repeat("ä", 100) + "\n",
			want: []string{"1! [31m" + strings.Repeat("ä", 36) + "…: the line has a tab, a line end or another control character"},
		},
		"PassesALineThatIsTooLong": {
			list: "a.example\n" + strings.Repeat("x", seedfile.MaxRecordBytes+1) + "\nb.example\n" +
				"#" + strings.Repeat("x", 5*seedfile.MaxRecordBytes) + "\nc.example\n" + strings.Repeat("y", 9*seedfile.MaxRecordBytes),
			want: []string{
				"1 a.example", "2! " + strings.Repeat("x", 77) + "…: " + long, "3 b.example", "5 c.example",
				"6! " + strings.Repeat("y", 77) + "…: " + long,
			},
		},
		"TakesALineThatIsAsLongAsItMay": {
			list: atLimit + "\r\n" + atLimit + "\n" + atLimit + "x\r\n" + atLimit,
			want: []string{
				"1! https://a.example/#" + strings.Repeat("x", 58) + "…: longer than 2048 bytes",
				"2! https://a.example/#" + strings.Repeat("x", 58) + "…: longer than 2048 bytes",
				"3! https://a.example/#" + strings.Repeat("x", 58) + "…: " + long,
				"4! https://a.example/#" + strings.Repeat("x", 58) + "…: longer than 2048 bytes",
			},
		},
		"SkipsAndStops": {
			list: "# c\na.example\nword\n\nb.example\nword\nc.example\nd.example\n",
			o:    seedfile.Options{Offset: 1, Limit: 4},
			want: []string{"3! word: " + neither, "5 b.example", "6! word: " + neither, "7 c.example"},
		},
		"CountsLongLinesWhenItSkips": {
			list: strings.Repeat("x", seedfile.MaxRecordBytes+1) + "\na.example\nb.example\n",
			o:    seedfile.Options{Offset: 1, Limit: 1},
			want: []string{"2 a.example"},
		},
		"ReadsNothingPastTheEnd": {
			list: "a.example\nb.example\n",
			o:    seedfile.Options{Offset: 3},
		},
	})
}

func TestReadStops(t *testing.T) {
	t.Parallel()
	ignore := func(seedfile.BadLine) error { return nil }

	t.Run("AtTheLimitWithoutReadingOn", func(t *testing.T) {
		t.Parallel()
		in := io.MultiReader(strings.NewReader("a.example\nb.example\n"), iotest.ErrReader(errors.New("read on")))
		got, err := read(t, seedfile.Options{Source: seeds.URLs, Limit: 2}, in)
		require.NoError(t, err)
		require.Equal(t, []string{"1 a.example", "2 b.example"}, got)
	})

	t.Run("WhereACallbackSaysSo", func(t *testing.T) {
		t.Parallel()
		stop := errors.New("stop")
		for source, list := range map[seeds.Source]string{
			seeds.URLs: "a.example\nword\n", seeds.CSV: "url\na.example\nword\n",
			seeds.OPML: `<opml><outline htmlUrl="a.example"/><outline xmlUrl="word"/></opml>`,
		} {
			o := seedfile.Options{Source: source}
			count := 0
			err := seedfile.Read(t.Context(), strings.NewReader(list), o, func(seedfile.Entry) error {
				count++
				return stop
			}, ignore)
			require.ErrorIs(t, err, stop)
			require.Equal(t, 1, count)
			err = seedfile.Read(t.Context(), strings.NewReader(list), o, func(seedfile.Entry) error { return nil },
				func(seedfile.BadLine) error { return stop })
			require.ErrorIs(t, err, stop)
		}
	})

	t.Run("WhenTheContextIsDone", func(t *testing.T) {
		t.Parallel()
		for source, list := range map[seeds.Source]string{
			seeds.URLs: "a.example\n", seeds.CSV: "a.example\n", seeds.OPML: `<outline htmlUrl="a.example"/>`,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			in := repeated(list, 1<<40)
			if source == seeds.OPML {
				in = io.MultiReader(strings.NewReader("<opml>"), in)
			}
			count := 0
			err := seedfile.Read(ctx, in, seedfile.Options{Source: source}, func(seedfile.Entry) error {
				if count++; count == 3 {
					cancel()
				}
				return nil
			}, ignore)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, 3, count)

			// Nothing is an entry that would notice.
			err = seedfile.Read(ctx, &endless{text: []byte("#\n")}, seedfile.Options{Source: source}, nil, nil)
			require.ErrorIs(t, err, context.Canceled)
		}
	})

	t.Run("WhereItCannotBeRead", func(t *testing.T) {
		t.Parallel()
		broken := errors.New("broken")
		for source, list := range map[seeds.Source]string{
			seeds.URLs:     "a.example\nb.exam",
			seeds.CSV:      "a.example\n\"b.exam",
			seeds.Tranco:   "1,a.example\n2,b.exam",
			seeds.Majestic: "GlobalRank,Domain\n1,b.exam",
			seeds.OPML:     "<opml>\n<outline htmlUrl='a.exam",
		} {
			got, err := read(t, seedfile.Options{Source: source}, io.MultiReader(strings.NewReader(list), iotest.ErrReader(broken)))
			require.ErrorIs(t, err, broken)
			require.ErrorContains(t, err, "line 2")
			for _, line := range got {
				require.NotContains(t, line, "b.exam", "half a host is another host")
			}
		}
		_, err := read(t, seedfile.Options{Source: seeds.URLs}, iotest.ErrReader(broken))
		require.ErrorIs(t, err, broken)
		_, err = read(t, seedfile.Options{Source: seeds.URLs}, idle{})
		require.ErrorIs(t, err, io.ErrNoProgress)
	})
}

func TestReadRefusesOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    seedfile.Options
		list string
		want string
	}{
		"NoSource":       {seedfile.Options{}, "", `source "": unknown; want one of [urls csv tranco majestic opml]`},
		"UnknownSource":  {seedfile.Options{Source: "xls"}, "", `source "xls": unknown`},
		"NegativeOffset": {seedfile.Options{Source: seeds.URLs, Offset: -1}, "", "offset -1: want 0 or more"},
		"NegativeLimit":  {seedfile.Options{Source: seeds.URLs, Limit: -1}, "", "limit -1: want 1 or more"},
		"ColumnOfLines":  {seedfile.Options{Source: seeds.URLs, Column: "2"}, "", `column "2": only the source csv has columns`},
		"RankOfLines":    {seedfile.Options{Source: seeds.OPML, RankColumn: "2"}, "", `rank column "2": only the source csv`},
		"UTF16":          {seedfile.Options{Source: seeds.URLs}, "\xff\xfea\x00", "the list is in UTF-16; want UTF-8"},
		"UTF16BigEndian": {seedfile.Options{Source: seeds.OPML}, "\xfe\xff\x00<", "the list is in UTF-16; want UTF-8"},
		"NoColumnOfThatName": {
			seedfile.Options{Source: seeds.CSV, Column: "city"},
			"rank,address\n1,a.example\n",
			`column "city": the list has no such column; want "rank", "address", or a number from 1 to 2`,
		},
		"NoColumnOfThatNumber": {
			seedfile.Options{Source: seeds.CSV, Column: "3"},
			"1,a.example\n",
			`column "3": the list has no such column; want a number from 1 to 2, because the list has no header`,
		},
		"NoColumnZero": {
			seedfile.Options{Source: seeds.CSV, Column: "0"},
			"a.example\n",
			`column "0": the list has no such column; want 1, its only column, because the list has no header`,
		},
		"NoColumnOfAHugeNumber": {
			seedfile.Options{Source: seeds.CSV, Column: "99999999999999999999"}, "a.example\n", "the list has no such column",
		},
		"NoRankColumn": {
			seedfile.Options{Source: seeds.CSV, RankColumn: "place"},
			"url;n\na.example;1\n",
			`rank column "place": the list has no such column; want "url", "n", or`,
		},
		"NoSeeds": {
			seedfile.Options{Source: seeds.CSV},
			"name,colour\nowl,\x1b[1mbrown\n",
			`column: line 2 of the list has no URL and no host; name the column: "name", "colour", or a number`,
		},
		"ManyColumns": {
			seedfile.Options{Source: seeds.CSV, Column: "y"}, strings.Repeat("x,", 29) + "x\n", `"x", 10 more, or a number from 1 to 30`,
		},
		"NoTranco":   {seedfile.Options{Source: seeds.Tranco}, "a.example\n", "source tranco: the list has no column 2; want another source"},
		"NoMajestic": {seedfile.Options{Source: seeds.Majestic}, "1,a.example\n", "source majestic: the list has no column Domain; want"},
		"HalfMajestic": {
			seedfile.Options{Source: seeds.Majestic}, "Rank,Domain\n1,a.example\n", "source majestic: the list has no column GlobalRank; want",
		},
		"NoOPML": {
			seedfile.Options{Source: seeds.OPML}, "<html><body>", `source opml: the list begins with the element "html"; want OPML`,
		},
		"NoXML": {seedfile.Options{Source: seeds.OPML}, "a.example\n", "source opml: the list has no element"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read(t, c.o, strings.NewReader(c.list))
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\x1b")
			require.Empty(t, got)
		})
	}
}

// The test measures what the whole process allocates.
//
//nolint:paralleltest // see above
func TestReadHoldsOneRecord(t *testing.T) {
	const size = 64 << 20
	for name, c := range map[string]struct {
		source seeds.Source
		list   io.Reader
	}{
		"ALine":      {seeds.URLs, repeated("x", size)},
		"AComment":   {seeds.URLs, repeated("#", size)},
		"ARecord":    {seeds.CSV, repeated("x,", size)},
		"AQuote":     {seeds.CSV, repeated(`"`, size)},
		"AnOpenLine": {seeds.CSV, io.MultiReader(strings.NewReader("url\na.example\n\""), repeated("x", size))},
		"ATag":       {seeds.OPML, io.MultiReader(strings.NewReader("<opml "), repeated("a ", size))},
		"AText":      {seeds.OPML, io.MultiReader(strings.NewReader("<opml>"), repeated("a ", size))},
		"Depth":      {seeds.OPML, io.MultiReader(strings.NewReader("<opml>"), repeated("<outline>", size/10))},
		"Encodings": {seeds.OPML, io.MultiReader(
			repeated(`<?xml version="1.0" encoding="latin1"?>`, size/10), strings.NewReader("<opml></opml>"),
		)},
	} {
		t.Run(name, func(t *testing.T) {
			var most uint64
			list := &sampled{c.list, &most}
			var before runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			_, err := read(t, seedfile.Options{Source: c.source}, list)
			if err != nil {
				require.ErrorIs(t, err, crawl.ErrInvalid)
			}
			require.Less(t, int64(most)-int64(before.HeapAlloc), int64(20<<20))
		})
	}
}

// sampled looks at the heap now and then while it is read.
type sampled struct {
	io.Reader

	most *uint64
}

func (s *sampled) Read(p []byte) (int, error) {
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	*s.most = max(*s.most, now.HeapAlloc)
	return s.Reader.Read(p[:min(len(p), 1<<20)])
}

func repeated(text string, size int64) io.Reader {
	return io.LimitReader(&endless{text: bytes.Repeat([]byte(text), 1+4096/len(text))}, size)
}

// endless repeats a text.
type endless struct {
	text []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.text[e.at:])
	e.at = (e.at + n) % len(e.text)
	return n, nil
}

// idle neither reads nor ends.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }
