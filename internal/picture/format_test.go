package picture_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/picture"
)

func TestFormat(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		got, ok := picture.Format(f.bytes[:64])
		require.True(t, ok, f.name)
		require.Equal(t, f.format, got, f.name)
	}
	ftyp := func(major string, compatible ...string) string {
		return string(box("ftyp", []byte(major), numbers(0), []byte(strings.Join(compatible, ""))))
	}
	for head, want := range map[string]crawl.ImageFormat{
		ftyp("avif", "mif1"):                 crawl.ImageAVIF,
		ftyp("avis", "msf1"):                 crawl.ImageAVIF,
		ftyp("mif1", "miaf", "avif"):         crawl.ImageAVIF,
		ftyp("heic", "mif1"):                 crawl.ImageHEIC,
		ftyp("mif1", "heic"):                 crawl.ImageHEIC,
		ftyp("msf1", "hevc"):                 crawl.ImageHEIC,
		ftyp("isom", "mp42"):                 "",
		"MM\x00*\x00\x00\x00\x08":            crawl.ImageTIFF,
		"II*\x00\x08\x00\x00\x00":            crawl.ImageTIFF,
		"BM is how a text of ours can begin": "",
		"RIFF\x00\x00\x00\x00WAVEfmt ":       "",
		"\x00\x00\x01\x00\x01\x00\x10\x10":   "",
		"<svg xmlns='...'>":                  "",
		"\xff\xd8":                           "",
		"":                                   "",
	} {
		got, ok := picture.Format([]byte(head))
		require.Equal(t, want, got, "%q", head)
		require.Equal(t, want != "", ok, "%q", head)
	}
}

func TestAgrees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format      crawl.ImageFormat
		contentType string
		want        bool
	}{
		{crawl.ImageJPEG, "image/jpeg", true},
		{crawl.ImageJPEG, "IMAGE/JPG; charset=binary", true},
		{crawl.ImageJPEG, "image/pjpeg", true},
		{crawl.ImageJPEG, "image/jpeg; =broken", true},
		{crawl.ImageJPEG, "image/png", false},
		{crawl.ImageJPEG, "text/html", false},
		{crawl.ImagePNG, "image/x-png", true},
		{crawl.ImageBMP, "image/x-ms-bmp", true},
		{crawl.ImageTIFF, "image/tif", true},
		{crawl.ImageHEIC, "image/heif", true},
		{crawl.ImageAVIF, "image/avif-sequence", true},
		{crawl.ImageWebP, "", true},
		{crawl.ImageWebP, "application/octet-stream", true},
		{crawl.ImageWebP, "binary/octet-stream", true},
	} {
		require.Equal(t, c.want, picture.Agrees(c.format, c.contentType), "%s %s", c.format, c.contentType)
	}
	for _, format := range []crawl.ImageFormat{
		crawl.ImageJPEG, crawl.ImagePNG, crawl.ImageGIF, crawl.ImageWebP, crawl.ImageBMP, crawl.ImageTIFF, crawl.ImageAVIF, crawl.ImageHEIC,
	} {
		require.Equal(t, "image/"+string(format), picture.MediaType(format))
		require.True(t, picture.Agrees(format, picture.MediaType(format)))
	}
	require.Empty(t, picture.MediaType("svg"))
}
