package picture_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/picture"
)

// BenchmarkRead reads pictures of 1,024×1,024 pixels from memory: all that Read does,
// SHA-256 and metadata among it.
func BenchmarkRead(b *testing.B) {
	img := drawKind(1, 1, 1024, 1024)
	fixture := func(name string) []byte {
		file, err := os.ReadFile("testdata/" + name)
		require.NoError(b, err)
		return file
	}
	for _, c := range []struct {
		name      string
		file      []byte
		thumbnail bool
	}{
		{"JPEG", encodeJPEG(b, img, 85), false},
		{"ProgressiveJPEG", fixture("progressive.jpg"), false},
		{"PNG", encodePNG(b, img), false},
		{"WebP", fixture("lossy.webp"), false},
		{"JPEGWithThumbnail", encodeJPEG(b, img, 85), true},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			reader := picture.New(picture.Limits{})
			for b.Loop() {
				options := picture.Options{Thumbnail: c.thumbnail}
				got, err := reader.Read(b.Context(), bytes.NewReader(c.file), int64(len(c.file)), options)
				require.NoError(b, err)
				require.NotNil(b, got.PHash)
			}
		})
	}
}
