package picture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
)

// The blocks of a GIF (GIF89a, section 20 and following).
const (
	gifExtension = 0x21
	gifImage     = 0x2c
	gifTrailer   = 0x3b
)

// gif reads the blocks of a GIF up to its end. Many a file lacks its trailer; one that
// ends within a block is cut off.
func (s *survey) gif(r *bufio.Reader) error {
	head := make([]byte, 13)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	s.width, s.height = int(binary.LittleEndian.Uint16(head[6:])), int(binary.LittleEndian.Uint16(head[8:]))
	s.memory = 2 * s.pixels() // an interlaced frame is put in order in a second one
	if err := discard(r, gifPalette(head[10])); err != nil {
		return err
	}
	for s.frames = 0; ; {
		kind, err := r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && s.frames > 0, kind == gifTrailer && s.frames > 0:
			return nil
		case err != nil:
			return err
		case kind == gifExtension:
			err = discard(r, 1) // its label
		case kind == gifImage:
			s.frames++
			err = gifFrame(r)
		default:
			return errors.New("it has a block of no kind, or no frame")
		}
		if err == nil {
			err = gifSubBlocks(r)
		}
		if err != nil {
			return err
		}
	}
}

// gifFrame reads what is before the data of a frame.
func gifFrame(r *bufio.Reader) error {
	head := make([]byte, 9)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	return discard(r, gifPalette(head[8])+1) // and the length of its codes
}

// gifPalette is how many bytes a palette takes that the flags announce.
func gifPalette(flags byte) int64 {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

// gifSubBlocks passes over data in pieces of up to 255 bytes, of which the last is empty.
func gifSubBlocks(r *bufio.Reader) error {
	for {
		n, err := r.ReadByte()
		if err != nil {
			return noEOF(err)
		}
		if n == 0 {
			return nil
		}
		if err := discard(r, int64(n)); err != nil {
			return noEOF(err)
		}
	}
}

// noEOF makes the end of a file one that is not expected.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
