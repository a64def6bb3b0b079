package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// webpFrame is a frame of an animated WebP: its location in the file and on the canvas.
type webpFrame struct {
	at, bytes           int64
	x, y, width, height int
}

// webp reads the chunks of a WebP (RFC 9649). It requires that the file contains the declared
// bytes, because the decoder allocates memory before it reads.
func (s *survey) webp(src *source) error {
	r := src.buffered()
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	end := int64(binary.LittleEndian.Uint32(head[4:])) + 8
	if end > src.size {
		return fmt.Errorf("the file has %d bytes of %d: %w", src.size, end, io.ErrUnexpectedEOF)
	}
	s.frames = 0
	seen := map[string]bool{}
	for at := int64(12); at+8 <= end; {
		if _, err := io.ReadFull(r, head[:8]); err != nil {
			return err
		}
		kind, n := string(head[:4]), int64(binary.LittleEndian.Uint32(head[4:]))
		at += 8
		if at+n > end {
			return fmt.Errorf("the chunk %q is longer than the file: %w", kind, io.ErrUnexpectedEOF)
		}
		err := checkChunkOrder(seen, kind)
		if err == nil {
			err = s.webpChunk(r, kind, at, n)
		}
		if err != nil {
			return err
		}
		at += n + n&1
		if n&1 == 1 && at <= end {
			if err := discard(r, 1); err != nil {
				return err
			}
		}
	}
	s.frames = max(s.frames, 1)
	s.addMemory(src.size)
	return nil
}

// checkChunkOrder refuses a second chunk of a kind that may occur once, and a canvas after its
// contents. With these, the decoder could use another size than the checked one.
func checkChunkOrder(seen map[string]bool, kind string) error {
	is := kind
	switch kind {
	case "VP8 ", "VP8L":
		is = "picture"
	case "VP8X", "ALPH":
	default:
		return nil
	}
	if seen[is] {
		return fmt.Errorf("the chunk %q occurs twice", kind)
	}
	if kind == "VP8X" && len(seen) > 0 {
		return errors.New("the canvas is not at the beginning")
	}
	seen[is] = true
	return nil
}

const (
	vp8HeaderBytes  = 10
	vp8lHeaderBytes = 5
	anmfHeaderBytes = 16
	// The memory for decoding a pixel. VP8 needs its samples and its share of a block's state. VP8L
	// needs the picture, a copy with its colours looked up, and the pictures of its transforms.
	vp8PixelBytes  = 2
	vp8lPixelBytes = 10
	// vp8lTreesBytes bounds the Huffman trees of VP8L: 2,600 groups of five.
	vp8lTreesBytes = 12 << 20
)

func (s *survey) webpChunk(r *bufio.Reader, kind string, at, n int64) (err error) {
	var data []byte
	switch kind {
	case "EXIF":
		data, err = section(r, n, "")
		s.exif = bytes.TrimPrefix(data, []byte("Exif\x00\x00")) // a prefix of some writers
		return err
	case "XMP ":
		s.xmp, err = section(r, n, "")
		return err
	}
	head, err := r.Peek(int(min(n, anmfHeaderBytes)))
	if err != nil {
		return err
	}
	switch {
	case kind == "VP8X" && len(head) >= 10:
		s.width, s.height = int(uint24(head[4:]))+1, int(uint24(head[7:]))+1
	case kind == "VP8 " && len(head) >= vp8HeaderBytes:
		s.webpPicture(int(head[6])|int(head[7]&0x3f)<<8, int(head[8])|int(head[9]&0x3f)<<8, vp8PixelBytes)
	case kind == "VP8L" && len(head) >= vp8lHeaderBytes:
		bits := binary.LittleEndian.Uint32(head[1:])
		s.webpPicture(int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1, vp8lPixelBytes)
		s.addMemory(vp8lTreesBytes)
	case kind == "ALPH":
		s.addMemory(vp8lPixelBytes, int64(s.width), int64(s.height))
		s.addMemory(vp8lTreesBytes)
	case kind == "ANMF" && len(head) == anmfHeaderBytes:
		err = s.webpFrame(head, at, n)
	}
	return errors.Join(err, discard(r, n))
}

// webpPicture counts a picture outside an animation.
func (s *survey) webpPicture(width, height int, perPixel int64) {
	if s.width == 0 { // without a canvas
		s.width, s.height = width, height
	}
	s.addMemory(perPixel, int64(width), int64(height))
}

// webpFrame counts a frame, and records the first.
func (s *survey) webpFrame(head []byte, at, n int64) error {
	s.frames++
	if s.frames > 1 {
		return nil
	}
	s.first = webpFrame{
		at: at + anmfHeaderBytes, bytes: n - anmfHeaderBytes,
		x: 2 * int(uint24(head)), y: 2 * int(uint24(head[3:])),
		width: int(uint24(head[6:])) + 1, height: int(uint24(head[9:])) + 1,
	}
	if s.first.x+s.first.width > s.width || s.first.y+s.first.height > s.height {
		return errors.New("the first frame exceeds the canvas")
	}
	// The frame may have both a picture and alpha that is stored as a picture.
	s.memory = (vp8PixelBytes+vp8lPixelBytes)*int64(s.first.width)*int64(s.first.height) + vp8lTreesBytes
	return nil
}

// uint24 reads 24 bits, the least significant first.
func uint24(b []byte) uint32 { return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 }
