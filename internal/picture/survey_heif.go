package picture

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
)

// The bounds of the index of an AVIF or HEIC file.
const (
	heifBoxesMax = 100
	heifMetaMax  = 1 << 20
)

// heif reads the boxes of an AVIF or HEIC file (ISO/IEC 23008-12) for the size of its
// picture and where its metadata are. There is no decoder for either.
func (s *survey) heif(src *source) error {
	s.undecodable = "no decoder for " + string(s.format)
	file := src.whole()
	meta, err := s.heifMeta(file)
	if err != nil {
		return err
	}
	index := heifIndex{places: map[uint64]heifPlace{}}
	for kind, content := range boxes(meta[4:]) {
		index.read(kind, &fields{data: content})
	}
	s.width, s.height = index.size()
	for id, to := range map[uint64]*[]byte{index.exif: &s.exif, index.xmp: &s.xmp} {
		place, ok := index.places[id]
		if !ok || id == 0 || place.length > sectionBytesMax || place.offset+place.length > uint64(src.size) { //nolint:gosec // not negative
			continue
		}
		data := make([]byte, place.length)
		if _, err := file.ReadAt(data, int64(place.offset)); err != nil { //nolint:gosec // within the file
			return err
		}
		*to = data
	}
	// Before EXIF is how far from there it begins.
	if len(s.exif) > 4 {
		s.exif = s.exif[min(4+int64(binary.BigEndian.Uint32(s.exif)), int64(len(s.exif))):]
	}
	return nil
}

// heifMeta returns what is in the box that is the index.
func (s *survey) heifMeta(file *io.SectionReader) ([]byte, error) {
	var head [16]byte
	at := int64(0)
	for range heifBoxesMax {
		if _, err := file.ReadAt(head[:], at); err != nil {
			return nil, err
		}
		kind, size, skip := string(head[4:8]), int64(binary.BigEndian.Uint32(head[:])), int64(8)
		switch size {
		case 0: // up to the end of the file
			size = file.Size() - at
		case 1:
			size, skip = int64(binary.BigEndian.Uint64(head[8:])), 16 //nolint:gosec // checked below
		}
		if size < skip || size > file.Size()-at {
			return nil, fmt.Errorf("its box %q is longer than the file: %w", kind, io.ErrUnexpectedEOF)
		}
		switch brand := string(head[8:12]); {
		case kind == "ftyp" && (brand == "avis" || brand == "msf1" || brand == "hevc" || brand == "hevx"):
			s.frames = 0 // a sequence, of a length that only its samples tell
		case kind == "meta" && (size-skip > heifMetaMax || size-skip < 4):
			return nil, fmt.Errorf("its index has %d bytes, at most %d are read", size, heifMetaMax)
		case kind == "meta":
			meta := make([]byte, size-skip)
			_, err := file.ReadAt(meta, at+skip)
			return meta, err
		}
		at += size
	}
	return nil, fmt.Errorf("it has no index in its first %d boxes", heifBoxesMax)
}

// boxes are those in a box, up to the first that does not fit into it.
func boxes(data []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for len(data) >= 8 {
			size := int64(binary.BigEndian.Uint32(data))
			if size < 8 || size > int64(len(data)) || !yield(string(data[4:8]), data[8:size]) {
				return
			}
			data = data[size:]
		}
	}
}

// fields are the numbers in a box. Past its end, they are 0.
type fields struct{ data []byte }

// next is the next number, of up to 8 bytes.
func (f *fields) next(bytes uint64) (n uint64) {
	if bytes > uint64(len(f.data)) {
		f.data = nil
		return 0
	}
	for _, b := range f.data[:bytes] {
		n = n<<8 | uint64(b)
	}
	f.data = f.data[bytes:]
	return n
}

// version is that of a box, after which there are flags.
func (f *fields) version() (version, flags uint64) {
	both := f.next(4)
	return both >> 24, both & 0xffffff
}

// either is a number of four bytes if four is set, else of two.
func (f *fields) either(four bool) uint64 {
	if four {
		return f.next(4)
	}
	return f.next(2)
}

// heifIndex is what an index says of the items of a file.
type heifIndex struct {
	primary, exif, xmp uint64
	places             map[uint64]heifPlace
	properties         []heifProperty
	// ofPrimary are the numbers of the properties of the picture, from 1.
	ofPrimary []uint64
}

type heifPlace struct{ offset, length uint64 }

type heifProperty struct {
	width, height uint64
	// onItsSide is set if the picture is turned by one or three quarters.
	onItsSide bool
}

func (x *heifIndex) read(kind string, f *fields) {
	switch kind {
	case "pitm":
		version, _ := f.version()
		x.primary = f.either(version > 0)
	case "iinf":
		version, _ := f.version()
		f.either(version > 0) // how many there are
		for _, content := range boxes(f.data) {
			x.item(&fields{data: content})
		}
	case "iloc":
		x.locations(f)
	case "iprp":
		for kind, content := range boxes(f.data) {
			switch kind {
			case "ipco":
				for kind, content := range boxes(content) {
					x.properties = append(x.properties, property(kind, &fields{data: content}))
				}
			case "ipma":
				x.associations(&fields{data: content})
			}
		}
	}
}

// item reads what kind of item one is.
func (x *heifIndex) item(f *fields) {
	version, _ := f.version()
	id := f.either(version > 2)
	f.next(2)
	switch kind := f.next(4); {
	case version < 2:
	case kind == uint64(binary.BigEndian.Uint32([]byte("Exif"))):
		x.exif = id
	case kind == uint64(binary.BigEndian.Uint32([]byte("mime"))):
		_, contentType, _ := bytes.Cut(f.data, []byte{0}) // after its name
		if bytes.HasPrefix(contentType, []byte("application/rdf+xml\x00")) {
			x.xmp = id
		}
	}
}

// locations reads where items are. Those that are in pieces, or not in the file at a
// place of their own, are left out.
func (x *heifIndex) locations(f *fields) {
	version, _ := f.version()
	sizes := f.next(2)
	offsetBytes, lengthBytes, baseBytes, indexBytes := sizes>>12, sizes>>8&15, sizes>>4&15, sizes&15
	if version == 0 {
		indexBytes = 0
	}
	for range f.either(version > 1) {
		if len(f.data) == 0 {
			return
		}
		id, method := f.either(version > 1), uint64(0)
		if version > 0 {
			method = f.next(2)
		}
		f.next(2) // of which file: this
		base := f.next(baseBytes)
		extents := f.next(2)
		if extents != 1 {
			f.data = f.data[min(extents*(indexBytes+offsetBytes+lengthBytes), uint64(len(f.data))):]
			continue
		}
		f.next(indexBytes)
		place := heifPlace{offset: base + f.next(offsetBytes), length: f.next(lengthBytes)}
		if method == 0 && place.offset < 1<<40 {
			x.places[id] = place
		}
	}
}

// property reads a size or a turn.
func property(kind string, f *fields) (p heifProperty) {
	switch kind {
	case "ispe":
		f.version()
		p.width, p.height = f.next(4), f.next(4)
	case "irot":
		p.onItsSide = f.next(1)&1 == 1
	}
	return p
}

// associations reads which properties the picture has.
func (x *heifIndex) associations(f *fields) {
	version, flags := f.version()
	for range f.next(4) {
		if len(f.data) == 0 {
			return
		}
		id, bytes := f.either(version > 0), 1+flags&1
		for range f.next(1) {
			if number := f.next(bytes) & (1<<(8*bytes-1) - 1); id == x.primary {
				x.ofPrimary = append(x.ofPrimary, number)
			}
		}
	}
}

// size is that of the picture as it is shown.
func (x *heifIndex) size() (width, height int) {
	onItsSide := false
	for _, number := range x.ofPrimary {
		if number == 0 || number > uint64(len(x.properties)) {
			continue
		}
		p := x.properties[number-1]
		if p.width > 0 && p.height > 0 {
			width, height = int(p.width), int(p.height) //nolint:gosec // of 4 bytes
		}
		onItsSide = onItsSide || p.onItsSide
	}
	if onItsSide {
		return height, width
	}
	return width, height
}
