package crawl

import (
	"fmt"
	"math/bits"
	"strconv"
	"time"
)

// Discovery is how a page names an image. It is stored.
type Discovery string

// The ways in which pages name images. The first of this list counts if a page uses several.
const (
	DiscoveryImg       Discovery = "img"           // the src of an img element
	DiscoverySrcset    Discovery = "srcset"        // a candidate of an img element's srcset
	DiscoveryPicture   Discovery = "picture"       // a candidate of a source element in a picture element
	DiscoveryLazy      Discovery = "lazy"          // an attribute that a script copies to src (data-src)
	DiscoveryCSS       Discovery = "css"           // a background-image in a style attribute
	DiscoveryOpenGraph Discovery = "og:image"      // meta property=og:image (ogp.me)
	DiscoveryTwitter   Discovery = "twitter:image" // meta name=twitter:image
	DiscoveryImageSrc  Discovery = "image_src"     // link rel=image_src
	DiscoveryIcon      Discovery = "icon"          // link rel=icon: a site's mark, not fetched as an image
)

// FoundImage is an image as a page names it.
type FoundImage struct {
	URL       string    `json:"url"`
	Domain    string    `json:"domain"`
	Origin    string    `json:"origin"`
	Discovery Discovery `json:"discovery"`
	// Registered is the registered domain of Domain; empty if it is Domain itself, or for an image
	// of the page's domain.
	Registered string `json:"registered,omitempty"`
	// Alt is its replacement text, and Caption that of its figure: cleaned as a title is, bounded.
	Alt     string `json:"alt,omitempty"`
	Caption string `json:"caption,omitempty"`
	// Width and Height are what the page says, in CSS pixels; 0 where it does not.
	Width  int `json:"width,omitempty"`
	Height int `json:"height,omitempty"`
	// Variants are the URLs of the same image in other sizes and formats, canonical.
	Variants []string `json:"variants,omitempty"`
}

// ImageFormat is the format of an image's bytes, by their magic number.
type ImageFormat string

// The formats that are recognised.
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

// ImageFormats are all that are recognised.
var ImageFormats = []ImageFormat{ImageJPEG, ImagePNG, ImageGIF, ImageWebP, ImageBMP, ImageTIFF, ImageAVIF, ImageHEIC}

// ImageHash is a perceptual hash of 64 bits: those of pictures that look alike differ in few bits.
type ImageHash uint64

// Distance is the number of bits in which two hashes differ (Hamming), from 0 to 64.
func (h ImageHash) Distance(other ImageHash) int { return bits.OnesCount64(uint64(h ^ other)) }

// String is the hash as 16 hexadecimal digits, as ImageHash and others write it.
func (h ImageHash) String() string { return fmt.Sprintf("%016x", uint64(h)) }

// Bits are the same bits as Postgres stores them.
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

// ImageContent is what the bytes of an image say, wherever they are found.
type ImageContent struct {
	// SHA256 is that of all bytes, as 64 hexadecimal digits in lower case.
	SHA256 string      `json:"sha256"`
	Bytes  int64       `json:"bytes"`
	Format ImageFormat `json:"format"`
	// Width and Height are in pixels, after the orientation was applied.
	Width  int `json:"width"`
	Height int `json:"height"`
	// Frames is more than 1 for an animation; 0 is unknown.
	Frames int `json:"frames,omitempty"`
	// PHash and DHash are nil where the picture was not decoded, for Undecoded.
	PHash     *ImageHash `json:"phash,omitempty"`
	DHash     *ImageHash `json:"dhash,omitempty"`
	Undecoded string     `json:"undecoded,omitempty"`
	// Flat says that the picture has too little for its hashes, as a logo on white.
	Flat bool      `json:"flat,omitempty"`
	Meta ImageMeta `json:"meta,omitzero"`
}

// ImageMeta is what an image says of where it comes from (EXIF, IPTC, XMP), each cleaned
// as a title is, and bounded. Where it was taken is never read.
type ImageMeta struct {
	// Camera is its make and model.
	Camera string `json:"camera,omitempty"`
	// TakenAt is the time of the camera, taken for UTC unless it names a zone.
	TakenAt   time.Time `json:"taken_at,omitzero"`
	Creator   string    `json:"creator,omitempty"`
	Credit    string    `json:"credit,omitempty"`
	Copyright string    `json:"copyright,omitempty"`
	// License is the terms of use, as a rule a URL.
	License string `json:"license,omitempty"`
}

// ImageUpdate is what a request for an image has found.
type ImageUpdate struct {
	// Content is set if it was read, and is to be recorded.
	Content *ImageContent `json:"content,omitempty"`
	// Stored and Thumbnail say that its bytes, and a small picture of it, are in the object store.
	Stored    bool `json:"stored,omitempty"`
	Thumbnail bool `json:"thumbnail,omitempty"`
	// Problem is the reason for which no image is recorded; empty for a recorded or unchanged
	// image.
	Problem ImageProblem `json:"problem,omitempty"`
	// Forget has what was recorded of it before forgotten: its publisher forbids that now.
	Forget bool `json:"forget,omitempty"`
}

// ImageProblem is why an image was not recorded. It is stored.
type ImageProblem string

// The problems that images have.
const (
	ImageUnanswered ImageProblem = "not answered" // the last attempt had no answer, or one that is no success
	ImageNotAnImage ImageProblem = "not an image" // something else came, or an unknown format
	ImageSVG        ImageProblem = "svg"          // a drawing, which is not read
	ImageMismatch   ImageProblem = "mismatch"     // Content-Type and first bytes name different formats
	ImageTooSmall   ImageProblem = "too small"    // smaller than the run wants
	ImageTooLarge   ImageProblem = "too large"    // the file or the picture is larger than is read
	ImageMalformed  ImageProblem = "malformed"    // its bytes are no whole picture
	ImageForbidden  ImageProblem = "forbidden"    // its publisher forbids the purpose of the run
)

// ImageCounts counts the images of a page.
type ImageCounts struct {
	// Named counts images that have a URL. Dropped counts those of them that were left
	// out: beyond the limit of a page, too small to be seen, or with an invalid URL.
	Named   int `json:"named"`
	Dropped int `json:"dropped,omitempty"`
	// Data counts data: URLs, and SVG drawings: neither is requested.
	Data int `json:"data,omitempty"`
	SVG  int `json:"svg,omitempty"`
}
