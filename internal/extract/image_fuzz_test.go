package extract_test

import (
	"html"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

// requireBounded checks what holds for the images of any page.
func requireBounded(t *testing.T, images []extract.Image, most int) {
	t.Helper()
	require.LessOrEqual(t, len(images), most)
	seen := map[urls.URL]bool{}
	for _, i := range images {
		require.NotEqual(t, urls.URL{}, i.URL)
		require.False(t, seen[i.URL], "twice: %v", i.URL)
		seen[i.URL] = true
		require.Equal(t, i.URL, mustURL(t, i.URL.String()))
		require.NotEmpty(t, i.Discovery)
		require.LessOrEqual(t, len(i.Variants), extract.MaxImageVariants)
		for at, v := range i.Variants {
			require.NotEqual(t, i.URL, v)
			require.NotContains(t, i.Variants[:at], v)
		}
		for _, text := range []string{i.Alt, i.Caption} {
			require.LessOrEqual(t, len(text), extract.MaxImageTextBytes)
			require.True(t, utf8.ValidString(text))
			require.True(t, norm.NFC.IsNormalString(text))
			require.Equal(t, strings.Join(strings.Fields(text), " "), text)
		}
		require.True(t, 0 <= i.Width && i.Width <= 100_000 && 0 <= i.Height && i.Height <= 100_000)
	}
}

// imagePieces are elements that may be inside each other in any order without a parser
// moving them. "~" is where others go.
var imagePieces = []string{
	"<div>~</div>", "<span>~</span>", "<figure>~</figure>", "<figcaption>~</figcaption>", "<picture>~</picture>", "<noscript>~</noscript>",
	"<section style='background-image:url(s.jpg)'>~</section>", "<img src=a.jpg>", "<img src=b.jpg alt='B b' width=3>", "<img src=b.jpg height=7>",
	"<img src=a.jpg srcset='b.jpg 100w, c.jpg 900w'>", "<img src='data:,x'>", "<img src=d.svg>", "<img src=blank.gif data-src=c.jpg alt=C>",
	"<img src=low.jpg data-srcset='e.jpg 1x, f.jpg 2x'>", "<img src='http://'>", "<img>", "<source srcset='g.webp 2x' type=image/webp>",
	"<source srcset='h.avif, a.jpg 2x' type=image/avif>", "<source srcset=d type=image/svg+xml>", "<source data-srcset=i.jpg>", "words ", "Ünï ", "&amp;&#x301;",
	"<!-- c -->", "<script>var a = '<img src=no>'</script>", "<p style='background:url(b.jpg), url(\"j.png\")'>~</p>", "<i data-bg=k.jpg>~</i>", "<i data-bgset='l.jpg 9w [--s] | b.jpg 8w'>~</i>", "<svg><image href=n /></svg>",
	"<template>~</template>", "<meta property=og:image content=c.jpg>", "<meta property=og:image:alt content=G>", "<link rel=icon href=a.jpg sizes=9x9>", "<br>", "\n",
}

// drawPage draws a page whose elements are all closed: for it both readers must agree.
func drawPage(draw func(n int) int, depth int) string {
	var b strings.Builder
	for range draw(6) {
		piece := imagePieces[draw(len(imagePieces))]
		before, after, nested := strings.Cut(piece, "~")
		// An element that a paragraph may not contain ends it. Tag by tag, the end of a
		// template or noscript inside another one ends the outer one.
		b.WriteString(before)
		flat := strings.HasPrefix(piece, "<p ") || strings.HasPrefix(piece, "<noscript") || strings.HasPrefix(piece, "<template")
		if nested && depth > 0 && !flat {
			b.WriteString(drawPage(draw, depth-1))
		} else if nested {
			b.WriteString("<img src=b.jpg alt=x>text")
		}
		b.WriteString(after)
	}
	return b.String()
}

func TestImagesAreTheSameForBothReaders(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(31, 32))
	for range 3000 {
		requireSame(t, "<body>"+drawPage(rng.IntN, 5))
	}
}

func FuzzImages(f *testing.F) {
	f.Add([]byte("figure, picture"))
	f.Add([]byte{5, 4, 5, 17, 7, 8, 2, 13})
	f.Fuzz(func(t *testing.T, drawn []byte) {
		requireSame(t, "<body>"+drawPage(func(n int) int {
			if len(drawn) == 0 {
				return 0
			}
			next := int(drawn[0])
			drawn = drawn[1:]
			return next % n
		}, 5))
	})
}

// What is broken need not be read the same, but within the same bounds.
func FuzzImagesOfBrokenPages(f *testing.F) {
	for _, s := range slices.Concat(fuzzSeeds, imagePieces) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, limits := range []extract.Limits{{Images: true, MaxImages: 5}, {Images: true, MaxImages: 5, MaxDOMBytes: 1}} {
			requireBounded(t, mustHTML(t, string(body), limits).Images, 5)
		}
	})
}

func FuzzBackgroundSet(f *testing.F) {
	f.Add("a 9w 3h, b 2w [(max-width: 1px)] [type: image/avif] | c [--small]| d")
	f.Add("| [ | ] |")
	f.Fuzz(func(t *testing.T, set string) {
		if len(set) > 10_000 {
			t.Skip()
		}
		requireSame(t, `<p data-bgset="`+html.EscapeString(set)+`">`)
	})
}

func FuzzCSS(f *testing.F) {
	for _, c := range cssCases {
		f.Add(c.style)
	}
	f.Fuzz(func(t *testing.T, style string) {
		if len(style) > 10_000 {
			t.Skip()
		}
		requireSame(t, `<p style="`+html.EscapeString(style)+`">`)
	})
}
