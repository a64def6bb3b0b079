package index

import (
	"math/bits"
	"slices"
)

// precedingMost caps the buckets of a posting. A word with more of them may follow any word.
const precedingMost = 30

// preceding holds the buckets of the words before a word on a page. The zero value has no bucket.
type preceding struct {
	// width is the number of known bits of each bucket; 0 means no bucket.
	width uint8
	any   bool
	set   [4]uint64
}

// add adds the buckets of a word in one of the page's texts, as in a crawl.Index.
func (p *preceding) add(coded string) {
	if len(coded) == 0 {
		return
	}
	width := coded[0] - 'a' + 1
	if p.width == 0 {
		p.width = width
	}
	if width < p.width { // use the smaller width for all texts
		p.width = width
		before := p.set
		p.set = [4]uint64{}
		for i, word := range before {
			for ; word != 0; word &= word - 1 {
				p.put(i*64 + bits.TrailingZeros64(word))
			}
		}
	}
	for i := 1; i+1 < len(coded); i += 2 {
		p.put(digit(coded[i])<<4 | digit(coded[i+1]))
	}
}

func (p *preceding) put(bucket int) {
	bucket &= 1<<p.width - 1
	p.set[bucket/64] |= 1 << (bucket % 64)
}

func digit(c byte) int {
	if c >= 'a' {
		return int(c-'a'+10) & 15
	}
	return int(c-'0') & 15
}

// In a posting, a byte with the number of buckets and, in its last bits, their width - 1 comes
// first.
const (
	widthBits = 3
	// anyCoded is the number that stands for any word.
	anyCoded = precedingMost + 1
)

func (p *preceding) code(dst []byte) []byte {
	n := 0
	for _, word := range p.set {
		n += bits.OnesCount64(word)
	}
	if p.any || n > precedingMost {
		return append(dst, anyCoded<<widthBits)
	}
	dst = append(dst, byte(n)<<widthBits|(max(p.width, 1)-1))
	for i, word := range p.set {
		for ; word != 0; word &= word - 1 {
			dst = append(dst, byte(i*64+bits.TrailingZeros64(word))) //nolint:gosec // a byte
		}
	}
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
