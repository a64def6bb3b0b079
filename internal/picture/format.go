package picture

import (
	"bytes"
	"mime"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// headBytes is the length of a file's beginning that identifies its format or SVG.
const headBytes = 1024

// magics are the first bytes of each format.
var magics = []struct {
	prefix string
	format crawl.ImageFormat
}{
	{"\xff\xd8\xff", crawl.ImageJPEG},
	{"\x89PNG\r\n\x1a\n", crawl.ImagePNG},
	{"GIF87a", crawl.ImageGIF},
	{"GIF89a", crawl.ImageGIF},
	{"II*\x00", crawl.ImageTIFF},
	{"MM\x00*", crawl.ImageTIFF},
}

// Format returns the format of a file by its first 64 bytes. It returns false for formats that are
// not in [crawl.ImageFormat], such as SVG and ICO.
func Format(head []byte) (crawl.ImageFormat, bool) {
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.prefix)) {
			return m.format, true
		}
	}
	switch {
	case len(head) >= 16 && string(head[:4]) == "RIFF" && string(head[8:15]) == "WEBPVP8":
		return crawl.ImageWebP, true
	case len(head) >= 18 && string(head[:2]) == "BM" && slices.Contains(bmpHeaders, head[14]) &&
		string(head[15:18]) == "\x00\x00\x00": // many texts begin with the two letters
		return crawl.ImageBMP, true
	case len(head) >= 16 && string(head[4:8]) == "ftyp":
		return heifFormat(head)
	}
	return "", false
}

// bmpHeaders are the possible lengths of the second header of a BMP.
var bmpHeaders = []byte{12, 40, 52, 56, 64, 108, 124}

// heifFormat returns the format for the brands of an ISO base media file (ISO/IEC 14496-12). For
// the general brands of HEIF, only the compatible brands name the codec.
func heifFormat(head []byte) (crawl.ImageFormat, bool) {
	switch string(head[8:12]) {
	case "avif", "avis":
		return crawl.ImageAVIF, true
	case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs":
		return crawl.ImageHEIC, true
	case "mif1", "mif2", "msf1", "miaf":
	default:
		return "", false
	}
	end := min(len(head), int(head[2])<<8|int(head[3]))
	for at := 16; at+4 <= end; at += 4 {
		if brand := string(head[at : at+4]); brand == "avif" || brand == "avis" {
			return crawl.ImageAVIF, true
		}
	}
	return crawl.ImageHEIC, true
}

// isSVG reports whether a file begins like SVG.
func isSVG(head []byte) bool {
	text := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff"))))
	if bytes.HasPrefix(text, []byte("<svg")) {
		return true
	}
	for _, before := range []string{"<?xml", "<!doctype svg", "<!--"} {
		if bytes.HasPrefix(text, []byte(before)) {
			return bytes.Contains(text, []byte("<svg"))
		}
	}
	return false
}

// mediaTypes are the media types that servers send for each format, the registered type first.
var mediaTypes = map[crawl.ImageFormat][]string{
	crawl.ImageJPEG: {"image/jpeg", "image/jpg", "image/jpe", "image/pjpeg", "image/jfif", "image/pjp", "image/x-jpeg", "image/x-jpg"},
	crawl.ImagePNG:  {"image/png", "image/x-png", "image/apng", "image/vnd.mozilla.apng"},
	crawl.ImageGIF:  {"image/gif", "image/x-gif"},
	crawl.ImageWebP: {"image/webp", "image/x-webp"},
	crawl.ImageBMP:  {"image/bmp", "image/x-bmp", "image/x-ms-bmp", "image/ms-bmp", "image/x-bitmap", "image/x-windows-bmp"},
	crawl.ImageTIFF: {"image/tiff", "image/tif", "image/x-tif", "image/x-tiff"},
	crawl.ImageAVIF: {"image/avif", "image/avif-sequence", "image/x-avif", "image/heif", "image/heif-sequence"},
	crawl.ImageHEIC: {"image/heic", "image/heic-sequence", "image/x-heic", "image/heif", "image/heif-sequence", "image/x-heif"},
}

// MediaType returns the registered media type of a format, or an empty string for unknown formats.
func MediaType(format crawl.ImageFormat) string {
	if types := mediaTypes[format]; len(types) > 0 {
		return types[0]
	}
	return ""
}

// Agrees reports whether a Content-Type, with any parameters, is used for the format. An empty or
// general type (application/octet-stream) agrees with all formats.
func Agrees(format crawl.ImageFormat, contentType string) bool {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil { // such as broken parameters
		mediaType, _, _ = strings.Cut(contentType, ";")
		mediaType = strings.ToLower(strings.TrimSpace(mediaType))
	}
	switch mediaType {
	case "", "application/octet-stream", "binary/octet-stream", "application/x-octet-stream", "application/binary":
		return true
	}
	return slices.Contains(mediaTypes[format], mediaType)
}
