package extract_test

import (
	"html"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/extract"
)

var cssCases = map[string]struct {
	style string
	want  []string
}{
	"unquoted":                   {`background-image: url( a.jpg )`, []string{"/a.jpg"}},
	"quoted":                     {`background-image:url("a b(1).jpg"); color: red`, []string{"/a%20b(1).jpg"}},
	"quoted otherwise":           {`BACKGROUND:URL('a.jpg')no-repeat #fff!important`, []string{"/a.jpg"}},
	"escaped":                    {`background:url(a\(1\)\20 b\.jpg)`, []string{"/a(1)%20b.jpg"}},
	"escaped in quotes":          {`background:url("a\"\62 c\000064.jpg")`, []string{"/a%22bcd.jpg"}},
	"continued string":           {"background:url('a\\\n.jpg')", []string{"/a.jpg"}},
	"escaped name of url":        {`background:\75 rl(a.jpg)`, []string{"/a.jpg"}},
	"several":                    {`background:url(a.jpg) top, linear-gradient(red, rgb(0,0,0)), url(b.png)`, []string{"/a.jpg", "/b.png"}},
	"two declarations":           {`background:url(a);background-image:url(b)`, []string{"/a", "/b"}},
	"semicolons in it":           {`background:url(a;b.jpg);background-image:url("c;d")`, []string{"/a;b.jpg", "/c;d"}},
	"comments":                   {`/* background:url(no) */ background /**/ : /* ; */ url(a.jpg) /* url(no) */`, []string{"/a.jpg"}},
	"other properties":           {`list-style:url(no);border-image:url(no);--background:url(no);content:"background:url(no)";mask:url(no);background-color:url(no)`, nil},
	"text like it":               {`content: "; background: url(no)"; background: "url(no)"`, nil},
	"image-set":                  {`background-image: image-set("a.jpg" 1x, url(b.jpg) 2x, "c.jpg" 1.5x)`, []string{"/b.jpg /c.jpg /a.jpg"}},
	"image-set by resolution":    {`background: -webkit-image-set(url(a) 192dpi, url(b) 3dppx, url(c))`, []string{"/b /a /c"}},
	"image-set by type":          {`background: image-set("a" type("image/avif") 2x, "b" type('image/png'), "c" type( "image/svg+xml") 3x)`, []string{"/b /a"}},
	"image-set and more":         {`background: image-set("a" 1x), url(b)`, []string{"/a", "/b"}},
	"image-set that is open":     {`background: image-set("a" 1x, "b" 2x`, []string{"/b /a"}},
	"image-set without URLs":     {`background: image-set(), image-set(1x, linear-gradient(red, blue) 2x), url(a)`, []string{"/a"}},
	"image-set of others":        {`mask: image-set("a" 1x); background: url(b)`, []string{"/b"}},
	"open at the end":            {`background:url(a.jpg`, []string{"/a.jpg"}},
	"open string":                {`background:url("a.jpg`, []string{"/a.jpg"}},
	"bad url":                    {`background:url(a b.jpg) , url(c"d), url(e\)f g), url("h" i), url(j)`, []string{"/j"}},
	"bad string":                 {"background:url('a\n'), url(b)", []string{"/b"}},
	"open block eats the rest":   {`background: foo(bar; background: red; ), url(a)`, []string{"/a"}},
	"junk":                       {`;;:;}{;background;background:;=: ; -; \`, nil},
	"escape at the end":          {`background:(\`, nil},
	"escaped line break":         {"background:\\\n", nil},
	"beyond Unicode":             {`background:url(\110000\0 a\00d800b)`, []string{"/%EF%BF%BD%EF%BF%BDa%EF%BF%BDb"}},
	"data, drawing, nothing":     {`background:url(data:image/png;base64,AA==), url(), url("  "), url(#a), url(a.svg)`, []string{"data: 1", "svg: 1"}},
	"variable":                   {`background: var(--a, url(a.jpg))`, []string{"/a.jpg"}},
	"the same twice":             {`background:url(a), url("a")`, []string{"/a"}},
	"more than 16":               {`background:` + strings.Repeat(`url(a),`, 15) + `url(b), url(c)`, []string{"/a", "/b"}},
	"at most 16 in an image-set": {`background:image-set(` + strings.Repeat(`"a" 1x,`, 16) + `"c" 2x)`, []string{"/a"}},
}

func TestImagesOfCSS(t *testing.T) {
	t.Parallel()
	for why, c := range cssCases {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				var want []string
				for _, w := range c.want {
					if strings.HasPrefix(w, "/") {
						w = "css " + w
					}
					want = append(want, w)
				}
				require.Equal(t, want, imagesOf(t, `<base href=/><div style="`+html.EscapeString(c.style)+`">`, limits))
			})
		})
	}

	t.Run("of any element", func(t *testing.T) {
		t.Parallel()
		forBothReaders(t, func(t *testing.T, limits extract.Limits) {
			t.Helper()
			require.Equal(t, []string{"css /a", "css /b", "css /c", "css /d"},
				imagesOf(t, `<body style="background:url(/a)"><x-y style='background:url(/b)'></x-y><svg style='background:url(/c)'></svg><br style="background:url(&quot;/d&quot;)">`, limits))
		})
	})
}
