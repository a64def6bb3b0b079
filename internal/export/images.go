package export

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
)

func imageColumns() []column[report.ImageRow] {
	type row = report.ImageRow
	said := func(name, doc string, get func(*crawl.ImageMeta) string) column[row] {
		return maybeText(name, doc, func(r *row) string { return get(&r.Meta) })
	}
	hash := func(name, doc string, get func(*row) *crawl.ImageHash) column[row] {
		return maybeText(name, doc, func(r *row) string {
			if h := get(r); h != nil {
				return h.String()
			}
			return ""
		})
	}
	return []column[row]{
		text("id", "names the image: a UUID", func(r *row) string { return r.ID }),
		text("url", "canonical URL", func(r *row) string { return r.URL }),
		few(text("domain", "host that has it, without `www.`", func(r *row) string { return r.Domain })),
		maybeText("sha256_hash", "that of its bytes when they last came, in hexadecimal; so is what follows up to `license`",
			func(r *row) string { return r.SHA256 }),
		positive("width", "of the picture as it is shown, in pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "the same", func(r *row) int64 { return int64(r.Height) }),
		few(maybeText("format", "`jpeg`, `png`, `gif`, `webp`, `bmp`, `tiff`, `avif`, `heic`, by its first bytes",
			func(r *row) string { return string(r.Format) })),
		few(maybeText("content_type", "as the server said", func(r *row) string { return r.ContentType })),
		positive("file_size_bytes", "how many they are", func(r *row) int64 { return r.Bytes }),
		hash("phash", "perceptual hash, 16 hexadecimal digits; null where it was not decoded", func(r *row) *crawl.ImageHash { return r.PHash }),
		hash("dhash", "the other one", func(r *row) *crawl.ImageHash { return r.DHash }),
		positive("frames", "more than 1 for an animation", func(r *row) int64 { return int64(r.Frames) }),
		flag("flat", "whether there is too little in it for its hashes to tell it from others", func(r *row) bool { return r.Flat }),
		few(maybeText("undecoded", "why it has no hashes", func(r *row) string { return r.Undecoded })),
		few(said("camera", "make and model, as it says", func(m *crawl.ImageMeta) string { return m.Camera })),
		maybeInstant("taken_at", "when, as it says, in the time of its camera", func(r *row) time.Time { return r.Meta.TakenAt }),
		said("creator", "as it says", func(m *crawl.ImageMeta) string { return m.Creator }),
		said("credit", "the same", func(m *crawl.ImageMeta) string { return m.Credit }),
		said("copyright", "the same", func(m *crawl.ImageMeta) string { return m.Copyright }),
		said("license", "terms of use, as a rule a URL", func(m *crawl.ImageMeta) string { return m.License }),
		instant("discovered_at", "when a page was first found to name it", func(r *row) time.Time { return r.DiscoveredAt }),
		maybeInstant("last_seen_at", "when it was last answered", func(r *row) time.Time { return r.LastSeenAt }),
		maybeFlag("download_success", "whether its last fetch brought it; null while it was not fetched",
			func(r *row) *bool { return r.Success }),
		few(maybeText("problem", problems, func(r *row) string { return string(r.Problem) })),
		maybeInstant("stored_at", "since when its bytes are kept, under their hash", func(r *row) time.Time { return r.StoredAt }),
		number("pages", "how many pages name it, up to 1000; what follows is of the first", func(r *row) int64 { return r.Pages }),
		maybeText("source_page_url", "its URL", func(r *row) string { return r.Source }),
		few(maybeText("discovery_type", discoveries, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "text that stands for it", func(r *row) string { return r.Alt }),
		maybeText("caption", "that of its figure", func(r *row) string { return r.Caption }),
	}
}

const (
	problems = "why it did not: `not answered`, `not an image`, `svg`, `mismatch`, `too small`, `too large`, " +
		"`malformed`, `forbidden`"
	discoveries = "how the page names it: `img`, `srcset`, `picture`, `lazy`, `css`, `og:image`, `twitter:image`, " +
		"`image_src`, `icon`"
)

func provenanceColumns() []column[report.ProvenanceRow] {
	type row = report.ProvenanceRow
	return []column[row]{
		text("id", "names the pair of image and page: a UUID", func(r *row) string { return r.ID }),
		text("image_id", "`id` of the image", func(r *row) string { return r.ImageID }),
		text("image_url", "its URL", func(r *row) string { return r.ImageURL }),
		number("page_id", "`id` of the page that names it", func(r *row) int64 { return r.PageID }),
		text("source_page_url", "its URL", func(r *row) string { return r.PageURL }),
		few(text("source_domain", "its domain", func(r *row) string { return r.Domain })),
		instant("discovered_at", "when the page was first read with it", func(r *row) time.Time { return r.DiscoveredAt }),
		few(text("discovery_type", discoveries, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "text that stands for it", func(r *row) string { return r.Alt }),
		maybeText("caption", "that of its figure", func(r *row) string { return r.Caption }),
		positive("width", "as the page says, in CSS pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "the same", func(r *row) int64 { return int64(r.Height) }),
		texts("variants", "URLs of the same image in other sizes and formats", func(r *row) []string { return r.Variants }),
		maybeInstant("gone_at", "when the page was read without it; null while it is there", func(r *row) time.Time { return r.GoneAt }),
	}
}
