package index

import (
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

// maxPreceding caps the buckets of a posting. A word with more of them may follow any word.
const maxPreceding = 30

// preceding holds the buckets of the words before a word on a page. The zero value has no bucket.
type preceding struct {
	// width is the number of known bits of each bucket; 0 means no bucket.
	width int
	any   bool
	set   crawl.Buckets
}

// add adds the buckets of a word in one of the page's texts, as in a crawl.Index.
func (p *preceding) add(coded string) {
	if len(coded) == 0 {
		return
	}
	width := int(coded[0]-'a') + 1
	if p.width == 0 {
		p.width = width
	}
	if width < p.width { // use the smaller width for all texts
		p.width, p.set = width, p.set.Narrow(width)
	}
	for i := 1; i+1 < len(coded); i += 2 {
		p.set.Add(digit(coded[i])<<4|digit(coded[i+1]), p.width)
	}
}

func digit(c byte) uint8 {
	if c >= 'a' {
		return (c - 'a' + 10) & 15
	}
	return (c - '0') & 15
}

// In a posting, a byte with the number of buckets and, in its last bits, their width - 1 comes
// first.
const (
	widthBits = 3
	// anyCoded is the number that stands for any word.
	anyCoded = maxPreceding + 1
)

// code appends the encoded buckets.
func (p *preceding) code(dst []byte) []byte {
	begin := len(dst)
	dst = append(dst, anyCoded<<widthBits)
	if p.any {
		return dst
	}
	for b := range p.set.All {
		dst = append(dst, b)
	}
	n := len(dst) - begin - 1
	if n > maxPreceding {
		return dst[:begin+1]
	}
	dst[begin] = byte(n<<widthBits | (max(p.width, 1) - 1)) //nolint:gosec // a byte, as n is at most maxPreceding
	return dst
}

// precedingSize returns the size of encoded buckets, or -1 if they are damaged.
func precedingSize(data []byte) int {
	if len(data) == 0 {
		return -1
	}
	n := int(data[0] >> widthBits)
	switch {
	case n == anyCoded:
		return 1
	case 1+n > len(data):
		return -1
	}
	return 1 + n
}

// follows reports whether encoded buckets include a bucket.
func follows(coded []byte, bucket uint8) bool {
	if coded[0]>>widthBits == anyCoded {
		return true
	}
	width := coded[0]&(1<<widthBits-1) + 1
	bucket &= 1<<width - 1
	return slices.Contains(coded[1:], bucket)
}
