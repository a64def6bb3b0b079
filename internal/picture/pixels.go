package picture

import (
	"fmt"
	"image"
	"image/color"
)

// pixels is a picture on white, row by row.
type pixels struct {
	width, height int
	// luma fills dst with the brightness of a row, like PIL's mode L.
	luma func(y int, dst []uint8)
	// rgb fills dst with three bytes per pixel.
	rgb func(y int, dst []uint8)
}

// luma weighs red, green and blue by ITU-R BT.601, in the integers of PIL.
func luma(r, g, b uint8) uint8 {
	return uint8((uint32(r)*19595 + uint32(g)*38470 + uint32(b)*7471 + 0x8000) >> 16) //nolint:gosec // at most 255
}

// lumaOf converts colours to brightness.
func lumaOf(width int, rgb func(y int, dst []uint8)) func(y int, dst []uint8) {
	row := make([]uint8, 3*width)
	return func(y int, dst []uint8) {
		rgb(y, row)
		for x := range dst {
			p := row[3*x : 3*x+3 : 3*x+3]
			dst[x] = luma(p[0], p[1], p[2])
		}
	}
}

// pixelsOf reads all picture types of the decoders. Its functions are not safe for concurrent use.
func pixelsOf(img image.Image) (pixels, error) {
	b := img.Bounds()
	p := pixels{width: b.Dx(), height: b.Dy()}
	switch img := img.(type) {
	case *image.Gray:
		p.luma = func(y int, dst []uint8) { copy(dst, img.Pix[y*img.Stride:]) }
	case *image.Gray16:
		p.luma = func(y int, dst []uint8) { // the high byte of each
			row := img.Pix[y*img.Stride:]
			for x := range dst {
				dst[x] = row[2*x]
			}
		}
	case *image.YCbCr:
		p.luma = func(y int, dst []uint8) { copy(dst, img.Y[y*img.YStride:]) }
		p.rgb = func(y int, dst []uint8) { ycbcrRow(img, y, dst) }
	case *image.NYCbCrA:
		p.rgb = func(y int, dst []uint8) {
			ycbcrRow(&img.YCbCr, y, dst)
			alpha := img.A[y*img.AStride:]
			for i := range dst {
				dst[i] = onWhite(dst[i], alpha[i/3])
			}
		}
	case *image.NRGBA:
		p.rgb = func(y int, dst []uint8) { straightRow(img.Pix[y*img.Stride:], 1, dst) }
	case *image.NRGBA64:
		p.rgb = func(y int, dst []uint8) { straightRow(img.Pix[y*img.Stride:], 2, dst) }
	case *image.RGBA:
		p.rgb = func(y int, dst []uint8) { multipliedRow(img.Pix[y*img.Stride:], 1, dst) }
	case *image.RGBA64:
		p.rgb = func(y int, dst []uint8) { multipliedRow(img.Pix[y*img.Stride:], 2, dst) }
	case *image.CMYK:
		p.rgb = func(y int, dst []uint8) {
			row := img.Pix[y*img.Stride:]
			for x := range p.width {
				c := row[4*x : 4*x+4 : 4*x+4]
				dst[3*x], dst[3*x+1], dst[3*x+2] = color.CMYKToRGB(c[0], c[1], c[2], c[3])
			}
		}
	case *image.Paletted:
		p.rgb = palettedRows(img)
	default:
		return p, fmt.Errorf("the decoder returned a %T", img)
	}
	if p.rgb == nil { // grey
		grey := make([]uint8, p.width)
		p.rgb = func(y int, dst []uint8) {
			p.luma(y, grey)
			for x, v := range grey {
				dst[3*x], dst[3*x+1], dst[3*x+2] = v, v, v
			}
		}
	}
	if p.luma == nil {
		p.luma = lumaOf(p.width, p.rgb)
	}
	return p, nil
}

// ycbcrRow converts a row. The picture's top left corner is at 0, 0.
func ycbcrRow(img *image.YCbCr, y int, dst []uint8) {
	for x := range len(dst) / 3 {
		c := img.COffset(x, y)
		dst[3*x], dst[3*x+1], dst[3*x+2] = color.YCbCrToRGB(img.Y[y*img.YStride+x], img.Cb[c], img.Cr[c])
	}
}

// straightRow lays colours with straight alpha on white, using the first byte of each sample.
func straightRow(row []uint8, bytes int, dst []uint8) {
	for x := range len(dst) / 3 {
		c := row[4*bytes*x : 4*bytes*(x+1) : 4*bytes*(x+1)]
		r, g, b, a := c[0], c[bytes], c[2*bytes], c[3*bytes]
		if a != 255 {
			r, g, b = onWhite(r, a), onWhite(g, a), onWhite(b, a)
		}
		d := dst[3*x : 3*x+3 : 3*x+3]
		d[0], d[1], d[2] = r, g, b
	}
}

// multipliedRow is like straightRow for colours that are multiplied by their alpha, or brighter.
func multipliedRow(row []uint8, bytes int, dst []uint8) {
	for x := range len(dst) / 3 {
		c := row[4*bytes*x : 4*bytes*(x+1) : 4*bytes*(x+1)]
		white := 255 - c[3*bytes]
		d := dst[3*x : 3*x+3 : 3*x+3]
		d[0], d[1], d[2] = addUpTo255(c[0], white), addUpTo255(c[bytes], white), addUpTo255(c[2*bytes], white)
	}
}

func addUpTo255(a, b uint8) uint8 { return a + min(b, 255-a) }

// onWhite lays a sample with an alpha on white.
func onWhite(v, alpha uint8) uint8 {
	return uint8((uint32(v)*uint32(alpha) + 255*(255-uint32(alpha)) + 127) / 255) //nolint:gosec // at most 255
}

// palettedRows looks up the colours of a palette. An index past the palette is black.
func palettedRows(img *image.Paletted) func(y int, dst []uint8) {
	var colours [256][3]uint8
	for i, c := range img.Palette[:min(len(img.Palette), 256)] {
		straight, _ := color.NRGBAModel.Convert(c).(color.NRGBA)
		straightRow([]uint8{straight.R, straight.G, straight.B, straight.A}, 1, colours[i][:])
	}
	return func(y int, dst []uint8) {
		row := img.Pix[y*img.Stride:][:len(dst)/3]
		for x, i := range row {
			copy(dst[3*x:], colours[i][:])
		}
	}
}

// onCanvas reads a picture that is part of a canvas. The rest of the canvas is white.
func onCanvas(img image.Image, at image.Point, width, height int) (pixels, error) {
	p, err := pixelsOf(img)
	if err != nil || at == (image.Point{}) && p.width == width && p.height == height {
		return p, err
	}
	if at.X < 0 || at.Y < 0 || at.X+p.width > width || at.Y+p.height > height {
		return pixels{}, fmt.Errorf("a frame of %d×%d at %s exceeds the image of %d×%d", p.width, p.height, at, width, height)
	}
	part := func(rows func(int, []uint8), each int) func(int, []uint8) {
		return func(y int, dst []uint8) {
			for i := range dst {
				dst[i] = 255
			}
			if y >= at.Y && y < at.Y+p.height {
				rows(y-at.Y, dst[each*at.X:each*(at.X+p.width)])
			}
		}
	}
	return pixels{width: width, height: height, luma: part(p.luma, 1), rgb: part(p.rgb, 3)}, nil
}

// toFullRange stretches the samples of a lossy WebP in place. VP8 has brightness from 16 to 235 and
// colours from 16 to 240 (RFC 9649, BT.601), and the decoder does not convert them. Go's picture
// types have both from 0 to 255, as JPEG does.
func toFullRange(img image.Image) {
	var lossy *image.YCbCr
	switch img := img.(type) {
	case *image.YCbCr:
		lossy = img
	case *image.NYCbCrA:
		lossy = &img.YCbCr
	default:
		return
	}
	var brightness, colour [256]uint8
	for i := range 256 {
		brightness[i] = uint8(min(max((2*(i-16)*255+219)/(2*219), 0), 255))
		colour[i] = uint8(min(max((2*(i-16)*255+224)/(2*224), 0), 255))
	}
	for plane, table := range map[*[]uint8]*[256]uint8{&lossy.Y: &brightness, &lossy.Cb: &colour, &lossy.Cr: &colour} {
		for i, v := range *plane {
			(*plane)[i] = table[v]
		}
	}
}
