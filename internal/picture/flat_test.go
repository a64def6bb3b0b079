package picture_test

import (
	"image"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/race"
)

// flats are kinds of pictures in which there is next to nothing.
var flats = map[string]func(c *canvas){
	"one colour": func(*canvas) {},
	"faint noise": func(c *canvas) {
		seed := c.rand.Uint64()
		c.each(func(x, y int) (int, int, int) { v := 200 + noise(seed, x, y, 1)/32; return v, v, v })
	},
	"gradient across": func(c *canvas) {
		c.each(func(x, _ int) (int, int, int) { return x * 255 / c.width, 100, 200 })
	},
	"gradient down": func(c *canvas) {
		c.each(func(_, y int) (int, int, int) { return 40, y * 255 / c.height, 90 })
	},
	"gradient aslant": func(c *canvas) {
		c.each(func(x, y int) (int, int, int) { v := (x + y) * 255 / (c.width + c.height); return v, v, 255 - v })
	},
	"gradient round": func(c *canvas) {
		c.each(func(x, y int) (int, int, int) {
			x, y = x-c.width/2, y-c.height/2
			v := 255 - (x*x+y*y)*255/(c.width*c.width/4+c.height*c.height/4)
			return v, v, v
		})
	},
	"small logo on white": func(c *canvas) {
		c.fill(c.width*2/5, c.height*2/5, c.width/6, c.height/8, c.rand.IntN(2) == 0, c.colour())
	},
	"logo on white": func(c *canvas) {
		c.fill(c.width/3, c.height*2/5, c.width/3, c.height/6, c.rand.IntN(2) == 0, c.colour())
	},
	"word on white": func(c *canvas) {
		paint := c.colour()
		for i := range 6 {
			c.fill(c.width*(3+i)/12, c.height*2/5, c.width/40, c.height/6, false, paint)
			c.fill(c.width*(3+i)/12, c.height*2/5+c.rand.IntN(c.height/8), c.width/15, c.height/30, false, paint)
		}
	},
	"one line of text": func(c *canvas) {
		for i := range 20 {
			c.fill(c.width/10+i*c.width/50, c.height/8, c.width/80, c.height/48, false, [3]int{20, 20, 20})
		}
	},
	"two bars": func(c *canvas) { c.fill(0, 0, c.width, c.height/2, false, c.colour()) },
	"three bars": func(c *canvas) {
		c.fill(0, 0, c.width/3, c.height, false, c.colour())
		c.fill(c.width*2/3, 0, c.width/3+1, c.height, false, c.colour())
	},
	"frame": func(c *canvas) {
		c.fill(0, 0, c.width, c.height/100, false, [3]int{})
		c.fill(0, c.height-c.height/100, c.width, c.height/100, false, [3]int{})
	},
}

// onPaper draws on white.
func onPaper(seed uint64, width, height int, paint func(*canvas)) image.Image {
	c := &canvas{
		NRGBA: image.NewNRGBA(image.Rect(0, 0, width, height)), width: width, height: height,
		rand: rand.New(rand.NewPCG(seed, 0)),
	}
	c.each(func(int, int) (int, int, int) { return 255, 255, 255 })
	paint(c)
	return opaque(c.NRGBA)
}

// The log of this test is the table from which the thresholds were chosen.
func TestFlat(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	const each = 20
	measure := func(t *testing.T, name string, paint func(seed uint64) image.Image) (flat int) {
		t.Helper()
		bitsLow, bitsHigh, countLow, countHigh := 99.0, 0.0, 99, 0
		for seed := range uint64(each) {
			bits, count, isFlat := picture.Measures(paint(seed + 1000))
			bitsLow, bitsHigh = min(bitsLow, bits), max(bitsHigh, bits)
			countLow, countHigh = min(countLow, count), max(countHigh, count)
			if isFlat {
				flat++
			}
		}
		t.Logf("%-20s entropy %.1f to %.1f, standing out %2d to %2d, flat %3d %%", name, bitsLow, bitsHigh, countLow, countHigh, flat*100/each)
		return flat
	}
	for name, paint := range flats {
		flat := measure(t, name, func(seed uint64) image.Image { return onPaper(seed, 320, 240, paint) })
		require.Equal(t, each, flat, name)
	}
	for kind := range kinds {
		flat := measure(t, kinds[kind].name, func(seed uint64) image.Image { return drawKind(kind, seed, 320, 240) })
		require.LessOrEqual(t, flat, each/10, kinds[kind].name)
	}
}
