package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"image/color"
	"io"

	"github.com/bep/imagemeta"
	"golang.org/x/image/tiff"
)

// The tags of a TIFF that describe its blocks (TIFF 6.0, sections 8 and 15).
const (
	tiffCompression  = 259
	tiffRowsPerStrip = 278
	tiffTileWidth    = 322
	tiffTileLength   = 323
)

// tiff reads the first directory of a TIFF.
func (s *survey) tiff(src *source) error {
	config, err := tiff.DecodeConfig(src.grantPass())
	if unsupported, ok := errors.AsType[tiff.UnsupportedError](err); ok {
		s.undecodable = "no decoder for this kind of tiff: " + string(unsupported)
		return s.sizeOf(src.grantMetadata(), imagemeta.TIFF)
	}
	s.width, s.height = config.Width, config.Height
	if err != nil {
		return err
	}
	s.addMemory(bytesPerPixel(config.ColorModel), int64(s.width), int64(s.height))
	return s.tiffBlocks(src)
}

// The decoder holds one block at a time, of at most eight bytes per pixel unless it is a fax. The
// buffer for unpacking doubles by copying. An uncompressed block is read beside the previous one,
// into a buffer that grows by a quarter. An entry is the offset and the length of a block, plus
// both as stored in the file, of up to eight bytes each in a growing buffer.
const (
	tiffBytesPerPixel = 8
	tiffUnpacking     = 3
	tiffReading       = 5
	tiffEntryBytes    = 2*8 + 4*8
)

// tiffBlocks adds the memory of a block and of the offsets of all blocks.
func (s *survey) tiffBlocks(src *source) error {
	directory, err := readTIFFDirectory(src)
	if err != nil {
		return err
	}
	width, height := int64(s.width), int64(s.height)
	blockWidth, blockHeight := width, height
	if tile := directory[tiffTileWidth]; tile > 0 {
		blockWidth, blockHeight = tile, max(1, directory[tiffTileLength])
	} else if rows := directory[tiffRowsPerStrip]; rows > 0 {
		blockHeight = min(rows, height)
	}
	block := product(tiffBytesPerPixel, blockWidth, blockHeight)
	switch directory[tiffCompression] {
	case 3, 4: // a fax has one bit for each pixel
		block = product((blockWidth+7)/8, blockHeight)
	}
	if directory[tiffCompression] > 1 {
		s.addMemory(tiffUnpacking, block)
	} else {
		s.addMemory(tiffReading, min(block, src.size))
	}
	blocks := ((width + blockWidth - 1) / blockWidth) * ((height + blockHeight - 1) / blockHeight)
	s.addMemory(tiffEntryBytes, min(blocks, src.size)) // each takes at least a byte in the file
	return nil
}

// readTIFFDirectory returns the first number of each tag about the storage of a TIFF. The directory
// is valid, because the decoder has read it before.
func readTIFFDirectory(src *source) (map[uint16]int64, error) {
	file, order := src.grantPass(), binary.ByteOrder(binary.LittleEndian)
	var entry [12]byte
	if _, err := file.ReadAt(entry[:8], 0); err != nil {
		return nil, err
	}
	if entry[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(entry[4:]))
	if _, err := file.ReadAt(entry[:2], at); err != nil {
		return nil, err
	}
	count := int64(order.Uint16(entry[:]))
	entries := bufio.NewReader(io.NewSectionReader(file, at+2, count*int64(len(entry))))
	directory := map[uint16]int64{}
	for range count {
		if _, err := io.ReadFull(entries, entry[:]); err != nil {
			return nil, err
		}
		switch tag := order.Uint16(entry[:]); tag {
		case tiffCompression, tiffRowsPerStrip, tiffTileWidth, tiffTileLength:
			value, err := tiffNumber(file, order, entry)
			if err != nil {
				return nil, err
			}
			directory[tag] = value
		}
	}
	return directory, nil
}

// tiffNumber returns the first number of an entry, or 0. Long lists are at the entry's offset.
func tiffNumber(file io.ReaderAt, order binary.ByteOrder, entry [12]byte) (int64, error) {
	count, first := int64(order.Uint32(entry[4:])), entry[8:]
	bytes := map[uint16]int64{1: 1, 3: 2, 4: 4}[order.Uint16(entry[2:])]
	if count == 0 {
		return 0, nil
	}
	if count*bytes > 4 {
		first = make([]byte, 4)
		if _, err := file.ReadAt(first[:bytes], int64(order.Uint32(entry[8:]))); err != nil {
			return 0, err
		}
	}
	switch bytes {
	case 1:
		return int64(first[0]), nil
	case 2:
		return int64(order.Uint16(first)), nil
	case 4:
		return int64(order.Uint32(first)), nil
	}
	return 0, errors.New("a number in the directory has an unknown type")
}

// bytesPerPixel returns the bytes of a pixel in memory.
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
