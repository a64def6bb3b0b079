package picture

import (
	"math"
	"slices"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// reducedCells is the least number of cells of a large picture before it is resized.
	reducedCells = 512
	// pHashSide is the side of the transformed plane, and hashSide of the used part of the result.
	pHashSide = 32
	hashSide  = 8
)

// fingerprints holds the hashes of a picture, and its thumbnail if requested.
type fingerprints struct {
	pHash, dHash crawl.ImageHash
	flat         bool
	thumbnail    []byte
}

// fingerprint computes the hashes of a picture the right way up.
func fingerprint(p pixels, turned orientation) fingerprints {
	reduced := reduce(p, turned, 1, reducedCells)
	small := reduced.resize(pHashSide, pHashSide)
	frequencies := transform(small)
	return fingerprints{
		pHash: medianHash(frequencies),
		dHash: differenceHash(reduced.resize(hashSide+1, hashSide)),
		flat:  isFlat(small, frequencies),
	}
}

// cosines are 2cos(πk(2n+1)/64) in units of 1<<cosineBits. Integers are the same on every machine.
var cosines = func() (table [hashSide][pHashSide]int64) {
	for k := range table {
		for n := range table[k] {
			table[k][n] = int64(math.Round(2 * math.Cos(math.Pi*float64(k*(2*n+1))/(2*pHashSide)) * (1 << cosineBits)))
		}
	}
	return table
}()

const cosineBits = 20

// transform returns the 8×8 lowest frequencies of a two-dimensional DCT-II, unscaled, row by row.
func transform(p plane) (out [hashSide * hashSide]int64) {
	var columns [hashSide][pHashSide]int64
	for k := range hashSide {
		for x := range pHashSide {
			for y := range pHashSide {
				columns[k][x] += cosines[k][y] * int64(p.cells[y*pHashSide+x])
			}
		}
	}
	for k := range hashSide {
		for l := range hashSide {
			for x := range pHashSide {
				out[k*hashSide+l] += cosines[l][x] * columns[k][x]
			}
		}
	}
	return out
}

// medianHash sets a bit for each value that is greater than the median.
func medianHash(values [hashSide * hashSide]int64) (hash crawl.ImageHash) {
	middle := twiceMedian(values)
	for _, v := range values {
		hash <<= 1
		if 2*v > middle {
			hash |= 1
		}
	}
	return hash
}

// differenceHash sets a bit for each cell that is brighter than its left neighbour.
func differenceHash(p plane) (hash crawl.ImageHash) {
	for y := range p.height {
		row := p.cells[y*p.width : (y+1)*p.width]
		for x := 1; x < p.width; x++ {
			hash <<= 1
			if row[x] > row[x-1] {
				hash |= 1
			}
		}
	}
	return hash
}

// A picture is flat with less entropy in bits, or with fewer of its 63 frequencies standing out.
const (
	minEntropy   = 2.0
	minProminent = 32
)

// isFlat reports whether a picture is flat by the measures of the package comment.
func isFlat(p plane, frequencies [hashSide * hashSide]int64) bool {
	return entropy(p) < minEntropy || prominentFrequencies(frequencies) < minProminent
}

// entropy returns the entropy of the shades of a plane, in bits.
func entropy(p plane) float64 {
	var shades [256]int
	for _, v := range p.cells {
		shades[v]++
	}
	sum := 0.0
	for _, n := range shades {
		if n > 0 {
			share := float64(n) / float64(len(p.cells))
			sum -= share * math.Log2(share)
		}
	}
	return sum
}

// prominentFrequencies counts the frequencies, without the mean, whose distance from the median
// exceeds the amplitude of a wave of half a shade. Noise decides the bits of the others.
func prominentFrequencies(frequencies [hashSide * hashSide]int64) int {
	const wave = pHashSide * pHashSide / 2 << (2 * cosineBits)
	middle, count := twiceMedian(frequencies), 0
	for _, v := range frequencies[1:] {
		if far := 2*v - middle; far > 2*wave || far < -2*wave {
			count++
		}
	}
	return count
}

// twiceMedian returns the sum of the two middle values.
func twiceMedian(values [hashSide * hashSide]int64) int64 {
	slices.Sort(values[:])
	return values[len(values)/2-1] + values[len(values)/2]
}
