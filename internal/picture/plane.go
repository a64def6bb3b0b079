package picture

import (
	"math"
	"slices"
)

// orientation is the EXIF orientation (EXIF 2.32, tag 0x0112), from 1, as stored, to 8.
type orientation int

// apply returns the displayed size of a picture.
func (o orientation) apply(width, height int) (shownWidth, shownHeight int) {
	if o >= 5 {
		return height, width
	}
	return width, height
}

// plane is a picture whose cells are means of rectangles of pixels.
type plane struct {
	// channels is the number of bytes of a cell: 1 for grey, 3 for colours.
	channels      int
	width, height int
	// exactWidth and exactHeight count the cells to the picture's exact edge. The last cell can be
	// narrower.
	exactWidth, exactHeight float64
	cells                   []uint8
}

// reduce returns the picture turned the right way up. Each direction has at least cells cells, if
// it has as many pixels, and less than twice as many.
func reduce(p pixels, turned orientation, channels, cells int) plane {
	// left to right, top to bottom, and diagonally, in this order
	mirrored := slices.Contains([]orientation{2, 3, 7, 8}, turned)
	flipped := slices.Contains([]orientation{3, 4, 6, 7}, turned)
	transposed := turned >= 5
	stepX, stepY := max(1, p.width/cells), max(1, p.height/cells)
	out := plane{
		channels: channels,
		width:    (p.width + stepX - 1) / stepX, height: (p.height + stepY - 1) / stepY,
		exactWidth: float64(p.width) / float64(stepX), exactHeight: float64(p.height) / float64(stepY),
	}
	out.cells = make([]uint8, 0, out.width*out.height*channels)
	read := p.luma
	if channels == 3 {
		read = p.rgb
	}
	row, sums := make([]uint8, p.width*channels), make([]uint32, out.width*channels)
	for top := 0; top < p.height; top += stepY {
		bottom := min(top+stepY, p.height)
		for y := top; y < bottom; y++ {
			if flipped {
				read(p.height-1-y, row)
			} else {
				read(y, row)
			}
			if mirrored {
				mirror(row, channels)
			}
			addUp(row, channels, stepX, sums)
		}
		for i, sum := range sums {
			left := i / channels * stepX
			n := uint32((min(left+stepX, p.width) - left) * (bottom - top)) //nolint:gosec // at most 40,000,000
			out.cells = append(out.cells, uint8((sum+n/2)/n))               //nolint:gosec // a mean of bytes
		}
		clear(sums)
	}
	if transposed {
		return out.transposed()
	}
	return out
}

func mirror(row []uint8, channels int) {
	slices.Reverse(row)
	if channels == 3 {
		for i := 0; i < len(row); i += 3 {
			row[i], row[i+2] = row[i+2], row[i]
		}
	}
}

// addUp adds the pixels of a row to their cells.
func addUp(row []uint8, channels, step int, sums []uint32) {
	if channels == 1 {
		for i := range sums {
			sum := uint32(0)
			for _, v := range row[i*step : min((i+1)*step, len(row))] {
				sum += uint32(v)
			}
			sums[i] += sum
		}
		return
	}
	for i := 0; i < len(sums); i += 3 {
		for c := row[i*step : min((i+3)*step, len(row))]; len(c) >= 3; c = c[3:] {
			sums[i] += uint32(c[0])
			sums[i+1] += uint32(c[1])
			sums[i+2] += uint32(c[2])
		}
	}
}

func (p plane) transposed() plane {
	out := plane{
		channels: p.channels, width: p.height, height: p.width, exactWidth: p.exactHeight, exactHeight: p.exactWidth,
		cells: make([]uint8, 0, len(p.cells)),
	}
	for x := range p.width {
		for y := range p.height {
			at := (y*p.width + x) * p.channels
			out.cells = append(out.cells, p.cells[at:at+p.channels]...)
		}
	}
	return out
}

// resize returns a grey plane of another size by a Lanczos filter with three lobes. The result
// equals Pillow's Image.resize with LANCZOS to the bit: rows first, rounded to bytes, then columns.
func (p plane) resize(width, height int) plane {
	rows := plane{channels: 1, width: width, height: p.height, cells: make([]uint8, width*p.height)}
	for x, tap := range lanczos(p.exactWidth, p.width, width) {
		for y := range p.height {
			rows.cells[y*width+x] = tap.weigh(p.cells[y*p.width:], 1)
		}
	}
	out := plane{channels: 1, width: width, height: height, cells: make([]uint8, width*height)}
	for y, tap := range lanczos(p.exactHeight, p.height, height) {
		for x := range width {
			out.cells[y*width+x] = tap.weigh(rows.cells[x:], width)
		}
	}
	out.exactWidth, out.exactHeight = float64(width), float64(height)
	return out
}

// taps are the source cells of one cell of a smaller plane, and their weights in 1<<-weightBits.
type taps struct {
	first   int
	weights []int32
}

const weightBits = 22

// weigh returns the weighted sum of cells at a distance of stride.
func (t taps) weigh(cells []uint8, stride int) uint8 {
	sum := int64(1) << (weightBits - 1)
	at := t.first * stride
	for _, weight := range t.weights {
		sum += int64(weight) * int64(cells[at])
		at += stride
	}
	return uint8(min(max(sum>>weightBits, 0), 255))
}

// lanczos returns the taps for each of out cells of a line of n cells with this length.
func lanczos(length float64, n, out int) []taps {
	scale := length / float64(out)
	stretch := max(scale, 1)
	support := 3 * stretch
	lines := make([]taps, out)
	for i := range lines {
		center := (float64(i) + 0.5) * scale
		first, end := max(int(center-support+0.5), 0), min(int(center+support+0.5), n)
		weights, sum := make([]float64, end-first), 0.0
		for j := range weights {
			weights[j] = lanczos3((float64(j+first) - center + 0.5) / stretch)
			sum += weights[j]
		}
		lines[i] = taps{first: first, weights: make([]int32, len(weights))}
		for j, weight := range weights {
			lines[i].weights[j] = int32(math.Round(weight / sum * (1 << weightBits)))
		}
	}
	return lines
}

func lanczos3(x float64) float64 {
	if x < -3 || x >= 3 {
		return 0
	}
	return sinc(x) * sinc(x/3)
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}
