package read

import (
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
)

// images are the images of a page as they are recorded: at most as many as the run takes
// from one page, and the icons of the site. all is true if none is left out.
func (r *reading) images(page extract.Page) (found []crawl.FoundImage, all bool) {
	left := *r.d.Run.Settings.MaxImagesPerPage
	all = page.ImagesDropped == 0
	for _, i := range page.Images {
		if i.URL == r.url || spacer(i) {
			continue
		}
		if i.Discovery != crawl.DiscoveryIcon {
			if left == 0 {
				all = false
				continue
			}
			left--
		}
		image := crawl.FoundImage{
			URL: i.URL.String(), Domain: i.URL.Domain(), Origin: i.URL.Origin(), Discovery: i.Discovery, Registered: r.registered(i.URL),
			Alt: i.Alt, Caption: i.Caption, Width: i.Width, Height: i.Height,
		}
		for _, v := range i.Variants {
			image.Variants = append(image.Variants, v.String())
		}
		found = append(found, image)
	}
	return found, all
}

// spacer reports whether a page says that an image is too small to be seen, as those are
// that count readers.
func spacer(i extract.Image) bool {
	return i.Width > 0 && i.Width <= spacerMax || i.Height > 0 && i.Height <= spacerMax
}

// spacerMax is the side of a spacer, in CSS pixels.
const spacerMax = 2

// addImages records the images of a page, and how they become part of the run.
func (r *reading) addImages(at *crawl.Attempt, page extract.Page, said usage.Usage) {
	if r.forbidsImages(at, said) {
		return
	}
	follow, stored := decide.FollowImages(*r.d.Run, *r.d.Crawl, said)
	if !stored {
		return
	}
	var all bool
	at.Images, all = r.images(page)
	at.FollowImages = follow
	at.AllImages = all && at.Error == "" && !at.Truncated && !at.Login
	named := len(page.Images) + page.ImagesDropped + page.ImagesInvalid
	at.Page.Signals.Images = &crawl.ImageCounts{
		Named: named, Data: page.ImagesData, SVG: page.ImagesSVG, Dropped: named - len(at.Images),
	}
}

// forbidsImages reports whether the publisher of a page forbids what the run is for with its
// images, and has what it said of them before forgotten.
func (r *reading) forbidsImages(at *crawl.Attempt, said usage.Usage) bool {
	set := r.d.Run.Settings
	if allowed, _ := usage.AllowsImages(*set.Purpose, said); allowed || !set.TakesImages() {
		return false
	}
	at.AllImages, at.ImagesForbidden = true, true
	return true
}
