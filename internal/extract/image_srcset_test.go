package extract_test

import (
	"fmt"
	"html"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
)

// srcsetCases maps a srcset to the image that a browser shows, or to "" for no image. The cases are
// from web-platform-tests (BSD-3-Clause, commit 704d739c5a),
// html/semantics/embedded-content/the-img-element/srcset/parse-a-srcset-attribute.html. Paths
// replace its data: URLs.
var srcsetCases = map[string]string{
	// The splitting loop.
	"": "", ",": "", ",,,": "",
	"  /,a  1x  ": "/,a", "\t\t/,a\t\t1x\t\t": "/,a", "\n\n/,a\n\n1x\n\n": "/,a", "\f\f/,a\f\f1x\f\f": "/,a", "\r\r/,a\r\r1x\r\r": "/,a",
	"/,a": "/,a", "/,a ": "/,a", "/,a ,": "/,a", "/,a,": "/,a", "/,a, ": "/,a", "/,a,,,": "/,a", "/,a,, , ": "/,a",
	" /,a": "/,a", ",,,/,a": "/,a", " , ,,/,a": "/,a", "/,a\u00a0": "/,a%C2%A0", "/\v,a\v1x\v": "/%0B,a%0B1x",
	// The tokenizer of descriptors.
	"/,a 1x": "/,a", "/,a 1x ": "/,a", "/,a 1x,": "/,a", "/,a ( , /,b 1x, ), /,c": "/,c", "/,a ((( , /,b 1x, ), /,c": "/,c",
	"/,a [ , /,b 1x, ], /,c": "/,b", "/,a { , /,b 1x, }, /,c": "/,b", `/,a " , /,b 1x, ", /,c`: "/,b", "/,a ~,/;,b, /,c": "/;,b",
	"/,a, /,b (": "/,a", "/,a, /,b (  ": "/,a", "/,a, /,b (,": "/,a", "/,a, /,b (x": "/,a", "/,a, /,b ()": "/,a", "/,a (, /,b": "",
	"/,a /*, /,b, /,c */": "/,b", "/,a //, /,b": "/,b",
	// The parser of descriptors.
	"/,a foo": "", "/,a foo foo": "", "/,a foo 1x": "", "/,a foo 1x foo": "", "/,a foo 1w": "", "/,a foo 1w foo": "", "/,a 1x 1x": "",
	"/,a 1w 1w": "", "/,a 1w 1x": "", "/,a 1x 1w": "", "/,a 1w 1h": "/,a", "/,a 1h 1w": "/,a", "/,a 1h 1h": "", "/,a 1h 1x": "",
	"/,a 1h 1w 1x": "", "/,a 1x 1w 1h": "", "/,a 1h": "", "/,a 1h foo": "", "/,a foo 1h": "", "/,a 0w": "", "/,a -1w": "", "/,a 1w -1w": "",
	"/,a 1.0w": "", "/,a 1w 1.0w": "", "/,a 1e0w": "", "/,a 1w 1e0w": "", "/,a 1www": "", "/,a 1w 1www": "", "/,a +1w": "", "/,a 1w +1w": "",
	"/,a 1W": "", "/,a 1w 1W": "", "/,a Infinityw": "", "/,a 1w Infinityw": "", "/,a NaNw": "", "/,a 1w NaNw": "", "/,a 0x1w": "", "/,a 0X1w": "",
	"/,a 0x": "/,a", "/,a -0x": "/,a", "/,a 1x -0x": "", "/,a -1x": "", "/,a 1x -1x": "", "/,a 1e0x": "/,a", "/,a 1E0x": "/,a",
	"/,a 1e-1x": "/,a", "/,a 1.5e1x": "/,a", "/,a -x": "", "/,a .x": "", "/,a -.x": "", "/,a 1.x": "", "/,a .5x": "/,a", "/,a .5e1x": "/,a",
	"/,a 1x 1.5e1x": "", "/,a 1x 1e1.5x": "", "/,a 1.0x": "/,a", "/,a 1x 1.0x": "", "/,a +1x": "", "/,a 1X": "", "/,a Infinityx": "",
	"/,a NaNx": "", "/,a 0x1x": "", "/,a 0X1x": "", "/,a 1w 0h": "", "/,a 1w -1h": "", "/,a 1w 1.0h": "", "/,a 1w 1e0h": "", "/,a 1w 1hhh": "",
	"/,a 1w +1h": "", "/,a 1w 1H": "", "/,a 1w Infinityh": "", "/,a 1w NaNh": "", "/,a 0x1h": "", "/,a 0X1h": "",
	// Mosey's own cases: numbers that Go parses and HTML does not, and numbers out of range.
	"/,a 1_0x": "", "/,a 0x1p1x": "", "/,a infx": "", "/,a ex": "", "/,a 1ex": "", "/,a 1e+1x": "/,a", "/,a 1e999x": "",
	"/,a 99999999999999999999w, /b 2w": "/b", "/,a 1x ,/b 2x": "/b",
}

func TestImagesOfSrcsetLikeBrowsers(t *testing.T) {
	t.Parallel()
	cases := maps.Clone(srcsetCases)
	for _, unit := range []string{"w", "x"} {
		for _, r := range "\u0001\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u200c\u200d\u202f\u205f\u3000\ufeff" {
			cases[fmt.Sprintf("/,a 1%c%s", r, unit)] = ""
			cases[fmt.Sprintf("/,a %c1%s", r, unit)] = ""
			cases[fmt.Sprintf("/,a 1w 1%ch", r)] = ""
			cases[fmt.Sprintf("/,a 1w %c1h", r)] = ""
		}
	}
	for srcset, want := range cases {
		var got string
		if list := imagesOf(t, `<img srcset="`+html.EscapeString(srcset)+`">`, extract.Limits{}); len(list) > 0 {
			got = strings.Fields(strings.TrimPrefix(list[0], "srcset "))[0]
		}
		require.Equal(t, want, got, "%q", srcset)
	}
}

func FuzzSrcset(f *testing.F) {
	for srcset := range srcsetCases {
		f.Add(srcset)
	}
	f.Add(numberedSet(100))
	f.Fuzz(func(t *testing.T, srcset string) {
		// a page of a million tags is too big for a DOM, and a tag of so many bytes for tags
		if len(srcset) > 10_000 {
			t.Skip()
		}
		requireSame(t, `<img srcset="`+html.EscapeString(srcset)+`">`)
	})
}

// requireSame has both readers find the same images, which keep their bounds.
func requireSame(t *testing.T, body string) {
	t.Helper()
	dom := mustHTML(t, body, extract.Limits{Images: true, MaxImages: 8})
	tags := mustHTML(t, body, extract.Limits{Images: true, MaxImages: 8, MaxDOMBytes: 1})
	require.Equal(t, dom.Text, tags.Text, "%s", body)
	require.Equal(t, dom.Images, tags.Images, "%s", body)
	require.Equal(t, []int{dom.ImagesDropped, dom.ImagesInvalid, dom.ImagesData, dom.ImagesSVG}, []int{tags.ImagesDropped, tags.ImagesInvalid, tags.ImagesData, tags.ImagesSVG}, "%s", body)
	requireBounded(t, dom.Images, 8)
}
