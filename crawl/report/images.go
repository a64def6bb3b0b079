package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// ImageFilter is which images are listed; zero values leave none out.
type ImageFilter struct {
	// Domain is one whose pages name them.
	Domain              string
	MinWidth, MinHeight int
	Format              crawl.ImageFormat
	// Status is which of them: those that were recorded, by default.
	Status ImageStatus
	// Problem is why they were not recorded.
	Problem crawl.ImageProblem
	// Most is how many are wanted, the latest first.
	Most int
}

// ImageStatus is how far an image has come.
type ImageStatus string

// The statuses of images.
const (
	ImageRecorded ImageStatus = ""
	ImagePending  ImageStatus = "pending"
	ImageFailed   ImageStatus = "failed"
)

// ImageRow is an image as it is listed and exported. Zero values are unknown.
type ImageRow struct {
	// ID is a UUID of version 7.
	ID     string
	PageID int64
	URL    string
	Domain string
	// ImageContent is that of its last download.
	crawl.ImageContent

	ContentType  string
	DiscoveredAt time.Time
	// LastSeenAt is when it was answered last.
	LastSeenAt time.Time
	// Success is nil while it was not fetched; false says that its last fetch brought
	// nothing, for Problem.
	Success *bool
	Problem crawl.ImageProblem
	// StoredAt and ThumbnailAt are since when its bytes, and a small picture of it, are in
	// the object store.
	StoredAt, ThumbnailAt time.Time
	// Pages is how many pages name it, up to ImagePagesBound; what follows is of the first.
	Pages     int64
	Source    string
	Discovery crawl.Discovery
	Alt       string
	Caption   string
}

// ImagePagesBound is how many pages are counted that name an image.
const ImagePagesBound = 1000

// ImageNear is an image that looks like another.
type ImageNear struct {
	ImageRow

	// Distance is the number of bits in which their hashes differ, and Images how many URLs
	// have this content, up to ImagePagesBound.
	Distance int
	Images   int64
}

// ImageDistanceMax is how far apart two hashes may be that are still found to be alike.
//
// ImageDHashMax is the same of their dHashes (images_near in the database): pictures with
// the same layout, such as pages of text, are told apart by it.
const (
	ImageDistanceMax = 8
	ImageDHashMax    = 16
)

// ImageCopies are images that have the same bytes (SHA256), or that look the same (PHash)
// and have not.
type ImageCopies struct {
	SHA256   string `json:"sha256,omitempty"`
	PHash    string `json:"phash,omitempty"`
	Contents int64  `json:"contents"`
	Images   int64  `json:"images"`
	Domains  int64  `json:"domains,omitempty"`
	// URLs are the first of them.
	URLs []string `json:"urls"`
}

// ProvenanceRow is a page that names an image, as it is exported.
type ProvenanceRow struct {
	ID           string
	ImageID      string
	ImageURL     string
	PageID       int64
	PageURL      string
	Domain       string
	Discovery    crawl.Discovery
	Alt, Caption string
	// Width and Height are what the page says, in CSS pixels.
	Width, Height int
	Variants      []string
	DiscoveredAt  time.Time
	GoneAt        time.Time
}
