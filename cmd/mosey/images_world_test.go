package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/images"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/manners/web"
)

// painting is a picture that is the same at any size, and differs by seed.
func painting(width, height, seed int) image.Image {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	light := func(x, y, shift float64) uint8 {
		of := float64(seed)
		v := math.Sin(x*(3+of)+shift) + math.Cos(y*(5+of)-x*2*of) + math.Sin((x+y)*7+of*of)
		return uint8(127 + 42*v)
	}
	for row := range height {
		for column := range width {
			x, y := float64(column)/float64(width), float64(row)/float64(height)
			m.Set(column, row, color.NRGBA{R: light(x, y, 0), G: light(x, y, 1), B: light(y, x, 0), A: 255})
		}
	}
	return m
}

func pngOf(t *testing.T, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.String()
}

// plainPNG is the same picture in other bytes.
func plainPNG(t *testing.T, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&b, m))
	return b.String()
}

func jpegOf(t *testing.T, m image.Image, quality int) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}))
	return b.String()
}

// white is a picture with nothing in it.
func white(width, height int) image.Image {
	m := image.NewGray(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = 0xff
	}
	return m
}

func shaOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// gallery is a host with pictures, by their paths.
const gallery = "gallery.test"

// newGallery is a site of one page, which names pictures.
func newGallery(t *testing.T, page string, pictures map[string]web.Behaviour) site {
	t.Helper()
	paths := maps.Clone(pictures)
	paths["/"] = web.Content{Type: "text/html", Body: "<!doctype html><html><body>" + page + "</body></html>"}
	return site{web.StartT(t, web.Options{Sites: []web.Site{{Host: gallery, Pages: -1, Plain: true, Paths: paths}}, CrossLinks: -1})}
}

func pngContent(body string) web.Content { return web.Content{Type: "image/png", Body: body} }

func jpegContent(body string) web.Content { return web.Content{Type: "image/jpeg", Body: body} }

// imagesHarness is a world with a gallery that was crawled.
type imagesHarness struct {
	*commandHarness

	store *db.Store
	site  site
	// said is the output of the crawl.
	said string
	// harbour is a picture of the gallery at /harbour.png and /copy.png; /large.png is the
	// same in other bytes.
	harbour string
}

// hostileAlt is a text that would be a script, were it not for the page that shows it.
const hostileAlt = `"><script>alert(1)</script>`

func newImages(t *testing.T) *imagesHarness {
	t.Helper()
	h, store := newHarnessWithStack(t)
	h.Setenv("MOSEY_IMAGE_STORE", filepath.Join(h.dir, "images")) // a cluster has no data directory
	i := &imagesHarness{commandHarness: h, store: store, harbour: pngOf(t, painting(640, 480, 1))}
	i.site = newGallery(t, `
		<img src="/harbour.png" alt="&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;"><img src="/copy.png">
		<img src="/large.png"><img src="/small.jpg"><figure><img src="/market.jpg"><figcaption>The market</figcaption></figure>
		<img src="/white.png"><img src="/tiny.png"><img src="/missing.png"><link rel="icon" href="/icon.png">`,
		map[string]web.Behaviour{
			"/harbour.png": pngContent(i.harbour), "/copy.png": pngContent(i.harbour),
			"/large.png":  pngContent(plainPNG(t, painting(640, 480, 1))),
			"/small.jpg":  jpegContent(jpegOf(t, painting(320, 240, 1), 90)),
			"/market.jpg": jpegContent(jpegOf(t, painting(400, 300, 4), 90)),
			"/white.png":  pngContent(pngOf(t, white(300, 200))), "/tiny.png": pngContent(pngOf(t, painting(50, 50, 2))),
			"/missing.png": web.Status{Code: 404},
		})
	r := h.Execute(i.crawl(i.site.Seeds()[0])...)
	require.Zero(t, r.Code, r.Stderr)
	i.said = r.Stdout
	return i
}

// in is the same world for a part of a test, which fails for itself.
func (i *imagesHarness) in(t *testing.T) *imagesHarness {
	h, part := *i.commandHarness, *i
	h.t, part.commandHarness = t, &h
	return &part
}

// crawl is a crawl that stores images.
func (i *imagesHarness) crawl(args ...string) []string {
	return i.site.crawl(append([]string{"--images", "store", "--set", "thumbnails=on", "--set", "sitemaps=off"}, args...)...)
}

// url returns the URL of a path of the gallery.
func (i *imagesHarness) url(path string) string { return i.site.URL(gallery, path) }

// docs are the images that a command prints as JSON, by their paths.
func (i *imagesHarness) docs(args ...string) map[string]images.ImageDoc {
	i.t.Helper()
	found := map[string]images.ImageDoc{}
	for line := range strings.Lines(i.Print(append(args, "--json")...)) {
		var d images.ImageDoc
		require.NoError(i.t, json.Unmarshal([]byte(line), &d))
		found[strings.TrimPrefix(d.URL, strings.TrimSuffix(i.url("/"), "/"))] = d
	}
	return found
}

// object is the file of an image in the store of a harness.
func (h *commandHarness) object(sha string) string {
	return filepath.Join(h.dir, "images", sha[0:2], sha[2:4], sha)
}

// objects are the files in the store, small pictures included.
func (h *commandHarness) objects() (names []string) {
	h.t.Helper()
	err := filepath.WalkDir(filepath.Join(h.dir, "images"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(h.t, err)
	}
	return names
}
