package picture

import (
	"errors"
	"image/color"

	"golang.org/x/image/tiff"
)

// tiff reads the first directory of a TIFF. A block is held as it is stored and
// unpacked, beside the picture.
func (s *survey) tiff(src *source) error {
	config, err := tiff.DecodeConfig(src.whole())
	if unsupported, ok := errors.AsType[tiff.UnsupportedError](err); ok {
		s.undecodable = "no decoder for this kind of tiff: " + string(unsupported)
		return s.tiffSize(src)
	}
	s.width, s.height = config.Width, config.Height
	if err != nil {
		return err
	}
	s.takes(4, bytesPerPixel(config.ColorModel), int64(s.width), int64(s.height))
	s.takes(2, src.size)
	return nil
}

// bytesPerPixel is what a picture takes in memory.
func bytesPerPixel(model color.Model) int64 {
	if _, ok := model.(color.Palette); ok {
		return 1
	}
	switch model {
	case color.GrayModel:
		return 1
	case color.Gray16Model:
		return 2
	case color.RGBA64Model, color.NRGBA64Model:
		return 8
	}
	return 4
}
