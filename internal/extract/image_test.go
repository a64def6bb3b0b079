package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

// found writes an image as the tests do: how it is discovered, its URL, its variants, and
// what is said of it.
func found(i extract.Image) string {
	short := func(u urls.URL) string { return strings.TrimPrefix(u.String(), "https://example.org") }
	parts := []string{string(i.Discovery), short(i.URL)}
	for _, v := range i.Variants {
		parts = append(parts, short(v))
	}
	s := strings.Join(parts, " ")
	if i.Width != 0 || i.Height != 0 {
		s += fmt.Sprintf(" %dx%d", i.Width, i.Height)
	}
	if i.Alt != "" {
		s += fmt.Sprintf(" alt=%q", i.Alt)
	}
	if i.Caption != "" {
		s += fmt.Sprintf(" caption=%q", i.Caption)
	}
	return s
}

// imagesOf are the images of a page, and what was counted of it that is not listed.
func imagesOf(tb testing.TB, body string, limits extract.Limits) (list []string) {
	tb.Helper()
	limits.Images = true
	page := mustHTML(tb, body, limits)
	for _, i := range page.Images {
		list = append(list, found(i))
	}
	for _, counted := range []struct {
		name string
		n    int
	}{{"data", page.ImagesData}, {"svg", page.ImagesSVG}, {"dropped", page.ImagesDropped}, {"invalid", page.ImagesInvalid}} {
		if counted.n > 0 {
			list = append(list, fmt.Sprintf("%s: %d", counted.name, counted.n))
		}
	}
	return list
}

// imageCase is a page and the images that it has, a line for each.
type imageCase struct {
	body string
	want []string
}

// testImages reads pages with both readers, which find the same.
func testImages(t *testing.T, cases map[string]imageCase) {
	t.Helper()
	for why, c := range cases {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			forBothReaders(t, func(t *testing.T, limits extract.Limits) {
				t.Helper()
				require.Equal(t, c.want, imagesOf(t, c.body, limits))
			})
		})
	}
}

func TestImagesOfImg(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"none": {`<p>text`, nil},
		"in their order, resolved, once": {
			`<base href=/b/><img src=a.jpg><IMG SRC="/c.png#x"><img src='//example.net/d.gif'><img src=" ./a.jpg ">`,
			[]string{"img /b/a.jpg", "img /c.png", "img https://example.net/d.gif"},
		},
		"what parsers take for an img": {`<image src=a.jpg>`, []string{"img /dir/a.jpg"}},
		"empty":                        {`<img><img src><img src="#a"><img src=" "><img src="?x=1"><img srcset=" , ">`, nil},
		"other schemes":                {`<img src="blob:https://example.org/1"><img src="javascript:a()"><img src="about:blank"><img src="ftp://example.org/a">`, nil},
		"malformed":                    {`<img src="http://"><img src="http://a:b/"><img src="/a">`, []string{"img /a", "invalid: 2"}},
		"too long":                     {`<img src="/` + strings.Repeat("a", 9000) + `"><img src="/` + strings.Repeat("b", 3000) + `">`, []string{"invalid: 2"}},
		"data and drawings": {
			`<img src="data:image/png;base64,AAAA"><img src=" DATA:,x"><img src=a.svg><img src="a.svg#x"><img src="b.SVGZ?c"><img src=/svg><img src="a.svg.png">`,
			[]string{"img /svg", "img /dir/a.svg.png", "data: 2", "svg: 2"},
		},
		"loading=lazy": {`<img loading=lazy decoding=async src=a.jpg>`, []string{"img /dir/a.jpg"}},
		"text and size": {
			"<img src=a alt=' A\n <b>cat</b>\x1b ' width=640 height=' 480px'><img src=b width=100% height=auto title=t><img src=c width=-1 height=99999999999999999999>" +
				"<img src=d width=12.7 height=50.5%><img src=e width=100000 height=100001>",
			[]string{`img /dir/a 640x480 alt="A <b>cat</b>"`, "img /dir/b", "img /dir/c", "img /dir/d 12x0", "img /dir/e 100000x0"},
		},
		"text in normal form, cut between characters": {
			"<img src=a alt='e\u0301'><img src=b alt='" + strings.Repeat("ä", 200) + "'><img src=c alt='" + strings.Repeat("\u0958", 99) + "'>",
			[]string{`img /dir/a alt="é"`, `img /dir/b alt="` + strings.Repeat("ä", 150) + `"`, `img /dir/c alt="` + strings.Repeat("\u0915\u093c", 50) + `"`},
		},
		"what is missing is filled in": {
			`<img src=a><img src=a alt=A><img src=a alt=B width=2 height=3><figure><img src=a><figcaption>C</figcaption></figure>`,
			[]string{`img /dir/a 2x3 alt="A" caption="C"`},
		},
		"images of links, tables, frames' neighbours": {
			`<a href=/x><img src=a></a><table><tr><td><img src=b></td></tr></table><template><img src=no></template><iframe src=/f><img src=no></iframe>` +
				`<textarea><img src=no></textarea><!-- <img src=no> --><script>"<img src=no>"</script><noscript><img src=d></noscript>`,
			[]string{"img /dir/a", "img /dir/b", "img /dir/d"},
		},
		"what is not looked for": {
			`<video poster=a.jpg><source src=b.mp4 srcset=c.jpg></video><input type=image src=d.png><object data=e.png></object><svg><image href=f.png /></svg>` +
				`<table background=g.png><tr><td>x</td></tr></table><link rel=preload as=image href=h.png><link rel=stylesheet href=i><meta name=msapplication-TileImage content=j.png>`,
			nil,
		},
	})
}

func TestImagesOfSrcset(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"the widest":              {`<img src=a.jpg srcset="b.jpg 300w, c.jpg 1200w, d.jpg 600w">`, []string{"srcset /dir/c.jpg /dir/d.jpg /dir/b.jpg /dir/a.jpg"}},
		"the densest":             {`<img src=a.jpg srcset="b.jpg 1.5x, c.jpg 2x">`, []string{"srcset /dir/c.jpg /dir/b.jpg /dir/a.jpg"}},
		"the src":                 {`<img src=a.jpg srcset="b.jpg .5x">`, []string{"img /dir/a.jpg /dir/b.jpg"}},
		"without descriptors":     {`<img src=a.jpg srcset="b.jpg">`, []string{"srcset /dir/b.jpg /dir/a.jpg"}},
		"in src too":              {`<img src=c.jpg srcset="b.jpg 300w, c.jpg 1200w">`, []string{"img /dir/c.jpg /dir/b.jpg"}},
		"alone":                   {`<img srcset="b.jpg 1x,,c.jpg 3x">`, []string{"srcset /dir/c.jpg /dir/b.jpg"}},
		"up to 4,096 pixels":      {`<img srcset="a 4097w, b 4096w, c 9000w, d 10w">`, []string{"srcset /dir/b /dir/d /dir/a /dir/c"}},
		"wider ones alone":        {`<img srcset="a 9000w, b 5000w">`, []string{"srcset /dir/b /dir/a"}},
		"dense ones of a wide":    {`<img width=3000 src=a srcset="b 1.2x, c 2x">`, []string{"srcset /dir/b /dir/a /dir/c 3000x0"}},
		"commas in URLs":          {`<img srcset="/w_1,h_2/a.jpg 1x, /w_2,h_4/a.jpg 2x">`, []string{"srcset /w_2,h_4/a.jpg /w_1,h_2/a.jpg"}},
		"malformed ones":          {`<img srcset="a 1q, b 10w 1x, c 5w, http:// 100w, d 7w">`, []string{"srcset /dir/d /dir/c"}},
		"all malformed":           {`<img srcset="a 1q, b -1w" src=c>`, []string{"img /dir/c"}},
		"data in it":              {`<img srcset="data:image/gif;base64,AA== 100w, a 50w">`, []string{"srcset /dir/a"}},
		"formats that few decode": {`<img srcset="a.avif 2x, b.jpg 1x">`, []string{"srcset /dir/b.jpg /dir/a.avif"}},
		"drawing beside":          {`<img src=a.png srcset="a.svg 2x">`, []string{"img /dir/a.png"}},
		"at most 16 variants": {
			`<img src=z srcset="` + numberedSet(40) + `">`,
			[]string{"srcset /dir/39" + strings.Join(strings.Split(descending(38, 23), ","), " /dir/")},
		},
	})
}

func numberedSet(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d %dw, ", i, i+1)
	}
	return b.String()
}

func descending(from, to int) string {
	var b strings.Builder
	for i := from; i >= to; i-- {
		fmt.Fprintf(&b, ",%d", i)
	}
	return b.String()
}

func TestImagesOfPicture(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"first of those alike": {
			`<picture><source srcset=a.webp type=image/webp><source srcset=b.jpg type="image/jpeg; q=1"><img src=c.jpg alt=A></picture>`,
			[]string{`picture /dir/a.webp /dir/b.jpg /dir/c.jpg alt="A"`},
		},
		"largest": {
			`<picture><source srcset="a 300w, b 900w" media="(min-width: 1px)"><source srcset="c 600w"><img src=d srcset="e 400w"></picture>`,
			[]string{"picture /dir/b /dir/c /dir/e /dir/a /dir/d"},
		},
		"largest is the img's":     {`<picture><source srcset="a 300w"><img srcset="e 400w"></picture>`, []string{"srcset /dir/e /dir/a"}},
		"what can be decoded":      {`<picture><source srcset="a 2x" type=image/avif><source srcset=b type=image/webp><img src=c.heic></picture>`, []string{"picture /dir/b /dir/a /dir/c.heic"}},
		"only what cannot":         {`<picture><source srcset="a 2x" type=image/avif><source srcset=b type=image/heic></picture>`, []string{"picture /dir/a /dir/b"}},
		"never a drawing":          {`<picture><source srcset=a type=image/svg+xml><img src=b.png></picture>`, []string{"img /dir/b.png"}},
		"only drawings":            {`<picture><source srcset=a type=image/svg+xml><img src=b.svg></picture>`, []string{"svg: 1"}},
		"without an img":           {`<picture><source srcset="a 2x"></picture><p><img src=b>`, []string{"picture /dir/a", "img /dir/b"}},
		"ends":                     {`<picture><img src=a></picture><source srcset=b><img src=c>`, []string{"img /dir/a", "img /dir/c"}},
		"sources of one img":       {`<picture><source srcset=a><img src=b><img src=c></picture>`, []string{"picture /dir/a /dir/b", "img /dir/c"}},
		"inside each other":        {`<picture><source srcset=a><picture><source srcset=b><img src=c></picture></picture>`, []string{"picture /dir/a", "picture /dir/b /dir/c"}},
		"placeholder":              {`<picture><source data-srcset="a.webp 2x"><img src=blank.gif data-src=b.jpg></picture>`, []string{"picture /dir/a.webp /dir/b.jpg"}},
		"the same as the src":      {`<picture><source srcset=a><img src=a></picture>`, []string{"img /dir/a"}},
		"in pages of another sort": {`<picture><source src=a><img src=b></picture>`, []string{"img /dir/b"}},
	})
}

func TestImagesThatAreLazy(t *testing.T) {
	t.Parallel()
	cases := map[string]imageCase{
		"data in the src":     {`<img src="data:image/gif;base64,R0lGOD" data-src=a.jpg>`, []string{"lazy /dir/a.jpg"}},
		"smaller src":         {`<img src=low.jpg data-src=a.jpg>`, []string{"lazy /dir/a.jpg /dir/low.jpg"}},
		"the same src":        {`<img src=a.jpg data-src=a.jpg>`, []string{"img /dir/a.jpg"}},
		"larger srcset":       {`<img srcset="b.jpg 900w" data-srcset="a.jpg 400w" src=c.jpg>`, []string{"srcset /dir/b.jpg /dir/a.jpg /dir/c.jpg"}},
		"smaller srcset":      {`<img srcset="b.jpg 40w" data-srcset="a.jpg 400w">`, []string{"lazy /dir/a.jpg /dir/b.jpg"}},
		"set and src":         {`<img data-src=b.jpg data-srcset="a.jpg 400w, b.jpg 200w">`, []string{"lazy /dir/a.jpg /dir/b.jpg"}},
		"for fine screens":    {`<img src=s.gif data-src=a.jpg data-hi-res-src=b.jpg>`, []string{"lazy /dir/b.jpg /dir/a.jpg /dir/s.gif"}},
		"drawing":             {`<img src=blank.gif data-src=a.svg>`, []string{"svg: 1"}},
		"yet to be filled in": {`<img src="{{ image.url }}"><img data-src="/a_{width}x.jpg" src="/a_30x.jpg"><img src="${src}">`, []string{"img /a_30x.jpg"}},
		"of nothing":          {`<img data-src><img src=blank.gif data-src="">`, []string{"img /dir/blank.gif"}},
		"background":          {`<div data-bg=a.jpg></div><p data-bg="url('b.jpg')"></p><i data-background-image="/c"></i><b data-bg=red></b><b data-bg="#fff"></b>`, []string{"lazy /dir/a.jpg", "lazy /dir/b.jpg", "lazy /c"}},
		"background otherwise": {
			`<div data-background=a.jpg></div><section data-background="#fff"></section><p data-background="linear-gradient(red, blue)"></p>` +
				`<i data-bg=b.jpg data-background=dark></i><b data-background="url(c.jpg)" data-bg="c.jpg"></b>`,
			[]string{"lazy /dir/a.jpg", "lazy /dir/b.jpg", "lazy /dir/c.jpg"},
		},
		"background in sizes": {
			`<div data-bgset="a.jpg 180w 120h, b.jpg 360w 240h, c.jpg 90w 60h"></div><p data-bgset="d.jpg"></p><i data-bgset=" , "></i><b data-bgset></b>`,
			[]string{"lazy /dir/b.jpg /dir/a.jpg /dir/c.jpg", "lazy /dir/d.jpg"},
		},
		"background by media": {
			`<div data-bgset="a.jpg 200w, b.jpg 400w [(max-width: 480px)] |
				c.jpg 300w, d.jpg 600w [ --medium ]| e.jpg 500w"></div><p data-bgset="f.jpg [--small] |g.jpg"></p>`,
			[]string{"lazy /dir/d.jpg /dir/e.jpg /dir/b.jpg /dir/c.jpg /dir/a.jpg", "lazy /dir/f.jpg /dir/g.jpg"},
		},
		"background by type": {
			`<div data-bgset="a 9w [type: image/avif] | b 8w [(max-width: 9px)] [ ( type:image/webp ) ] | c 7w [type: image/jpeg] [--large]"></div>`,
			[]string{"lazy /dir/b /dir/c /dir/a"},
		},
		"background that only looks so": {
			`<div data-bgset="/a|b.jpg"></div><p data-bgset="/c[1].jpg 2x"></p><i data-bgset="| | [x] |/d [ | /e ]"></i><b data-bgset="/f [--a][--b]"></b>`,
			[]string{"lazy /a%7Cb.jpg", "lazy /c[1].jpg", "lazy /f"},
		},
		"copy without scripts": {
			`<img src="data:," data-src=a.jpg><noscript><img src=a.jpg alt=A width=3 height=4></noscript>`,
			[]string{`img /dir/a.jpg 3x4 alt="A"`},
		},
		"smaller copy": {
			`<img src=blank.gif data-srcset="a.jpg 800w, b.jpg 400w"><noscript><img src=b.jpg alt=A></noscript>`,
			[]string{`lazy /dir/a.jpg /dir/b.jpg alt="A"`},
		},
		"smaller copy before": {
			`<noscript><img src=b.jpg alt=A></noscript><img src=blank.gif data-srcset="a.jpg 800w, b.jpg 400w">`,
			[]string{`lazy /dir/a.jpg /dir/b.jpg alt="A"`},
		},
		"another image": {
			`<img src=loading.jpg data-src=a.jpg><noscript><img src=b.jpg alt=A></noscript>`,
			[]string{"lazy /dir/a.jpg", `img /dir/b.jpg alt="A"`},
		},
	}
	for _, name := range []string{
		"src", "original", "lazy", "lazy-src", "lazyload", "cfsrc", "ezsrc", "flickity-lazyload", "flickity-lazyload-src", "opt-src", "orig-src", "pagespeed-lazy-src",
		"wpfc-original-src", "hi-res-src", "srcset", "lazy-srcset", "original-set", "flickity-lazyload-srcset", "wpfc-original-srcset",
	} {
		cases["data-"+name] = imageCase{`<img src=/img/spacer.gif data-` + name + `="a.jpg">`, []string{"lazy /dir/a.jpg"}}
	}
	for _, src := range []string{
		"blank.gif", "/x/spacer.gif?v=1", "1x1.png", "placeholder-600x400.png", "img_placeholder.jpg", "Transparent.PNG", "lazy.png", "loading.gif", "grey.gif",
	} {
		cases["instead of "+src] = imageCase{`<img src="` + src + `" data-src=a.jpg>`, []string{"lazy /dir/a.jpg"}}
	}
	testImages(t, cases)
}

func TestImagesOfTheHead(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"Open Graph": {
			`<meta property=og:image content=/a.jpg><meta property=og:image:width content=1200><meta property=og:image:height content=630><meta property=og:image:alt content=" A  b">` +
				`<meta property="OG:Image " content=/b.jpg><meta name=og:image:alt content=B><meta property=og:image:type content=image/png>`,
			[]string{`og:image /a.jpg 1200x630 alt="A b"`, `og:image /b.jpg alt="B"`},
		},
		"secure": {
			`<meta property=og:image content=http://example.org/a><meta property=og:image:secure_url content=https://example.org/a><meta property=og:image:width content=9>`,
			[]string{"og:image /a http://example.org/a 9x0"},
		},
		"url":                {`<meta property=og:image:url content=/a><meta property=og:image:url content=/b><meta property=og:image content=/c><meta property=og:image:url content=/c>`, []string{"og:image /a", "og:image /b", "og:image /c"}},
		"described too soon": {`<meta property=og:image:alt content=A><meta property=og:image content=/a>`, []string{"og:image /a"}},
		"Twitter":            {`<meta name=twitter:image content=/a><meta name=twitter:image:alt content=A><meta property=twitter:image:src content=/b><meta name=twitter:card content=c>`, []string{`twitter:image /a /b alt="A"`}},
		"Twitter's old name": {`<meta name=twitter:image:src content=/b>`, []string{"twitter:image /b"}},
		"image_src":          {`<link rel="image_src" href=/a>`, []string{"image_src /a"}},
		"icons": {
			`<link rel=icon href=/i.ico sizes="16x16 48X48"><link rel="shortcut icon" href=/j.png><link rel=apple-touch-icon href=/k.png sizes=180x180>` +
				`<link rel=apple-touch-icon-precomposed href=/l.png sizes=any><link rel=icon href=m.svg><link rel=icon type=image/svg+xml href=n><link rel=icon href="data:,"><link rel=mask-icon href=o.svg>`,
			[]string{"icon /i.ico 48x48", "icon /j.png", "icon /k.png 180x180", "icon /l.png", "data: 1", "svg: 2"},
		},
		"empty or malformed": {`<meta property=og:image><meta property=og:image content="http://"><meta property=og:image content="data:,"><link rel=image_src>`, []string{"data: 1", "invalid: 1"}},
		"the strongest way counts": {
			`<link rel=icon href=/a><link rel=image_src href=/a><meta name=twitter:image content=/a><meta property=og:image content=/a><body><p style="background:url(/a)"><img src=x.gif data-src=/a>` +
				`<img srcset="/a">`,
			[]string{"srcset /a /dir/x.gif"},
		},
		"a variant of the page's image": {
			`<meta property=og:image content=/b><meta property=og:image:alt content=A><body><img src=/c srcset="/a 900w, /b 600w" alt=""><img src=/c alt=C>`,
			[]string{`srcset /a /b /c alt="A"`},
		},
	})
}

func TestImagesOfFigures(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"caption after": {
			"<figure><img src=a><figcaption>Some\n <b>bold</b>text <script>no</script>&amp; e\u0301<!-- c -->x</figcaption></figure><img src=b><figure><img src=c></figure>",
			[]string{`img /dir/a caption="Some boldtext & éx"`, "img /dir/b", "img /dir/c"},
		},
		"caption before": {`<figure><figcaption>C</figcaption><p><img src=a></p><img src=b></figure>`, []string{`img /dir/a caption="C"`, `img /dir/b caption="C"`}},
		"only the first": {`<figure><figcaption>C</figcaption><img src=a><figcaption>D</figcaption></figure>`, []string{`img /dir/a caption="C"`}},
		"of a picture":   {`<figure><picture><source srcset=b><img src=a></picture><figcaption>C</figcaption></figure>`, []string{`picture /dir/b /dir/a caption="C"`}},
		"gallery": {
			`<figure><figure><img src=a><figcaption>A</figcaption></figure><figure><img src=b></figure><img src=c><figcaption>All</figcaption></figure>`,
			[]string{`img /dir/a caption="A"`, `img /dir/b caption="All"`, `img /dir/c caption="All"`},
		},
		"no figure":            {`<figcaption>C</figcaption><img src=a></figure><figcaption>D</figcaption>`, []string{"img /dir/a"}},
		"not closed":           {`<figure><img src=a><figcaption>C`, []string{`img /dir/a caption="C"`}},
		"caption not closed":   {`<figure><img src=a><figcaption>C</figure>D`, []string{`img /dir/a caption="C"`}},
		"empty":                {`<figure><img src=a><figcaption> <br></figcaption></figure>`, []string{"img /dir/a"}},
		"long":                 {`<figure><img src=a><figcaption>` + strings.Repeat("word ", 100) + `</figcaption></figure>`, []string{`img /dir/a caption="` + strings.Repeat("word ", 59) + `word"`}},
		"the background's not": {`<figure style="background:url(a)"><figcaption>C</figcaption></figure>`, []string{"css /dir/a"}},
		"drawing's title":      {`<figure><img src=a><figcaption>C <svg><title>no</title></svg></figcaption></figure>`, []string{`img /dir/a caption="C"`}},
	})
}

func TestImagesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(strings.Repeat("<img src=spacer.gif>", 5000))
	for i := range 10_000 {
		fmt.Fprintf(&b, "<img src=%d>", i)
	}
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		limits.Images = true
		page := mustHTML(t, b.String(), limits)
		require.Len(t, page.Images, extract.MaxImagesDefault)
		require.Equal(t, "https://example.org/dir/198", page.Images[199].URL.String())
		require.Equal(t, 10_001-extract.MaxImagesDefault, page.ImagesDropped)

		limits.MaxImages = 2
		page = mustHTML(t, `<img src=a><img src=b><img src=c><img src=./a alt=A>`, limits)
		require.Len(t, page.Images, 2)
		require.Equal(t, 1, page.ImagesDropped)
		require.Equal(t, "A", page.Images[0].Alt, "what is kept is still described")
	})
}

// Pages are read the same whether their images are asked for or not, but for these.
func TestImagesAreOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	forBothReaders(t, func(t *testing.T, limits extract.Limits) {
		t.Helper()
		for name, body := range corpus() {
			without := mustHTML(t, body, limits)
			require.Empty(t, without.Images)
			require.Zero(t, without.ImagesData+without.ImagesSVG+without.ImagesDropped+without.ImagesInvalid)

			asked := limits
			asked.Images = true
			with := mustHTML(t, body, asked)
			with.Images, with.ImagesData, with.ImagesSVG, with.ImagesDropped, with.ImagesInvalid = nil, 0, 0, 0, 0
			require.Equal(t, without, with, name)
		}
	})
}
