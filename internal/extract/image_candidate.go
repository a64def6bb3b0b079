package extract

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// candidate is one URL of an image, as written, with its declared properties.
type candidate struct {
	ref     string
	by      crawl.Discovery
	format  format
	width   int     // in pixels; 0 means undeclared
	density float64 // pixels per CSS pixel
}

// format ranks image formats, the preferred first.
type format uint8

const (
	formatDecoded format = iota
	formatOther
	formatSVG
)

// formatOf returns the format of a media type. Without a media type it uses the URL's extension.
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

// pathOf returns a reference without its query and fragment.
func pathOf(ref string) string {
	if i := strings.IndexAny(ref, "?#"); i >= 0 {
		return ref[:i]
	}
	return ref
}

// group holds the URLs of one image: of one element or of a picture.
type group struct {
	list []candidate
	// data is set if the image has data: URLs, which are not listed, and tooLong if URLs are too
	// long.
	data, tooLong bool
}

// add adds a URL as written, unless it cannot be fetched.
func (g *group) add(ref string, c candidate) {
	const maxRef = 8 << 10 // the limit of package urls
	c.ref = strings.Trim(ref, htmlSpace)
	switch {
	case c.ref == "" || c.ref[0] == '#':
	case strings.Contains(c.ref, "{{"), strings.Contains(c.ref, "${"), strings.Contains(c.ref, "{width}"): // a script fills it in
	case len(c.ref) >= len("data:") && strings.EqualFold(c.ref[:len("data:")], "data:"):
		g.data = true
	case len(c.ref) > maxRef:
		g.tooLong = true
	default:
		if c.format == formatDecoded {
			c.format = formatOf("", c.ref)
		}
		g.list = append(g.list, c)
	}
}

// maxCandidates caps the URLs of one image from srcsets.
const maxCandidates = 4 * maxSrcset

func (g *group) addSet(srcset string, c candidate) {
	if len(g.list) >= maxCandidates {
		return
	}
	for _, s := range parseSrcset(srcset) {
		c.width, c.density = s.width, s.density
		g.add(s.ref, c)
	}
}

// sort moves the URL to fetch to the front. It removes placeholders that a script replaces, and
// drawings if the image has another format. cssWidth is the image's width; 0 means undeclared.
func (g *group) sort(cssWidth int) {
	if len(g.list) > 1 { // at most one of them is a src
		g.list = slices.DeleteFunc(g.list, func(c candidate) bool { return c.by == crawl.DiscoveryImg && isPlaceholder(c.ref) })
	}
	slices.SortStableFunc(g.list, func(a, b candidate) int { return a.compare(b, cssWidth) })
	if best := g.list[0].format; best != formatSVG {
		g.list = slices.DeleteFunc(g.list, func(c candidate) bool { return c.format == formatSVG })
	}
}

// compare returns a negative number if a is preferred to b.
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

// pixels returns the declared width, or 0.
func (a candidate) pixels(cssWidth int) int {
	if a.width > 0 || cssWidth == 0 {
		return a.width
	}
	return int(min(a.density, MaxImageWidth) * float64(cssWidth))
}

// isPlaceholder reports whether a URL is named like a placeholder that a script replaces when the
// image comes into view: blank.gif, spacer.gif, 1x1.png.
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

// maxLazy caps the attributes of each kind in one element that scripts copy into URLs.
const maxLazy = 4

// imageAttributes holds the values of attributes that scripts copy into images.
type imageAttributes struct {
	// Scripts fill in lazy as src, lazySets as srcset, and backgrounds as a background.
	lazy, lazySets, backgrounds []string
	// backgroundSet lists backgrounds to choose from. doubleDensityURL is for two pixels per CSS
	// pixel.
	backgroundSet, doubleDensityURL string
}

func (a *imageAttributes) read(attrs attributes) {
	for i := range attrs {
		if key, found := strings.CutPrefix(attrs[i].Key, "data-"); found && attrs[i].Namespace == "" {
			a.set(key, attrs[i].Val)
		}
	}
}

// set stores the value of an attribute by its key without "data-". Comments name its script.
// lazysizes, lozad, vanilla-lazyload, and most WordPress plugins use data-src and data-srcset.
func (a *imageAttributes) set(key, value string) {
	switch key {
	case "src", "original", "lazy", // jquery.lazyload; slick
		"lazy-src",              // Jetpack, WP Rocket
		"lazyload",              // Slider Revolution
		"cfsrc",                 // Cloudflare Mirage
		"ezsrc",                 // Ezoic
		"flickity-lazyload",     // Flickity
		"opt-src",               // Optimole
		"orig-src",              // Avada
		"pagespeed-lazy-src",    // mod_pagespeed
		"wpfc-original-src",     // WP Fastest Cache
		"flickity-lazyload-src": // Flickity, with a srcset
		if len(a.lazy) < maxLazy {
			a.lazy = append(a.lazy, value)
		}
	case "srcset", "lazy-srcset", "original-set", "flickity-lazyload-srcset", "wpfc-original-srcset":
		if len(a.lazySets) < maxLazy {
			a.lazySets = append(a.lazySets, value)
		}
	case "bg", "background-image", "background": // lazysizes, vanilla-lazyload; lozad; many others
		if len(a.backgrounds) < maxLazy {
			a.backgrounds = append(a.backgrounds, value)
		}
	case "bgset": // a plugin of lazysizes
		a.backgroundSet = value
	case "hi-res-src":
		a.doubleDensityURL = value
	}
}

// dimension returns a width or height in pixels, or 0 if it is a percentage, invalid or too large.
func dimension(value string) int {
	const maxDimension = 100_000
	value = strings.TrimLeft(value, htmlSpace)
	rest := strings.TrimLeft(value, "0123456789")
	n := parseInteger(strings.TrimSuffix(value, rest))
	fraction := strings.TrimLeft(rest, ".0123456789")
	if n > maxDimension || strings.HasPrefix(fraction, "%") {
		return 0
	}
	return n
}

// largestSize returns the largest of a link's sizes, such as "16x16 32x32", or 0 for "any".
func largestSize(sizes string) (width, height int) {
	for size := range strings.FieldsSeq(sizes) {
		w, h, _ := strings.Cut(strings.ToLower(size[:min(len(size), 32)]), "x")
		if w, h := dimension(w), dimension(h); w > 0 && h > 0 && w*h > width*height {
			width, height = w, h
		}
	}
	return width, height
}
