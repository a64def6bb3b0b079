package extract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// candidate is one URL of an image, as written, and what the page says of it.
type candidate struct {
	ref     string
	by      crawl.Discovery
	format  format
	width   int     // in pixels; 0 if it is not declared
	density float64 // pixels to a CSS pixel
}

// format is how good a format is for us.
type format uint8

const (
	formatDecoded format = iota
	formatOther
	formatSVG
)

// formatOf is the format of a media type, or without one that of the URL's extension.
func formatOf(mediaType, ref string) format {
	path, extension := pathOf(ref), ""
	if i := strings.LastIndexByte(path, '.'); i >= 0 && len(path)-i <= len(".svgz") {
		extension = strings.ToLower(path[i+1:])
	}
	if extension == "svg" || extension == "svgz" {
		return formatSVG
	}
	if mediaType == "" {
		switch extension {
		case "avif", "heic", "heif", "jxl":
			return formatOther
		}
		return formatDecoded
	}
	switch mediaTypeOf(mediaType) {
	case "", "image/jpeg", "image/jpg", "image/png", "image/gif", "image/webp", "image/bmp", "image/tiff":
		return formatDecoded
	case "image/svg+xml":
		return formatSVG
	}
	return formatOther
}

// pathOf is a reference without its query and fragment.
func pathOf(ref string) string {
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		return ref[:i]
	}
	return ref
}

// group is the URLs of one image: of one element, or of a picture.
type group struct {
	list []candidate
	// data says that there are data: URLs, which are not in the list, and bad that there are
	// URLs too long to be any.
	data, bad bool
}

// add takes a URL as it is written, unless it could not be fetched.
func (g *group) add(ref string, c candidate) {
	const maxRef = 8 << 10 // what urls parses
	c.ref = strings.Trim(ref, htmlSpace)
	switch {
	case c.ref == "" || c.ref[0] == '#' || isTemplate(c.ref):
	case len(c.ref) >= len("data:") && strings.EqualFold(c.ref[:len("data:")], "data:"):
		g.data = true
	case len(c.ref) > maxRef:
		g.bad = true
	default:
		if c.format == formatDecoded {
			c.format = formatOf("", c.ref)
		}
		g.list = append(g.list, c)
	}
}

// maxCandidates caps the URLs of one image that are from srcsets.
const maxCandidates = 4 * maxSrcset

// addSet takes the candidates of a srcset.
func (g *group) addSet(srcset string, c candidate) {
	if len(g.list) >= maxCandidates {
		return
	}
	for _, s := range parseSrcset(srcset) {
		c.width, c.density = s.width, s.density
		g.add(s.ref, c)
	}
}

// isTemplate reports whether a URL has places that a script is to fill in.
func isTemplate(ref string) bool {
	return strings.Contains(ref, "{{") || strings.Contains(ref, "${") || strings.Contains(ref, "{width}")
}

// sort puts the URL to fetch first. It drops placeholders that a script replaces, and
// drawings if there is a picture. cssWidth is the image's width, 0 if it is not declared.
func (g *group) sort(cssWidth int) {
	if len(g.list) > 1 { // of these, one at most is a src
		g.list = slices.DeleteFunc(g.list, func(c candidate) bool { return c.by == crawl.DiscoveryImg && isPlaceholder(c.ref) })
	}
	slices.SortStableFunc(g.list, func(a, b candidate) int { return a.compare(b, cssWidth) })
	if best := g.list[0].format; best != formatSVG {
		g.list = slices.DeleteFunc(g.list, func(c candidate) bool { return c.format == formatSVG })
	}
}

// compare is negative if a is to be fetched rather than b.
func (a candidate) compare(b candidate, cssWidth int) int {
	pixelsA, pixelsB := a.pixels(cssWidth), b.pixels(cssWidth)
	wideA, wideB := pixelsA > MaxImageWidth, pixelsB > MaxImageWidth
	switch {
	case a.format != b.format:
		return cmp.Compare(a.format, b.format)
	case wideA && wideB:
		return cmp.Compare(pixelsA, pixelsB)
	case wideA:
		return 1
	case wideB:
		return -1
	}
	return cmp.Or(cmp.Compare(b.width, a.width), cmp.Compare(b.density, a.density))
}

// pixels is the declared width; 0 if there is none.
func (a candidate) pixels(cssWidth int) int {
	if a.width > 0 || cssWidth == 0 {
		return a.width
	}
	return int(min(a.density, MaxImageWidth) * float64(cssWidth))
}

// isPlaceholder reports whether a URL is named like a placeholder that a script
// replaces when the image comes into view: blank.gif, spacer.gif, 1x1.png.
func isPlaceholder(ref string) bool {
	ref = pathOf(ref)
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	for part := range strings.FieldsFuncSeq(name[:min(len(name), 60)], func(r rune) bool { return strings.ContainsRune("-_.", r) }) {
		switch strings.ToLower(part) {
		case "1x1", "blank", "clear", "empty", "gray", "grey", "lazy", "lazyload", "loader", "loading", "pixel", "placeholder",
			"spacer", "spinner", "trans", "transparent":
			return true
		}
	}
	return false
}
