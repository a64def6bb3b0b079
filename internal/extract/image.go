package extract

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
)

const (
	// MaxImageVariants caps Image.Variants.
	MaxImageVariants = 16

	// MaxImageTextBytes caps Image.Alt and Image.Caption, in bytes of UTF-8.
	MaxImageTextBytes = 300

	// MaxImageWidth is the declared width, in pixels, up to which the largest of an
	// image's URLs is chosen.
	MaxImageWidth = 4096
)

// Image is an image of a page.
type Image struct {
	// URL is the one to fetch: see the package comment for how it is chosen.
	URL urls.URL

	// Variants are the URLs of the same image in other sizes and formats, the preferred
	// ones first: at most MaxImageVariants.
	Variants []urls.URL

	// Discovery is how the page names URL; if in several ways, it is the first of them in
	// the order of the constants of [crawl.Discovery].
	Discovery crawl.Discovery

	// Alt is the text that stands for the image, and Caption that of the figure it is in:
	// cleaned as a title is, in normal form C, at most MaxImageTextBytes.
	Alt     string
	Caption string

	// Width and Height are what attributes declare, in CSS pixels, up to 100,000; 0 if
	// nothing is declared, or a percentage.
	Width  int
	Height int
}
