package extract

import (
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// metaImage is the image that the meta elements of one vocabulary have named last: what
// follows describes it.
type metaImage struct {
	at int // into imageCollector.list; -1 means none
	// named are the properties that have given its URL.
	named []string
}

var noMetaImage = metaImage{at: -1}

// meta takes a meta element: og:image and what describes it (ogp.me, "Structured
// Properties"), or twitter:image. Its name is in "name" or "property", whatever is right.
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
		first(&c.list[m.at].alt, c.clean(content))
	case ":width":
		if c.list[m.at].width == 0 {
			c.list[m.at].width = dimension(content)
		}
	case ":height":
		if c.list[m.at].height == 0 {
			c.list[m.at].height = dimension(content)
		}
	}
}

// metaURL takes a URL: another one of the same image, with https preferred, or that of
// the next image.
func (c *imageCollector) metaURL(m *metaImage, property, content string, by crawl.Discovery) {
	var g group
	g.add(content, candidate{by: by, density: 1})
	if m.at >= 0 && property != "" && !slices.Contains(m.named, property) {
		m.named = append(m.named, property)
		list := &c.list[m.at].list
		if len(*list) >= MaxImageVariants {
			return // the same image named again and again
		}
		if property == ":secure_url" {
			*list = slices.Concat(g.list, *list)
		} else {
			*list = append(*list, g.list...)
		}
		return
	}
	*m = metaImage{at: c.add(foundImage{group: g}), named: []string{property}}
}

// link takes what a link element names: an image for the page, or the mark of its site.
func (c *imageCollector) link(attrs attributes) {
	var g group
	found := foundImage{}
	switch {
	case hasToken(attrs.get("rel"), "icon", "apple-touch-icon", "apple-touch-icon-precomposed"):
		g.add(attrs.get("href"), candidate{by: crawl.DiscoveryIcon, density: 1, format: formatOf(attrs.get("type"), attrs.get("href"))})
		found.width, found.height = largestSize(attrs.get("sizes"))
	case hasToken(attrs.get("rel"), "image_src"):
		g.add(attrs.get("href"), candidate{by: crawl.DiscoveryImageSrc, density: 1})
	}
	found.group = g
	c.add(found)
}
