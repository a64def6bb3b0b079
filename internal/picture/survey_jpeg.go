package picture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// The markers of a JPEG (ITU-T T.81, table B.1).
const (
	jpegSOF0  = 0xc0
	jpegSOF2  = 0xc2
	jpegDHT   = 0xc4
	jpegJPG   = 0xc8
	jpegDAC   = 0xcc
	jpegSOF15 = 0xcf
	jpegRST0  = 0xd0
	jpegRST7  = 0xd7
	jpegSOI   = 0xd8
	jpegEOI   = 0xd9
	jpegSOS   = 0xda
	jpegAPP14 = 0xee
)

// jpegScansMax caps the scans of a progressive JPEG. Encoders make about ten. Each covers the whole
// picture, and can be a hundred bytes long.
const jpegScansMax = 100

// jpeg reads the segments of a JPEG up to its end, which may be missing after a scan.
func (s *survey) jpeg(r *bufio.Reader) error {
	frame := jpegFrame{}
	for scans := 0; ; {
		marker, err := nextMarker(r)
		if errors.Is(err, io.EOF) && scans > 0 {
			marker, err = jpegEOI, nil
		}
		if err != nil {
			return err
		}
		switch marker {
		case jpegEOI:
			return s.finishJPEG(frame, scans)
		case jpegSOI, 1: // without a length
			continue
		case jpegSOS:
			scans++
		}
		var length [2]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return err
		}
		n := int64(length[0])<<8 + int64(length[1]) - 2
		if n < 0 {
			return errors.New("a segment has no length")
		}
		if err := frame.segment(r, marker, n); err != nil {
			return err
		}
	}
}

// nextMarker skips the data of a scan and returns the next marker. In such data, a zero or a
// restart marker follows each byte of ones.
func nextMarker(r *bufio.Reader) (byte, error) {
	for {
		if _, err := r.ReadSlice(0xff); errors.Is(err, bufio.ErrBufferFull) {
			continue
		} else if err != nil {
			return 0, err
		}
		marker, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if marker == 0xff {
			err = r.UnreadByte() // any number of fill bytes may precede a marker
		} else if marker != 0 && (marker < jpegRST0 || marker > jpegRST7) {
			return marker, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// segment reads a segment of n bytes.
func (f *jpegFrame) segment(r *bufio.Reader, marker byte, n int64) error {
	switch {
	case marker >= jpegSOF0 && marker <= jpegSOF15 && marker != jpegDHT && marker != jpegJPG && marker != jpegDAC:
		header, err := section(r, n, "")
		if err != nil {
			return err
		}
		return f.read(marker, header)
	case marker == jpegAPP14:
		data, err := section(r, n, "Adobe")
		f.rgb = f.rgb || len(data) >= 7 && data[6] == 0
		return err
	}
	return discard(r, n)
}

// jpegFrame is the header of a frame (T.81, B.2.2).
type jpegFrame struct {
	process       byte
	width, height int
	// samples counts the samples of all components, and components the components.
	samples    int64
	components int
	// rgb is set if the decoder may convert the frame to RGB.
	rgb bool
}

func (f *jpegFrame) read(marker byte, header []byte) error {
	if f.process != 0 {
		return errors.New("the file has two frames")
	}
	if len(header) < 6 || len(header) < 6+3*int(header[5]) {
		return errors.New("the frame header is too short")
	}
	f.process, f.components = marker, int(header[5])
	f.height, f.width = int(header[1])<<8|int(header[2]), int(header[3])<<8|int(header[4])
	components := header[6 : 6+3*f.components]
	hMax, vMax := int64(1), int64(1)
	for c := components; len(c) > 0; c = c[3:] {
		hMax, vMax = max(hMax, int64(c[1]>>4)), max(vMax, int64(c[1]&15))
	}
	across, down := (int64(f.width)+8*hMax-1)/(8*hMax), (int64(f.height)+8*vMax-1)/(8*vMax)
	for c := components; len(c) > 0; c = c[3:] {
		f.samples += across * down * 64 * int64(c[1]>>4) * int64(c[1]&15)
	}
	f.rgb = f.rgb || f.components == 3 && components[0] == 'R'
	return nil
}

// finishJPEG computes the totals of a complete JPEG.
func (s *survey) finishJPEG(f jpegFrame, scans int) error {
	if f.process == 0 || scans == 0 {
		return errors.New("the frame or the scan is missing")
	}
	s.width, s.height = f.width, f.height
	s.memory = f.samples
	if f.process == jpegSOF2 {
		s.memory += 4 * f.samples // coefficients stay in memory until the last scan
	}
	if f.rgb || f.components == 4 {
		s.memory += 4 * s.pixels()
	}
	switch {
	case f.process > jpegSOF2:
		s.undecodable = fmt.Sprintf("no decoder for jpeg of process %d", f.process-jpegSOF0)
	case scans > jpegScansMax:
		s.undecodable = fmt.Sprintf("the jpeg has %d scans, more than the limit of %d", scans, jpegScansMax)
	}
	return nil
}
