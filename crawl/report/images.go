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
	ID                 string     `json:"id"` // a UUID of version 7
	PageID             int64      `json:"-"`
	URL                string     `json:"url"`
	Domain             string     `json:"domain"`
	crawl.ImageContent `json:"-"` // of its last download

	ContentType  string    `json:"content_type,omitempty"`
	DiscoveredAt time.Time `json:"discovered_at"`
	LastSeenAt   time.Time `json:"last_seen_at,omitzero"` // its last successful response
	// Success is nil before the first fetch; false means that the last fetch failed, for Problem.
	Success *bool              `json:"download_success"`
	Problem crawl.ImageProblem `json:"problem,omitempty"`
	// StoredAt and ThumbnailAt are the times of storing the bytes and the thumbnail.
	StoredAt    time.Time `json:"stored_at,omitzero"`
	ThumbnailAt time.Time `json:"-"`
	// Pages counts pages that name it, up to ImagePagesBound. The other fields are of the first page.
	Pages     int64           `json:"pages"`
	Source    string          `json:"source_page_url,omitempty"`
	Discovery crawl.Discovery `json:"discovery_type,omitempty"`
	Alt       string          `json:"alt,omitempty"`
	Caption   string          `json:"caption,omitempty"`
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
