package report

import (
	"time"

	"github.com/mosey-web/mosey/crawl"
)

// ImageFilter selects images, the latest first; zero values select all.
type ImageFilter struct {
	Domain              string // its pages name them
	MinWidth, MinHeight int
	Format              crawl.ImageFormat
	Status              ImageStatus
	Problem             crawl.ImageProblem
	Limit               int
}

// ImageStatus is the state of an image.
type ImageStatus string

// The states of images.
const (
	ImageRecorded ImageStatus = ""
	ImagePending  ImageStatus = "pending"
	ImageFailed   ImageStatus = "failed"
)

// ImageRow is a listed or exported image. Zero values are unknown.
type ImageRow struct {
	ID                 string // a UUID of version 7
	PageID             int64
	URL                string
	Domain             string
	crawl.ImageContent // of its last download

	ContentType  string
	DiscoveredAt time.Time
	LastSeenAt   time.Time // its last successful response
	// Success is nil before the first fetch; false means that the last fetch failed, for Problem.
	Success *bool
	Problem crawl.ImageProblem
	// StoredAt and ThumbnailAt are the times of storing the bytes and the thumbnail.
	StoredAt, ThumbnailAt time.Time
	// Pages counts pages that name it, up to ImagePagesBound. The other fields are of the first page.
	Pages     int64
	Source    string
	Discovery crawl.Discovery
	Alt       string
	Caption   string
}

// ImagePagesBound limits the count of pages that name an image.
const ImagePagesBound = 1000

// SimilarImage is an image that resembles another.
type SimilarImage struct {
	ImageRow

	// Distance compares their hashes. Images counts URLs with this content, up to ImagePagesBound.
	Distance int
	Images   int64
}

// ImageDistanceMax and ImageDHashMax bound the pHash and dHash distances of similar images
// (images_near in the database). The dHashes differ between pictures with the same layout, such as
// pages of text.
const (
	ImageDistanceMax = 8
	ImageDHashMax    = 16
)

// ImageCopies lists images with equal bytes (SHA256), or only a similar appearance (PHash).
type ImageCopies struct {
	SHA256   string `json:"sha256,omitempty"`
	PHash    string `json:"phash,omitempty"`
	Contents int64  `json:"contents"`
	Images   int64  `json:"images"`
	Domains  int64  `json:"domains,omitempty"`
	// URLs lists the first images.
	URLs []string `json:"urls"`
}

// ProvenanceRow is an exported page that names an image.
type ProvenanceRow struct {
	ID            string
	ImageID       string
	ImageURL      string
	PageID        int64
	PageURL       string
	Domain        string
	Discovery     crawl.Discovery
	Alt, Caption  string
	Width, Height int // declared by the page, in CSS pixels
	Variants      []string
	DiscoveredAt  time.Time
	GoneAt        time.Time
}
