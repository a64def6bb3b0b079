package crawl

import (
	"fmt"
	"math/bits"
	"strconv"
	"time"
)

// Discovery is a page's way of naming an image. It is stored.
type Discovery string

// The ways of naming images. The first of this list counts if a page uses several.
const (
	DiscoveryImg       Discovery = "img"           // the src of an img element
	DiscoverySrcset    Discovery = "srcset"        // a candidate of an img element's srcset
	DiscoveryPicture   Discovery = "picture"       // a candidate of a source in a picture element
	DiscoveryLazy      Discovery = "lazy"          // an attribute that a script copies to src
	DiscoveryCSS       Discovery = "css"           // a background-image in a style attribute
	DiscoveryOpenGraph Discovery = "og:image"      // meta property=og:image (ogp.me)
	DiscoveryTwitter   Discovery = "twitter:image" // meta name=twitter:image
	DiscoveryImageSrc  Discovery = "image_src"     // link rel=image_src
	DiscoveryIcon      Discovery = "icon"          // link rel=icon: not fetched as an image
)

// FoundImage is an image named by a page.
type FoundImage struct {
	URL       string    `json:"url"`
	Domain    string    `json:"domain"`
	Origin    string    `json:"origin"`
	Discovery Discovery `json:"discovery"`
	// RequestTarget is the Visit.RequestTarget of a new image.
	RequestTarget string `json:"request_target,omitempty"`
	// Registered is the registered domain of Domain; empty if they are equal, or on the page's domain.
	Registered string `json:"registered_domain,omitempty"`
	// Alt is its replacement text, and Caption that of its figure: cleaned like a title, bounded.
	Alt     string `json:"alt,omitempty"`
	Caption string `json:"caption,omitempty"`
	// Width and Height are the declared size in CSS pixels; 0 if not declared.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
	// Variants are the URLs of the same image in other sizes and formats, canonical.
	Variants []string `json:"variants,omitempty"`
}

// ImageFormat is the format of an image's bytes, by their magic number.
type ImageFormat string

// The recognized formats.
const (
	ImageJPEG ImageFormat = "jpeg"
	ImagePNG  ImageFormat = "png"
	ImageGIF  ImageFormat = "gif"
	ImageWebP ImageFormat = "webp"
	ImageBMP  ImageFormat = "bmp"
	ImageTIFF ImageFormat = "tiff"
	ImageAVIF ImageFormat = "avif"
	ImageHEIC ImageFormat = "heic"
)

// ImageFormats lists every recognized format.
var ImageFormats = []ImageFormat{ImageJPEG, ImagePNG, ImageGIF, ImageWebP, ImageBMP, ImageTIFF, ImageAVIF, ImageHEIC}

// ImageHash is a perceptual hash of 64 bits: similar pictures have a small Distance.
type ImageHash uint64

// Distance returns the number of different bits of two hashes (Hamming), from 0 to 64.
func (h ImageHash) Distance(other ImageHash) int { return bits.OnesCount64(uint64(h ^ other)) }

// String returns the hash as 16 hexadecimal digits, a common notation.
func (h ImageHash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// Bits returns the hash as Postgres stores it.
func (h ImageHash) Bits() int64 { return int64(h) } //nolint:gosec // the same 64 bits

// MarshalJSON writes the hash as Postgres stores it: a number of 64 bits with a sign.
func (h ImageHash) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, h.Bits(), 10), nil }

// ParseImageHash reads 16 hexadecimal digits.
func ParseImageHash(text string) (ImageHash, error) {
	h, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 {
		return 0, fmt.Errorf("%w: hash %.50q: want 16 hexadecimal digits", ErrInvalid, text)
	}
	return ImageHash(h), nil
}

// ImageContent describes the bytes of an image, independent of its URL.
type ImageContent struct {
	// SHA256 is the hash of all bytes, as 64 lower-case hexadecimal digits.
	SHA256 string      `json:"sha256"`
	Bytes  int64       `json:"bytes"`
	Format ImageFormat `json:"format"`
	// Width and Height are in pixels, after applying the orientation.
	Width  int `json:"width"`
	Height int `json:"height"`
	// Frames is more than 1 for an animation; 0 means unknown.
	Frames int `json:"frames,omitempty"`
	// PHash and DHash are nil if the picture was not decoded, for the reason Undecoded.
	PHash     *ImageHash `json:"phash,omitempty"`
	DHash     *ImageHash `json:"dhash,omitempty"`
	Undecoded string     `json:"undecoded_reason,omitempty"`
	// Flat is set if the picture has too little detail for its hashes, like a logo on white.
	Flat bool      `json:"low_detail,omitempty"`
	Meta ImageMeta `json:"meta,omitzero"`
}

// ImageMeta holds an image's statements about its origin (EXIF, IPTC, XMP), each cleaned like a
// title, and bounded. The place where it was taken is never read.
type ImageMeta struct {
	// Camera is its make and model.
	Camera string `json:"camera,omitempty"`
	// TakenAt is the camera's time, in UTC unless it names a zone.
	TakenAt   time.Time `json:"taken_at,omitzero"`
	Creator   string    `json:"creator,omitempty"`
	Credit    string    `json:"credit,omitempty"`
	Copyright string    `json:"copyright,omitempty"`
	// License is the terms of use, usually a URL.
	License string `json:"license,omitempty"`
}

// ImageUpdate holds the findings of a request for an image.
type ImageUpdate struct {
	// Content is set if the image was read and must be recorded.
	Content *ImageContent `json:"content,omitempty"`
	// Stored and Thumbnail report whether its bytes and a thumbnail are in the object store.
	Stored    bool `json:"stored,omitempty"`
	Thumbnail bool `json:"thumbnail,omitempty"`
	// Problem is the reason for not recording an image; empty for a recorded or unchanged image.
	Problem ImageProblem `json:"problem,omitempty"`
	// Forget deletes the image's earlier records, because its publisher now forbids them.
	Forget bool `json:"forget,omitempty"`
}

// ImageProblem is the reason for not recording an image. It is stored.
type ImageProblem string

// The reasons for not recording an image.
const (
	ImageUnanswered ImageProblem = "not answered" // the last attempt had no response, or no success
	ImageNotAnImage ImageProblem = "not an image" // other content, or an unknown format
	ImageSVG        ImageProblem = "svg"          // a drawing, which is not read
	ImageMismatch   ImageProblem = "mismatch"     // Content-Type and first bytes differ
	ImageTooSmall   ImageProblem = "too small"    // smaller than the run's minimum
	ImageTooLarge   ImageProblem = "too large"    // the file or the picture exceeds a limit
	ImageMalformed  ImageProblem = "malformed"    // its bytes are not a complete picture
	ImageForbidden  ImageProblem = "forbidden"    // its publisher forbids the purpose of the run
)

// ImageCounts counts the images of a page.
type ImageCounts struct {
	// Named counts images with a URL. Dropped counts the named images that were left out: beyond the
	// limit of a page, too small to be seen, or with an invalid URL.
	Named   int `json:"named"`
	Dropped int `json:"dropped,omitempty"`
	// Data counts data: URLs, and SVG drawings: neither is requested.
	Data int `json:"data,omitempty"`
	SVG  int `json:"svg,omitempty"`
}
