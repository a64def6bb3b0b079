package picture

import (
	"bytes"
	"context"
	"image"
	"io"
	"runtime"

	"github.com/mosey-web/mosey/crawl"
)

// WithDecoder returns a Reader that decodes a format otherwise.
func WithDecoder(limits Limits, format crawl.ImageFormat, decode func(io.Reader) (image.Image, error)) *Reader {
	r := New(limits)
	r.decoders = map[crawl.ImageFormat]decoder{format: decode}
	return r
}

// Measures are the entropy of a picture and how many of its frequencies stand out, and
// whether it is flat by them.
func Measures(img image.Image) (bits float64, frequencies int, flat bool) {
	p, err := pixelsOf(img)
	if err != nil {
		panic(err)
	}
	small := reduce(p, 1, 1, reducedCells).resize(pHashSide, pHashSide)
	transformed := transform(small)
	return entropy(small), prominentFrequencies(transformed), isFlat(small, transformed)
}

// Hashes returns the hashes of a picture, without the need for a file.
func Hashes(img image.Image) (pHash, dHash crawl.ImageHash, flat bool) {
	p, err := pixelsOf(img)
	if err != nil {
		panic(err)
	}
	found := fingerprint(p, 1)
	return found.pHash, found.dHash, found.flat
}

// Memory returns the estimated memory for decoding a file, and all memory that the process
// allocated during the decoding.
func Memory(file []byte) (estimated, taken int64, err error) {
	src := newSource(context.Background(), bytes.NewReader(file), int64(len(file)))
	format, _ := Format(file[:min(len(file), headBytes)])
	found, err := readSurvey(format, src)
	if err != nil {
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = New(Limits{}).decode(found, src)
	runtime.ReadMemStats(&after)
	return found.memory, int64(after.TotalAlloc - before.TotalAlloc), err
}

// Overhead is the memory that is added to each picture's estimate.
const Overhead = overheadBytes
