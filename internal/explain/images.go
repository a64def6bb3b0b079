package explain

import (
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

// notWantedImage answers for an image that pages name, and that is part of no run.
func notWantedImage(i report.Image) string {
	const answer = "known as an image, but no run wants it: "
	if i.Discovery == crawl.DiscoveryIcon {
		return answer + "icons are not asked for"
	}
	return answer + "its host was beyond the run's image_scope, or its limits, when the page that names it was read"
}

// explainImage says who names a page as an image, and what has become of it.
func explainImage(w *Why, p report.Page) {
	if p.Image == nil {
		return
	}
	w.addf("%s", ImageNamed(*p.Image))
	switch i := *p.Image; {
	case i.Problem != "":
		w.addf("its last fetch brought no image to record: %s", i.Problem)
	case i.SHA256 != "":
		w.addf("it is recorded: %s", ImageContent(i))
	}
}

// ImageNamed says how many pages name an image.
func ImageNamed(i report.Image) string {
	if i.Pages == 0 {
		return "named as an image by no page any more"
	}
	what, many := "an image", Count(i.Pages, "page")
	if i.Discovery == crawl.DiscoveryIcon {
		what = "an icon"
	}
	if i.Pages >= report.ImagePagesBound {
		many = "at least " + many
	}
	return fmt.Sprintf("named as %s by %s, first %s", what, many, i.Source)
}

// ImageContent is what was recorded of an image.
func ImageContent(i report.Image) string {
	text := fmt.Sprintf("%d×%d %s, %s", i.Width, i.Height, i.Format, Size(i.Bytes))
	if !i.StoredAt.IsZero() {
		text += ", stored as " + i.SHA256
	}
	return text
}

// ImageCounts says how many images a page names.
func ImageCounts(c crawl.ImageCounts) string {
	text := fmt.Sprintf("%d named", c.Named)
	if c.Dropped > 0 {
		text += fmt.Sprintf(", %d left out", c.Dropped)
	}
	if c.Data > 0 {
		text += fmt.Sprintf(", %d in the page itself", c.Data)
	}
	if c.SVG > 0 {
		text += ", " + Count(int64(c.SVG), "drawing") + " (SVG)"
	}
	return text
}
