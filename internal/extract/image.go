package extract

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// MaxImageVariants caps Image.Variants.
	MaxImageVariants = 16

	// MaxImageTextBytes caps Image.Alt and Image.Caption, in bytes of UTF-8.
	MaxImageTextBytes = 300

	// MaxImageWidth is the largest declared width, in pixels, preferred among an image's URLs.
	MaxImageWidth = 4096
)

// Image is an image of a page.
type Image struct {
	// URL is the URL to fetch. The package comment describes the choice.
	URL urls.URL

	// Target is as in [urls.Spelt].
	Target string

	// Variants are up to MaxImageVariants other URLs of the image, the preferred first.
	Variants []urls.URL

	// Discovery is the page's first way to name URL, in the order of [crawl.Discovery].
	Discovery crawl.Discovery

	// Alt is the image's alternative text, and Caption the caption of its figure. Both are cleaned
	// like a title, in normal form C, at most MaxImageTextBytes.
	Alt, Caption string

	// Width and Height are the declared CSS pixels, up to 100,000. Zero means undeclared or
	// percent.
	Width, Height int
}

// discoveries lists the ways to name an image, the strongest first.
var discoveries = []crawl.Discovery{
	crawl.DiscoveryImg, crawl.DiscoverySrcset, crawl.DiscoveryPicture, crawl.DiscoveryLazy, crawl.DiscoveryCSS,
	crawl.DiscoveryOpenGraph, crawl.DiscoveryTwitter, crawl.DiscoveryImageSrc, crawl.DiscoveryIcon,
}

func stronger(a, b crawl.Discovery) crawl.Discovery {
	if slices.Index(discoveries, b) < slices.Index(discoveries, a) {
		return b
	}
	return a
}

type imageIndex struct {
	page      *Page
	limit     int
	positions map[string]int // into page.Images, by URL and by variant
	svg       map[string]bool
}

// addTo resolves the images found on the page.
func (c *imageCollector) addTo(page *Page, base documentBase, pageURL urls.URL) {
	c.endPicture()
	for len(c.figures) > 0 {
		c.endFigure()
	}
	page.ImagesData, page.ImagesDropped, page.ImagesInvalid = c.data, c.dropped, c.invalid
	x := imageIndex{page: page, limit: c.limit / foundPerImage, positions: make(map[string]int), svg: make(map[string]bool)}
	for _, found := range c.list {
		x.add(found, base, pageURL)
	}
	page.ImagesSVG = len(x.svg)
}

func (x *imageIndex) add(found foundImage, base documentBase, pageURL urls.URL) {
	image := found.Image
	for _, c := range found.list {
		to, err := base.Resolve(c.ref)
		u := to.URL
		switch {
		case errors.Is(err, urls.ErrScheme):
		case err != nil:
			found.tooLong = true
		case u == pageURL: // "?", or a script's mistake
		case c.format == formatSVG:
			x.svg[u.String()] = true
			return
		case image.URL == (urls.URL{}):
			image.URL, image.Target, image.Discovery = u, to.Target, c.by
		case u == image.URL:
			image.Discovery = stronger(image.Discovery, c.by)
		default:
			image.addVariant(u)
		}
	}
	switch {
	case image.URL != (urls.URL{}):
		x.addOrMerge(image)
	case found.tooLong:
		x.page.ImagesInvalid++
	case found.data:
		x.page.ImagesData++
	}
}

func (i *Image) addVariant(u urls.URL) {
	if len(i.Variants) < MaxImageVariants && u != i.URL && !slices.Contains(i.Variants, u) {
		i.Variants = append(i.Variants, u)
	}
}

// addOrMerge adds an image to the page or merges it with a known image.
func (x *imageIndex) addOrMerge(image Image) {
	images := &x.page.Images
	i, known := x.positions[image.URL.String()]
	if known {
		existing := &(*images)[i]
		if existing.URL == image.URL {
			existing.Discovery = stronger(existing.Discovery, image.Discovery)
		}
		existing.absorb(image)
	} else if i, known = x.findByVariant(image); known {
		image.absorb((*images)[i])
		(*images)[i] = image
	} else if len(*images) < x.limit {
		i = len(*images)
		*images = append(*images, image)
	} else {
		x.page.ImagesDropped++
		return
	}
	x.positions[(*images)[i].URL.String()] = i
	for _, v := range (*images)[i].Variants {
		if _, hasVariant := x.positions[v.String()]; !hasVariant {
			x.positions[v.String()] = i
		}
	}
}

// findByVariant finds an image of the page that is a variant of the given image.
func (x *imageIndex) findByVariant(image Image) (int, bool) {
	for _, v := range image.Variants {
		if i, known := x.positions[v.String()]; known && x.page.Images[i].URL == v {
			return i, true
		}
	}
	return 0, false
}

// absorb adds the data of another occurrence of the same image.
func (i *Image) absorb(other Image) {
	i.addVariant(other.URL)
	for _, u := range other.Variants {
		i.addVariant(u)
	}
	setFirst(&i.Alt, other.Alt)
	setFirst(&i.Caption, other.Caption)
	if i.Width == 0 && i.Height == 0 {
		i.Width, i.Height = other.Width, other.Height
	}
}

// metaImage is the last image in the meta elements of one vocabulary. Later elements describe it.
type metaImage struct {
	at            int      // into imageCollector.list; -1 means no image
	urlProperties []string // the properties that named its URL
}

var noMetaImage = metaImage{at: -1}

// meta reads a meta element: og:image and its structured properties (ogp.me), or twitter:image. It
// accepts the name in "name" and in "property".
func (c *imageCollector) meta(attrs attributes) {
	for _, name := range [...]string{attrs.get("property"), attrs.get("name")} {
		name = strings.ToLower(strings.TrimSpace(name[:min(len(name), 40)]))
		if property, ok := strings.CutPrefix(name, "og:image"); ok {
			c.metaImage(&c.openGraph, property, attrs.get("content"), crawl.DiscoveryOpenGraph)
			return
		}
		if property, ok := strings.CutPrefix(name, "twitter:image"); ok {
			c.metaImage(&c.twitter, property, attrs.get("content"), crawl.DiscoveryTwitter)
			return
		}
	}
}

func (c *imageCollector) metaImage(m *metaImage, property, content string, by crawl.Discovery) {
	switch property {
	case "", ":url", ":src", ":secure_url":
		c.metaURL(m, property, content, by)
		return
	}
	if m.at < 0 {
		return
	}
	switch property {
	case ":alt":
		setFirst(&c.list[m.at].Alt, c.clean(content))
	case ":width":
		c.list[m.at].Width = cmp.Or(c.list[m.at].Width, dimension(content))
	case ":height":
		c.list[m.at].Height = cmp.Or(c.list[m.at].Height, dimension(content))
	}
}

// metaURL adds a URL of the same image, preferring https, or begins the next image.
func (c *imageCollector) metaURL(m *metaImage, property, content string, by crawl.Discovery) {
	var g group
	g.add(content, candidate{by: by, density: 1})
	if m.at >= 0 && property != "" && !slices.Contains(m.urlProperties, property) {
		m.urlProperties = append(m.urlProperties, property)
		list := &c.list[m.at].list
		if len(*list) >= MaxImageVariants {
			return // the same image repeated
		}
		if property == ":secure_url" {
			*list = slices.Concat(g.list, *list)
		} else {
			*list = append(*list, g.list...)
		}
		return
	}
	*m = metaImage{at: c.add(foundImage{group: g}), urlProperties: []string{property}}
}

// link records an image for the page or the site's icon from a link element.
func (c *imageCollector) link(attrs attributes) {
	var found foundImage
	switch {
	case hasToken(attrs.get("rel"), "icon", "apple-touch-icon", "apple-touch-icon-precomposed"):
		format := formatOf(attrs.get("type"), attrs.get("href"))
		found.add(attrs.get("href"), candidate{by: crawl.DiscoveryIcon, density: 1, format: format})
		found.Width, found.Height = largestSize(attrs.get("sizes"))
	case hasToken(attrs.get("rel"), "image_src"):
		found.add(attrs.get("href"), candidate{by: crawl.DiscoveryImageSrc, density: 1})
	}
	c.add(found)
}
