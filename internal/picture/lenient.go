package picture

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
)

// Browsers show files that the decoders of the standard library refuse. These readers leave out, or
// add, the bytes that they refuse.

// partsReader reads the parts of a file one after the other. next returns io.EOF after the last.
type partsReader struct {
	part io.Reader
	next func() (io.Reader, error)
}

func (r *partsReader) Read(p []byte) (int, error) {
	for {
		n, err := r.part.Read(p)
		if n > 0 || !errors.Is(err, io.EOF) {
			return n, err
		}
		if r.part, err = r.next(); err != nil {
			r.part = strings.NewReader("")
			return 0, err
		}
	}
}

// lenientPNG leaves out ancillary chunks that change no pixel: their checksums do not matter (PNG
// specification, section 13.3). The chunk that changes pixels, tRNS, gets a new checksum.
func lenientPNG(file *bufio.Reader) io.Reader {
	const transparencyMax = 256 // entries of a palette
	return &partsReader{part: io.LimitReader(file, 8), next: func() (io.Reader, error) {
		for {
			head := make([]byte, 8)
			if _, err := io.ReadFull(file, head); err != nil {
				return nil, err
			}
			n, kind := int64(binary.BigEndian.Uint32(head)), string(head[4:])
			switch {
			case kind == "tRNS" && n <= transparencyMax:
				chunk := make([]byte, len(head)+int(n), len(head)+int(n)+crc32.Size)
				copy(chunk, head)
				if _, err := io.ReadFull(file, chunk[len(head):]); err != nil {
					return nil, err
				}
				chunk = binary.BigEndian.AppendUint32(chunk, crc32.ChecksumIEEE(chunk[4:]))
				_, err := file.Discard(4)
				return bytes.NewReader(chunk), err
			case kind == "tRNS" || kind[0]&0x20 == 0: // a critical chunk
				return io.MultiReader(bytes.NewReader(head), io.LimitReader(file, n+4)), nil
			}
			if err := discard(file, n+4); err != nil {
				return nil, err
			}
		}
	}}
}

// lenientGIF leaves out zeros between the blocks before the first frame, and the extensions that
// change no pixel.
func lenientGIF(file *bufio.Reader) io.Reader {
	const headBytes, graphicControl, graphicControlBytes = 13, 0xf9, 8
	began := false
	return &partsReader{part: strings.NewReader(""), next: func() (io.Reader, error) {
		if !began {
			began = true
			head, err := file.Peek(headBytes)
			if err != nil {
				return nil, err
			}
			return io.LimitReader(file, headBytes+gifPalette(head[headBytes-3])), nil
		}
		for {
			block, err := file.Peek(2)
			switch {
			case len(block) == 0:
				return nil, err
			case block[0] == 0:
				_, err = file.Discard(1)
			case block[0] != gifExtension || len(block) < 2:
				return file, nil
			case block[1] == graphicControl:
				return io.LimitReader(file, graphicControlBytes), nil
			default:
				if _, err = file.Discard(2); err == nil {
					err = gifSubBlocks(file)
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}}
}
