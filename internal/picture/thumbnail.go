package picture

import (
	"bytes"
	"image"
	"image/jpeg"

	"golang.org/x/image/draw"
)

// The longest side of a thumbnail in pixels, and its quality as a JPEG.
const (
	thumbnailSide    = 256
	thumbnailQuality = 80
)

// thumbnail returns a small JPEG of a picture, the right way up, on white. One that is
// small already keeps its size.
func thumbnail(p pixels, turned orientation) ([]byte, error) {
	width, height := turned.apply(p.width, p.height)
	longest := max(width, height)
	if longest > thumbnailSide {
		width, height = max(1, width*thumbnailSide/longest), max(1, height*thumbnailSide/longest)
	}
	reduced := reduce(p, turned, 3, 2*thumbnailSide)
	from := image.NewRGBA(image.Rect(0, 0, reduced.width, reduced.height))
	for i := range reduced.width * reduced.height {
		copy(from.Pix[4*i:], reduced.cells[3*i:3*i+3])
		from.Pix[4*i+3] = 255
	}
	small := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.CatmullRom.Scale(small, small.Bounds(), from, from.Bounds(), draw.Src, nil)
	var out bytes.Buffer
	if err := jpeg.Encode(&out, small, &jpeg.Options{Quality: thumbnailQuality}); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
