package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// xmpKeyword begins the text chunk of a PNG that holds XMP, here uncompressed and
// without a language.
const xmpKeyword = "XML:com.adobe.xmp\x00\x00\x00\x00\x00"

// png reads the chunks of a PNG up to its end.
func (s *survey) png(r *bufio.Reader) error {
	if err := discard(r, 8); err != nil {
		return err
	}
	for first := true; ; first = false {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err
		}
		n, kind := int64(binary.BigEndian.Uint32(head[:])), string(head[4:])
		if first != (kind == "IHDR") {
			return errors.New("it does not begin with its one header")
		}
		if kind == "IEND" {
			return nil
		}
		if err := s.pngChunk(r, kind, n); err != nil {
			return err
		}
		if err := discard(r, 4); err != nil { // the checksum
			return err
		}
	}
}

func (s *survey) pngChunk(r *bufio.Reader, kind string, n int64) (err error) {
	var data []byte
	switch kind {
	case "IHDR":
		if data, err = section(r, n, ""); err == nil {
			err = s.pngHeader(data)
		}
	case "acTL": // Animated PNG
		if data, err = section(r, n, ""); len(data) >= 4 {
			s.frames = int(min(binary.BigEndian.Uint32(data), 1<<20))
		}
	case "tRNS": // grey becomes colours with alpha; the decoder takes but one such chunk
		if s.grey {
			s.takes(3, s.memory)
			s.grey = false
		}
		err = discard(r, n)
	case "eXIf":
		s.exif, err = section(r, n, "")
	case "iTXt":
		if data, err = section(r, n, xmpKeyword); data != nil {
			s.xmp = data
		}
	default:
		err = discard(r, n)
	}
	return err
}

// pngHeader reads IHDR. The decoder has a type of picture for each depth and kind of
// colour, and reads each pass of an interlaced one into a picture of its own.
func (s *survey) pngHeader(data []byte) error {
	if len(data) != 13 {
		return errors.New("its header has another length")
	}
	width, height := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	if width > 1<<31-1 || height > 1<<31-1 {
		return errors.New("its size is negative")
	}
	s.width, s.height = int(width), int(height)
	depth, colour, interlaced := data[8], data[9], data[12] != 0
	perPixel := int64(4)
	switch {
	case colour == 3, colour == 0 && depth <= 8:
		perPixel = 1
	case colour == 0:
		perPixel = 2
	case depth == 16:
		perPixel = 8
	}
	if interlaced {
		perPixel *= 2
	}
	s.grey = colour == 0
	s.takes(perPixel, int64(s.width), int64(s.height))
	return nil
}
