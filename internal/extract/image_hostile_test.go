package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

// hostileImages are pages whose images are to cost more than they should. Each ends in
// one that is found.
func hostileImages() map[string]string {
	const (
		size   = 10 << 20  // what the fetcher lets through
		inTree = 1<<20 - 9 // what a DOM is made of
	)
	fill := func(size int, s string) string { return strings.Repeat(s, size/len(s)) }
	const end = "<img src=/end.jpg>"
	tooMany := func(s string) string { return end + s }
	pages := map[string]string{
		"10,000 images":                  tooMany(numbered(10_000, "<img src=%d>")),
		"10 MB of images":                tooMany(numbered(size/20, "<img src=/%07d.jpg>")),
		"10 MB of one image":             fill(size, "<img src=a srcset='b 2x'>") + end,
		"10 MB of images of 16 variants": tooMany(numbered(size/240, "<img src=%d srcset='"+strings.Repeat("%[1]d/x 1w, ", 18)+"'>")),
		"variants of each other":         tooMany(numbered(9_000, "<img srcset='%d 2x, /end.jpg, a, b, c, d, e, f'>")),
		"nested pictures":                fill(inTree/2, "<picture><source srcset=a>") + end,
		"10 MB of nested pictures":       fill(size, "<picture><source srcset=a>") + end,
		"sources of one picture":         "<picture>" + fill(size, "<source srcset='a 1w, b 2w, c 3w'>") + "<img src=a></picture>" + end,
		"nested figures":                 fill(inTree/2, "<figure><img src=a>") + end + fill(inTree/2, "<figcaption>x</figcaption></figure>"),
		"figures and no ends":            fill(size/2, "<figure><img src=a><figcaption>") + end,
		"images of one figure":           end + "<figure>" + numbered(size/20, "<img src=/%07d.jpg>") + "<figcaption>" + fill(size/2, "x ") + "</figcaption></figure>",
		"10 MB of captions":              end + "<figure>" + fill(size, "<figcaption>x</figcaption>"),
		"10 MB of Open Graph":            fill(size, "<meta property=og:image content=a><meta property=og:image:secure_url content=b>") + end,
		"10 MB of icons":                 tooMany(numbered(size/40, "<link rel=icon sizes='1x1 2x2' href=%d>")),
		"sizes of many words":            "<link rel=icon href=/end.jpg sizes='" + fill(200_000, "9x9 ") + "'>",
		"data in each":                   fill(size, "<img src='data:"+strings.Repeat("x", 50_000)+"'>") + end,
	}
	// Attributes of as much as a DOM takes, and as tags take.
	for name, length := range map[string]int{"1 MB": inTree - 2000, "200 KB": 200_000} {
		for what, attribute := range map[string]string{
			"srcset":                 `srcset="` + numberedSet(length/20) + `"`,
			"srcset of commas":       `srcset="` + fill(length, ",") + `"`,
			"srcset of blanks":       `srcset="` + fill(length, "\t") + `"`,
			"srcset of malformed":    `srcset="` + fill(length, "a x,") + `"`,
			"srcset in parentheses":  `srcset="a ` + fill(length, "(,") + `"`,
			"srcset of descriptors":  `srcset="a ` + fill(length, "1w ") + `"`,
			"srcset of digits":       `srcset="a ` + fill(length, "9") + `w"`,
			"srcset of a float":      `srcset="a ` + fill(length, "9") + `x"`,
			"srcset of data":         `srcset="` + fill(length, "data:,x 1x,") + `"`,
			"bgset":                  `data-bgset="` + fill(length, "a 1w, ") + `"`,
			"bgset of sets":          `data-bgset="` + fill(length, "a [x] | ") + `"`,
			"bgset of bars":          `data-bgset="` + fill(length, "| ") + `"`,
			"bgset of brackets":      `data-bgset="a` + fill(length, " [x]") + `"`,
			"bgset of parentheses":   `data-bgset="a [` + fill(length, "(") + `type:` + fill(length, ")") + `]"`,
			"bgset of data":          `data-bgset="` + fill(length, "data:,x | ") + `"`,
			"style":                  `style="background:` + fill(length, "url(a),") + `"`,
			"style of declarations":  `style="` + fill(length, "background:url(a);") + `"`,
			"style of blocks":        `style="background:` + fill(length, "([{") + `"`,
			"style of image sets":    `style="background:` + fill(length, "image-set(url(a),") + `"`,
			"style of one image set": `style="background:image-set(` + fill(length, "url(a) 1x,") + `"`,
			"style of open comments": `style="background:(` + fill(length, "/*") + `"`,
			"style of comments":      `style="` + fill(length, "/**/") + `(url("`,
			"style of escapes":       `style="background:url(` + fill(length, `\6`) + `"`,
			"style of open strings":  `style="background:(` + fill(length, "'\n") + `"`,
			"style of bad URLs":      `style="background:` + fill(length, "url(a b\\)") + `"`,
			"style of open URLs":     `style="background:` + fill(length, "url( ") + `"`,
			"style of junk":          `style="background:(` + fill(length, "\x01\\\n") + `"`,
			"alt":                    `alt="` + fill(length, "e\u0301") + `"`,
			"width":                  `width="` + fill(length, "9") + `"`,
			"one name":               strings.Repeat(" data-src=a", length/11),
		} {
			pages[name+" of "+what] = "<img src=/end.jpg " + attribute + ">" + end
		}
	}
	return pages
}

func numbered(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestImagesSurviveHostilePages(t *testing.T) {
	t.Parallel()
	end := mustURL(t, "https://example.org/end.jpg")
	for why, body := range hostileImages() {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			page := mustHTML(t, body, extract.Limits{Images: true})
			t.Logf("%.1f MB in %v, %d images", float64(len(body))/1e6, time.Since(start).Round(time.Millisecond), len(page.Images))
			requireBounded(t, page.Images, extract.MaxImagesDefault)
			named := false
			for _, i := range page.Images {
				named = named || i.URL == end
				for _, v := range i.Variants {
					named = named || v == end
				}
			}
			require.True(t, named, "the image is not found")
		})
	}
}

// galleryPage is about as long as articlePage, and has an image where that has a link.
func galleryPage() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><head><meta charset=utf-8><title>A gallery</title><meta property=og:image content=/og.jpg></head><body>`)
	for i := range 150 {
		fmt.Fprintf(&b, `<figure class="item" style="margin: 0"><img src="/i/%d-300.jpg" srcset="/i/%[1]d-300.jpg 300w, /i/%[1]d-600.jpg 600w" width=300 height=200 alt="Picture %[1]d">`+
			`<figcaption>Some text with <em>emphasis</em> below.</figcaption></figure>`, i)
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkImages(b *testing.B) {
	for _, bench := range []struct {
		name string
		body []byte
	}{{"Article", articlePage()}, {"Gallery", galleryPage()}} {
		for _, asked := range []bool{false, true} {
			for reader, limits := range map[string]extract.Limits{"DOM": {}, "Tags": onlyTags} {
				limits.Images = asked
				b.Run(fmt.Sprintf("%s/%s/images=%t", bench.name, reader, asked), func(b *testing.B) {
					base := urls.Spelt{URL: mustURL(b, pageURL)}
					b.SetBytes(int64(len(bench.body)))
					b.ReportAllocs()
					for b.Loop() {
						_, _ = extract.HTML(bench.body, base, limits)
					}
				})
			}
		}
	}
}
