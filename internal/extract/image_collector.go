package extract

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/text/unicode/norm"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// foundPerImage is the number of images collected per requested image. Many are duplicates.
	foundPerImage = 4

	// maxFigures caps the nested figures whose captions are distinguished. maxFigureImages caps the
	// images that receive the caption of one figure.
	maxFigures      = 8
	maxFigureImages = 64
)

// foundImage is the image of one element. Its URLs are in group, the preferred first. Image has no
// URLs yet.
type foundImage struct {
	group
	Image
}

// imageCollector gathers a page's images from its start tags, end tags and text in document order.
// A tree and a sequence of tags give the same result.
type imageCollector struct {
	limit   int
	list    []foundImage
	known   map[candidate]int // into list, by the first URL
	dropped int
	invalid int
	data    int

	picture       group // sources before the img
	inPicture     bool
	openGraph     metaImage
	twitter       metaImage
	figures       []figure
	nestedFigures int        // open figures inside the innermost of figures
	caption       textBuffer // of figures[captionOf-1]
	captionOf     int
	scratch       textBuffer
}

type figure struct {
	images     []int // into list
	caption    string
	hasCaption bool
}

func (c *imageCollector) begin(tag atom.Atom, attrs attributes) {
	var more imageAttributes
	more.read(attrs)
	c.backgrounds(attrs, &more)
	switch tag {
	case atom.Img:
		c.img(attrs, &more)
	case atom.Image: // the parser renames it to img outside drawings; in drawings it has no src
		if attrs.get("src") != "" {
			c.img(attrs, &more)
		}
	case atom.Picture:
		c.endPicture()
		c.inPicture = true
	case atom.Source:
		c.source(attrs, &more)
	case atom.Figure:
		if len(c.figures) >= maxFigures {
			c.nestedFigures++
			return
		}
		c.figures = append(c.figures, figure{})
	case atom.Figcaption:
		if n := len(c.figures); n > 0 && c.nestedFigures == 0 && !c.figures[n-1].hasCaption {
			c.endCaption()
			c.figures[n-1].hasCaption = true
			c.captionOf = n
			c.caption.reset(MaxImageTextBytes, false)
		}
	case atom.Link:
		c.link(attrs)
	case atom.Meta:
		c.meta(attrs)
	default: // other elements have images only in their style
	}
}

func (c *imageCollector) end(tag atom.Atom) {
	switch tag {
	case atom.Picture:
		c.endPicture()
	case atom.Figcaption:
		c.endCaption()
	case atom.Figure:
		if c.nestedFigures > 0 {
			c.nestedFigures--
			return
		}
		c.endFigure()
	default: // other end tags are irrelevant
	}
}

func (c *imageCollector) text(text string) {
	if c.captionOf > 0 {
		c.caption.add(text)
	}
}

// img records an img element. If sizes are undeclared, the browser's preference comes first, and
// URLs from scripts precede the URLs that they replace.
func (c *imageCollector) img(attrs attributes, more *imageAttributes) {
	found := foundImage{group: c.picture}
	c.picture = group{}
	found.Alt = c.clean(attrs.get("alt"))
	found.Width, found.Height = dimension(attrs.get("width")), dimension(attrs.get("height"))
	const doubleDensity = 2
	for _, set := range more.lazySets {
		found.addSet(set, candidate{by: crawl.DiscoveryLazy})
	}
	found.add(more.doubleDensityURL, candidate{by: crawl.DiscoveryLazy, density: doubleDensity})
	for _, ref := range more.lazy {
		found.add(ref, candidate{by: crawl.DiscoveryLazy, density: 1})
	}
	found.addSet(attrs.get("srcset"), candidate{by: crawl.DiscoverySrcset})
	found.add(attrs.get("src"), candidate{by: crawl.DiscoveryImg, density: 1})
	if i := c.add(found); i >= 0 && len(c.figures) > 0 {
		if f := &c.figures[len(c.figures)-1]; len(f.images) < maxFigureImages {
			f.images = append(f.images, i)
		}
	}
}

// source records a source element of a picture. It ignores sources of videos.
func (c *imageCollector) source(attrs attributes, more *imageAttributes) {
	if !c.inPicture {
		return
	}
	source := candidate{by: crawl.DiscoveryPicture, format: formatOf(attrs.get("type"), "")}
	for _, set := range more.lazySets {
		c.picture.addSet(set, source)
	}
	c.picture.addSet(attrs.get("srcset"), source)
}

// endPicture records a picture whose img a script has yet to create.
func (c *imageCollector) endPicture() {
	c.add(foundImage{group: c.picture})
	c.picture, c.inPicture = group{}, false
}

func (c *imageCollector) backgrounds(attrs attributes, more *imageAttributes) {
	c.style(attrs.get("style"), crawl.DiscoveryCSS)
	for _, lazy := range more.backgrounds {
		switch {
		case strings.Contains(lazy, "("):
			c.style("background:"+lazy, crawl.DiscoveryLazy)
		case strings.ContainsAny(lazy, "./") && !strings.ContainsAny(lazy, ", "): // neither a colour nor a list
			var g group
			g.add(lazy, candidate{by: crawl.DiscoveryLazy, density: 1})
			c.add(foundImage{group: g})
		}
	}
	if more.backgroundSet != "" {
		var g group
		for srcset, mediaType := range backgroundSets(more.backgroundSet) {
			g.addSet(srcset, candidate{by: crawl.DiscoveryLazy, format: formatOf(mediaType, "")})
		}
		c.add(foundImage{group: g})
	}
}

func (c *imageCollector) style(style string, by crawl.Discovery) {
	for _, image := range cssImages(style) {
		var g group
		for _, one := range image {
			g.add(one.ref, candidate{by: by, density: one.density, format: formatOf(one.kind, "")})
		}
		c.add(foundImage{group: g})
	}
}

func (c *imageCollector) endCaption() {
	if c.captionOf > 0 {
		c.figures[c.captionOf-1].caption = normalizeText(c.caption.String())
		c.captionOf = 0
	}
}

// endFigure gives the innermost figure's caption to its images without a caption. If the figure has
// no caption, its images use the caption of the enclosing figure.
func (c *imageCollector) endFigure() {
	n := len(c.figures) - 1
	if n < 0 {
		return
	}
	if c.captionOf > n {
		c.endCaption()
	}
	f := c.figures[n]
	c.figures = c.figures[:n]
	for _, i := range f.images {
		setFirst(&c.list[i].Caption, f.caption)
	}
	if f.caption == "" && n > 0 {
		parent := &c.figures[n-1]
		parent.images = append(parent.images, f.images[:min(len(f.images), maxFigureImages-len(parent.images))]...)
	}
}

// add records an image unless it is a duplicate. It returns its index in the list, or -1.
func (c *imageCollector) add(found foundImage) int {
	if len(found.list) == 0 {
		switch {
		case found.tooLong:
			c.invalid++
		case found.data:
			c.data++
		}
		return -1
	}
	found.sort(found.Width)
	const maxURLs = 2 * MaxImageVariants // some may turn out to be the same
	found.list = found.list[:min(len(found.list), maxURLs)]
	i, known := c.known[found.list[0]]
	if known && (len(found.list) == 1 || slices.Equal(found.list, c.list[i].list)) {
		c.list[i].absorb(found.Image)
		return i
	}
	if len(c.list) >= c.limit {
		if c.dropped > 0 || found.list[0].format != formatSVG && isStorable(found.list[0].ref) {
			c.dropped++
		}
		return -1
	}
	if !known {
		c.known[found.list[0]] = len(c.list)
	}
	c.list = append(c.list, found)
	return len(c.list) - 1
}

func (c *imageCollector) clean(text string) string {
	return normalizeText(c.scratch.clean(text, MaxImageTextBytes))
}

// normalizeText returns a text in normal form C, which may be longer, cut to MaxImageTextBytes.
func normalizeText(text string) string { return prefix(norm.NFC.String(text), MaxImageTextBytes) }

// tree records the images below a node. It recurses, because html.Parse keeps trees shallow.
func (c *imageCollector) tree(node *html.Node, visible bool) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		switch child.Type {
		case html.TextNode:
			if visible {
				c.text(child.Data)
			}
		case html.ElementNode:
			tag := child.DataAtom
			if child.Namespace != "" {
				tag = 0 // part of a drawing or a formula
			}
			isSeparate := visible && separatesWords(child.DataAtom, child.Data)
			if isSeparate {
				c.caption.separate()
			}
			c.begin(tag, child.Attr)
			c.tree(child, visible && !isInvisible(child.DataAtom))
			c.end(tag)
			if isSeparate {
				c.caption.separate()
			}
		default: // ignore comments
		}
	}
}
