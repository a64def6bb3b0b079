package picture_test

import (
	"image"
	"math/rand/v2"
	"slices"
)

// The pictures of the tests are made of integers alone, so that they are the same to the
// byte on every machine and with every version of Go.

// kinds are the kinds of pictures that drawKind makes.
var kinds = []struct {
	name string
	draw func(*canvas)
}{
	{"plasma", (*canvas).plasma},
	{"landscape", (*canvas).landscape},
	{"shapes", (*canvas).shapes},
	{"text", (*canvas).text},
	{"blobs", (*canvas).blobs},
	{"portrait", (*canvas).portrait},
	{"stripes", (*canvas).stripes},
	{"grain", (*canvas).grain},
	{"grey", (*canvas).plasma},
	{"opaque", (*canvas).landscape},
}

// drawKind makes a picture of a kind, another one for each seed.
func drawKind(kind int, seed uint64, width, height int) image.Image {
	c := &canvas{
		NRGBA: image.NewNRGBA(image.Rect(0, 0, width, height)), width: width, height: height,
		rand: rand.New(rand.NewPCG(seed, uint64(kind))),
	}
	kinds[kind].draw(c)
	switch kinds[kind].name {
	case "grey":
		grey := image.NewGray(c.Rect)
		for i := range grey.Pix {
			grey.Pix[i] = c.Pix[4*i+1]
		}
		return grey
	case "opaque":
		return c.NRGBA
	}
	return opaque(c.NRGBA)
}

// opaque has a picture written without alpha.
func opaque(from *image.NRGBA) *image.RGBA {
	return &image.RGBA{Pix: from.Pix, Stride: from.Stride, Rect: from.Rect}
}

type canvas struct {
	*image.NRGBA
	width, height int
	rand          *rand.Rand
}

func (c *canvas) set(x, y int, r, g, b int) {
	i := c.PixOffset(x, y)
	c.Pix[i], c.Pix[i+1], c.Pix[i+2], c.Pix[i+3] = clip(r), clip(g), clip(b), 255
}

func clip(v int) uint8 { return uint8(min(max(v, 0), 255)) }

// each sets every pixel.
func (c *canvas) each(at func(x, y int) (r, g, b int)) {
	for y := range c.height {
		for x := range c.width {
			r, g, b := at(x, y)
			c.set(x, y, r, g, b)
		}
	}
}

func (c *canvas) colour() [3]int {
	return [3]int{c.rand.IntN(256), c.rand.IntN(256), c.rand.IntN(256)}
}

// mix is scattered evenly over all numbers (SplitMix64).
func mix(v uint64) uint64 {
	v += 0x9e3779b97f4a7c15
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// noise is smooth: values from 0 to 255 at points that are cell apart.
func noise(seed uint64, x, y, cell int) int {
	corner := func(i, j int) int { return int(mix(seed^uint64(i)<<32^uint64(j)) & 255) }
	i, j := x/cell, y/cell
	u, v := smooth(x%cell, cell), smooth(y%cell, cell)
	top := corner(i, j)*(1024-u) + corner(i+1, j)*u
	bottom := corner(i, j+1)*(1024-u) + corner(i+1, j+1)*u
	return (top*(1024-v) + bottom*v) >> 20
}

// smooth is 3t²-2t³ of t = n/of, in units of 1/1024.
func smooth(n, of int) int {
	t := n * 1024 / of
	return t * t * (3*1024 - 2*t) >> 20
}

// octaves adds up noise of several sizes, from -128 to 127.
func octaves(seed uint64, x, y, cell, levels int) int {
	sum := 0
	for level := range levels {
		sum += (noise(seed+uint64(level), x, y, max(cell>>level, 1)) - 128) >> level
	}
	return sum / 2
}

func (c *canvas) plasma() {
	seed, cell := c.rand.Uint64(), max(8, min(c.width, c.height)/(2+c.rand.IntN(4)))
	tint := c.colour()
	c.each(func(x, y int) (int, int, int) {
		v := 2 * octaves(seed, x, y, cell, 4)
		w := noise(seed+9, x, y, cell) - 128
		return tint[0]/2 + 64 + v + w/4, tint[1]/2 + 64 + v, tint[2]/2 + 64 + v - w/4
	})
}

// landscape has a sky, and hills before hills.
func (c *canvas) landscape() {
	sky, seed := c.colour(), c.rand.Uint64()
	type hill struct {
		line   []int
		colour [3]int
	}
	hills := make([]hill, 3+c.rand.IntN(3))
	for i := range hills {
		base := c.height * (25 + 60*i/len(hills) + c.rand.IntN(15)) / 100
		h := hill{line: make([]int, c.width), colour: c.colour()}
		for x := range h.line {
			h.line[x] = base + octaves(seed+uint64(100*i), x, 0, max(c.width/(2+i), 4), 5)*c.height/300
		}
		hills[i] = h
	}
	sunX, sunY, sun := c.rand.IntN(c.width), c.rand.IntN(c.height/3+1), c.height/(8+c.rand.IntN(12))
	cloud := max(c.width/4, 4)
	c.each(func(x, y int) (int, int, int) {
		for i, h := range slices.Backward(hills) {
			if y >= h.line[x] {
				v := octaves(seed+uint64(i)+50, x, y, max(c.width/(12+4*i), 2), 3)/2 - (y-h.line[x])*60/c.height
				return h.colour[0] + v, h.colour[1] + v, h.colour[2] + v
			}
		}
		if (x-sunX)*(x-sunX)+(y-sunY)*(y-sunY) < sun*sun {
			return 255, 250, 220
		}
		v := y*80/c.height + octaves(seed+70, x, y*2, cloud, 3)/2
		return sky[0]/2 + 90 + v, sky[1]/2 + 90 + v, sky[2]/2 + 110 + v
	})
}

// shapes are rectangles and discs of one colour each.
func (c *canvas) shapes() {
	back := c.colour()
	c.each(func(int, int) (int, int, int) { return back[0], back[1], back[2] })
	for range 4 + c.rand.IntN(10) {
		paint, round := c.colour(), c.rand.IntN(2) == 0
		w, h := c.width/10+c.rand.IntN(c.width/3+1), c.height/10+c.rand.IntN(c.height/3+1)
		left, top := c.rand.IntN(c.width)-w/2, c.rand.IntN(c.height)-h/2
		c.fill(left, top, w, h, round, paint)
	}
}

// fill paints a rectangle, or the ellipse in it.
func (c *canvas) fill(left, top, w, h int, round bool, paint [3]int) {
	for y := max(top, 0); y < min(top+h, c.height); y++ {
		for x := max(left, 0); x < min(left+w, c.width); x++ {
			dx, dy := 2*(x-left)-w, 2*(y-top)-h
			if !round || dx*dx*h*h+dy*dy*w*w <= w*w*h*h {
				c.set(x, y, paint[0], paint[1], paint[2])
			}
		}
	}
}

// text is a page of lines of strokes.
func (c *canvas) text() {
	paper, ink := 225+c.rand.IntN(31), c.rand.IntN(60)
	c.each(func(int, int) (int, int, int) { return paper, paper, paper })
	size := max(4, c.height/(12+c.rand.IntN(30)))
	margin := c.width / (8 + c.rand.IntN(10))
	for y := margin; y+size < c.height-margin; y += size * 2 {
		if c.rand.IntN(6) == 0 { // between paragraphs
			continue
		}
		end := c.width - margin
		if c.rand.IntN(4) == 0 { // the last line of one
			end = margin + c.rand.IntN(c.width/2+1)
		}
		for x := margin; x < end; x += size / 2 {
			if c.rand.IntN(6) == 0 {
				continue
			}
			stroke := max(1, size/6)
			c.fill(x, y+c.rand.IntN(size/3+1), stroke, size-size/4, false, [3]int{ink, ink, ink})
			c.fill(x, y+c.rand.IntN(size), size/3, stroke, false, [3]int{ink, ink, ink})
		}
	}
	if c.rand.IntN(2) == 0 {
		paint := c.colour()
		c.fill(c.rand.IntN(c.width/2+1), c.rand.IntN(c.height/2+1), c.width/3, c.height/4, false, paint)
	}
}

// blobs are spots of light on a gradient.
func (c *canvas) blobs() {
	from, to := c.colour(), c.colour()
	type blob struct{ x, y, r, v int }
	blobs := make([]blob, 4+c.rand.IntN(8))
	for i := range blobs {
		blobs[i] = blob{
			c.rand.IntN(c.width), c.rand.IntN(c.height),
			min(c.width, c.height)/10 + c.rand.IntN(min(c.width, c.height)/3+1), c.rand.IntN(300) - 150,
		}
	}
	c.each(func(x, y int) (int, int, int) {
		v := 0
		for _, b := range blobs {
			if d := (x-b.x)*(x-b.x) + (y-b.y)*(y-b.y); d < b.r*b.r {
				v += b.v * smooth(b.r*b.r-d, b.r*b.r) / 1024
			}
		}
		t := x * 1024 / c.width
		at := func(i int) int { return (from[i]*(1024-t)+to[i]*t)>>10 + v }
		return at(0), at(1), at(2)
	})
}

// portrait is a head and shoulders before a wall.
func (c *canvas) portrait() {
	c.plasma()
	skin, coat := c.colour(), c.colour()
	w, h := c.width/4+c.rand.IntN(c.width/5+1), c.height/3+c.rand.IntN(c.height/6+1)
	left, top := c.width/4+c.rand.IntN(c.width/4+1), c.height/10+c.rand.IntN(c.height/6+1)
	c.fill(left-w/2, top+h*4/5, 2*w, c.height, true, coat)
	c.fill(left, top, w, h, true, skin)
	c.fill(left-w/20, top-h/20, w*11/10, h/3, true, c.colour())
	for _, eye := range []int{3, 6} {
		c.fill(left+w*eye/10, top+h*4/10, w/10, h/14, true, [3]int{20, 20, 30})
	}
	c.fill(left+w*35/100, top+h*7/10, w*3/10, h/16, true, [3]int{150, 30, 40})
}

// stripes are bars of many widths over a slow change.
func (c *canvas) stripes() {
	seed, slow := c.rand.Uint64(), max(8, c.width/2)
	a, b, width := 1+c.rand.IntN(5), c.rand.IntN(7)-3, max(2, c.width/(3+c.rand.IntN(12)))
	one, two := c.colour(), c.colour()
	c.each(func(x, y int) (int, int, int) {
		v := octaves(seed, x, y, slow, 3)
		paint := one
		if (a*x+b*y+1<<20+v*width/64)/width%2 == 0 {
			paint = two
		}
		return paint[0] + v, paint[1] + v, paint[2] + v
	})
}

// grain is shapes under noise of single pixels.
func (c *canvas) grain() {
	c.shapes()
	seed := c.rand.Uint64()
	for i := range c.Pix {
		if i%4 != 3 {
			c.Pix[i] = clip(int(c.Pix[i]) + int(mix(seed+uint64(i))&63) - 32)
		}
	}
}
