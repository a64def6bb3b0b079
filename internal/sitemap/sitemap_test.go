package sitemap_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/sitemap"
)

func read(body []byte) (sitemap.Format, []sitemap.Entry, error) {
	var entries []sitemap.Entry
	kind, err := sitemap.Read(body, "", func(e sitemap.Entry) bool {
		entries = append(entries, e)
		return true
	})
	return kind, entries, err
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	open = head + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`
)

func day(text string) time.Time {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return at
}

func TestRead(t *testing.T) {
	t.Parallel()
	plain := func(urls ...string) (list []sitemap.Entry) {
		for _, u := range urls {
			list = append(list, sitemap.Entry{Loc: u, Priority: 0.5})
		}
		return list
	}
	for name, c := range map[string]struct {
		body string
		kind sitemap.Format
		want []sitemap.Entry
		err  string
	}{
		"URLs": {
			open + `<url><loc> https://a.example/1 </loc><lastmod>2026-03-04</lastmod><changefreq>daily</changefreq>
				<priority>0.8</priority></url><url><loc>https://a.example/2</loc></url></urlset>`,
			sitemap.URLs,
			[]sitemap.Entry{{Loc: "https://a.example/1", LastMod: day("2026-03-04"), Priority: 0.8}, {Loc: "https://a.example/2", Priority: 0.5}},
			"",
		},
		"Index": {
			head + `<sitemapindex><sitemap><loc>https://a.example/s.xml.gz</loc><lastmod>2026-03-04T00:00:00Z</lastmod></sitemap></sitemapindex>`,
			sitemap.Index,
			[]sitemap.Entry{{Loc: "https://a.example/s.xml.gz", LastMod: day("2026-03-04"), Priority: 0.5}},
			"",
		},
		"Text":      {"\ufeffhttps://a.example/1\r\n\r\n  https://a.example/2\n", sitemap.URLs, plain("https://a.example/1", "https://a.example/2"), ""},
		"Empty":     {open + `</urlset>`, sitemap.URLs, nil, ""},
		"NotQuoted": {open + `<url><loc>https://a.example/?a=1&b=2&amp;c=3</loc></url></urlset>`, sitemap.URLs, plain("https://a.example/?a=1&b=2&c=3"), ""},
		"CharacterData": {
			open + `<url><loc><![CDATA[https://a.example/?a=1&b=2]]></loc></url></urlset>`, sitemap.URLs, plain("https://a.example/?a=1&b=2"), "",
		},
		"NoNamespaceOrAnother": {
			`<x:urlset><x:url><x:loc>https://a.example/1</x:loc></x:url></x:urlset>`, sitemap.URLs, plain("https://a.example/1"), "",
		},
		"ImagesAreNoPages": {
			open + `<url><image:image><image:loc>https://a.example/i.png</image:loc></image:image><loc>https://a.example/1</loc></url></urlset>`,
			sitemap.URLs, plain("https://a.example/1"), "",
		},
		"News": {
			open + `<url><loc>https://a.example/1</loc><news:news><news:publication><news:name>A</news:name></news:publication>
				<news:publication_date>2026-03-04</news:publication_date></news:news></url></urlset>`,
			sitemap.URLs,
			[]sitemap.Entry{{Loc: "https://a.example/1", LastMod: day("2026-03-04"), Priority: 0.5}},
			"",
		},
		"Languages": {
			open + `<url><loc>https://a.example/en</loc><xhtml:link rel="alternate" hreflang="de" href="https://a.example/de"/>
				<xhtml:link rel="canonical" href="https://a.example/x"/></url></urlset>`,
			sitemap.URLs,
			[]sitemap.Entry{{Loc: "https://a.example/en", Priority: 0.5, Alternates: []string{"https://a.example/de"}}},
			"",
		},
		"OddNumbersAndDates": {
			open + `<url><loc>https://a.example/1</loc><priority>7</priority><lastmod>yesterday</lastmod></url></urlset>`,
			sitemap.URLs, plain("https://a.example/1"), "",
		},
		"Latin1": {
			`<?xml version="1.0" encoding="ISO-8859-1"?><urlset><url><loc>https://a.example/` + "\xe9" + `</loc></url></urlset>`,
			sitemap.URLs, plain("https://a.example/é"), "",
		},
		"CutOff":    {open + `<url><loc>https://a.example/1</loc></url><url><loc>https://a.exam`, sitemap.URLs, plain("https://a.example/1"), "unexpected EOF"},
		"Malformed": {open + `<url><loc>https://a.example/1</loc></url><url <<<`, sitemap.URLs, plain("https://a.example/1"), "XML"},
		"Feed":      {head + `<rss version="2.0"><channel></channel></rss>`, sitemap.Feed, nil, ""},
		"HTML":      {`<!DOCTYPE html><html><body><a href="/">not found</a></body></html>`, sitemap.Unknown, nil, "not a sitemap"},
		"Nothing":   {"", sitemap.Unknown, nil, "not a sitemap"},
		"Noise":     {"\x00\x01\x02", sitemap.Unknown, nil, "not a sitemap"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, body := range [][]byte{[]byte(c.body), packed(t, c.body)} {
				kind, got, err := read(body)
				require.Equal(t, c.kind, kind)
				require.Equal(t, c.want, got)
				if c.err != "" {
					require.ErrorContains(t, err, c.err)
				} else {
					require.NoError(t, err)
				}
			}
		})
	}
}

// TestReadInOddSpellings checks files that browsers and other crawlers read.
func TestReadInOddSpellings(t *testing.T) {
	t.Parallel()
	utf16Of := func(order binary.AppendByteOrder, text string) string {
		var b []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			b = order.AppendUint16(b, unit)
		}
		return string(b)
	}
	const two = `<urlset><url><loc>https://a.example/é</loc></url><url><loc>https://a.example/2</loc></url></urlset>`
	for name, c := range map[string]struct {
		body, contentType string
		broken            bool
	}{
		"MarkOfUTF8":             {body: "\ufeff" + two},
		"MarkOfUTF8Declared":     {body: "\ufeff" + head + two, contentType: "application/xml; charset=latin1"},
		"UTF16WithAMark":         {body: utf16Of(binary.LittleEndian, "\ufeff"+two)},
		"UTF16BigWithAMark":      {body: utf16Of(binary.BigEndian, "\ufeff"+two), contentType: "text/xml; charset=utf-16"},
		"UTF16WithoutAMark":      {body: utf16Of(binary.LittleEndian, `<?xml version="1.0" encoding="UTF-16"?>`+two)},
		"SaidToBeUTF16":          {body: `<?xml version="1.0" encoding="UTF-16"?>` + two},
		"CharsetOfTheHeader":     {body: strings.ReplaceAll(two, "é", "\xe9"), contentType: "application/xml; charset=iso-8859-1"},
		"UnknownCharsets":        {body: `<?xml version="1.0" encoding="x-none"?>` + two, contentType: "application/xml; charset=none"},
		"Version11":              {body: `<?xml version="1.1" encoding="utf-8"?>` + two},
		"SpaceFirst":             {body: "\r\n <?xml version='1.1'?>" + two},
		"ForbiddenCharacter":     {body: strings.Replace(two, "<url>", "<url><x>\x08</x>", 2)},
		"BadByte":                {body: strings.Replace(two, "<url>", "<url><x>\xff</x>", 2)},
		"UnclosedLink":           {body: strings.Replace(two, "<url>", `<url><xhtml:link rel="alternate" href="/x">`, 1)},
		"UnclosedField":          {body: strings.Replace(two, "</loc></url>", "</loc><priority></url>", 1)},
		"UnclosedEntry":          {body: strings.Replace(two, "</url>", "", 1)},
		"EntryThatIsNoXML":       {body: strings.Replace(two, "</url><url>", `</url><url><loc <</loc></url><url>`, 1), broken: true},
		"TextWithCarriageReturn": {body: "https://a.example/é\rhttps://a.example/2\r"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			_, err := sitemap.Read([]byte(c.body), c.contentType, func(e sitemap.Entry) bool {
				got = append(got, e.Loc)
				return true
			})
			require.Equal(t, []string{"https://a.example/é", "https://a.example/2"}, got)
			require.Equal(t, c.broken, err != nil, "%v", err)
		})
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	t.Run("InURLs", func(t *testing.T) {
		t.Parallel()
		_, got, err := read([]byte(strings.Repeat("https://a.example/\n", sitemap.MaxEntries)))
		require.NoError(t, err)
		require.Len(t, got, sitemap.MaxEntries)
		_, got, err = read([]byte(strings.Repeat("https://a.example/\n", sitemap.MaxEntries+10)))
		require.ErrorContains(t, err, "more than 50000 URLs")
		require.Len(t, got, sitemap.MaxEntries)
	})
	t.Run("InWhatItUnpacksTo", func(t *testing.T) {
		t.Parallel()
		bomb := packed(t, open+"<url><loc>https://a.example/1</loc></url>"+strings.Repeat(" ", sitemap.MaxBytes)+"<url><loc>https://a.example/2</loc></url></urlset>")
		_, got, err := read(bomb)
		require.ErrorContains(t, err, "longer than")
		require.Len(t, got, 1)
	})
	t.Run("InAttributes", func(t *testing.T) {
		t.Parallel()
		_, got, err := read(packed(t, open+"<url><loc>https://a.example/1</loc></url><url"+strings.Repeat(" a", sitemap.MaxBytes/2)))
		require.ErrorContains(t, err, "longer than")
		require.Len(t, got, 1)
	})
	t.Run("InDeclarations", func(t *testing.T) {
		t.Parallel()
		many := strings.Repeat(`<?xml version="1.0" encoding="latin1"?>`, 100_000)
		_, got, err := read([]byte(open + "<url><loc>https://a.example/1</loc></url>" + many + "<url><loc>https://a.example/é</loc></url></urlset>"))
		require.NoError(t, err)
		require.Equal(t, "https://a.example/é", got[1].Loc)
	})
	t.Run("InMalformedPlaces", func(t *testing.T) {
		t.Parallel()
		_, got, err := read([]byte(open + "<url><loc>https://a.example/1</loc></url>" + strings.Repeat("<a <", 10_000) + "<url><loc>https://a.example/2</loc></url></urlset>"))
		require.ErrorContains(t, err, "XML")
		require.Len(t, got, 1)
	})
	t.Run("InDepthAndLength", func(t *testing.T) {
		t.Parallel()
		deep := open + strings.Repeat("<url>", 200_000) + strings.Repeat("<loc>"+strings.Repeat("x", 1<<20), 4)
		_, got, err := read([]byte(deep))
		require.Error(t, err)
		require.Empty(t, got)
	})
}

// BenchmarkRead reads 50,000 URLs.
func BenchmarkRead(b *testing.B) {
	var file strings.Builder
	file.WriteString(open)
	for i := range sitemap.MaxEntries {
		fmt.Fprintf(&file, "<url><loc>https://a.example/some/page/%d</loc><lastmod>2026-03-04T10:00:00Z</lastmod><priority>0.5</priority></url>\n", i)
	}
	file.WriteString("</urlset>")
	body := []byte(file.String())
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := sitemap.Read(body, "", func(sitemap.Entry) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(open + `<url><loc>https://a.example/1</loc><priority>0.5</priority></url></urlset>`))
	f.Add([]byte("https://a.example/\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		kind, err := sitemap.Read(body, "", func(e sitemap.Entry) bool {
			require.NotEmpty(t, e.Loc)
			require.LessOrEqual(t, e.Priority, 1.0)
			n++
			return true
		})
		if kind == sitemap.Unknown {
			require.Error(t, err)
			require.Zero(t, n)
		}
	})
}
