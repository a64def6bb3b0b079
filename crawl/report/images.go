package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// ImageFilter selects images, the latest first; zero values leave none out.
type ImageFilter struct {
	Domain              string // its pages name them
	MinWidth, MinHeight int
	Format              crawl.ImageFormat
	Status              ImageStatus
	Problem             crawl.ImageProblem
	Most                int
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
	ID                 string // a UUID of version 7
	PageID             int64
	URL                string
	Domain             string
	crawl.ImageContent // of its last download

	ContentType  string
	DiscoveredAt time.Time
	LastSeenAt   time.Time // when it was answered last
	// Success is nil before the first fetch; false says that the last fetch failed, for Problem.
	Success *bool
	Problem crawl.ImageProblem
	// StoredAt and ThumbnailAt are when its bytes and its thumbnail came to the object store.
	StoredAt, ThumbnailAt time.Time
	// Pages counts the pages that name it, up to ImagePagesBound. The other fields are of the first.
	Pages     int64
	Source    string
	Discovery crawl.Discovery
	Alt       string
	Caption   string
}

// ImagePagesBound is how far pages are counted that name an image.
const ImagePagesBound = 1000

// ImageNear is an image that looks like another.
type ImageNear struct {
	ImageRow

	// Distance counts the bits in which their hashes differ. Images counts the URLs with this
	// content, up to ImagePagesBound.
	Distance int
	Images   int64
}

// ImageDistanceMax bounds the distance of the pHashes of two images that are alike, and
// ImageDHashMax that of their dHashes (images_near in the database), which differ between
// pictures with the same layout, such as pages of text.
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
	ID            string
	ImageID       string
	ImageURL      string
	PageID        int64
	PageURL       string
	Domain        string
	Discovery     crawl.Discovery
	Alt, Caption  string
	Width, Height int // as the page says, in CSS pixels
	Variants      []string
	DiscoveredAt  time.Time
	GoneAt        time.Time
}
