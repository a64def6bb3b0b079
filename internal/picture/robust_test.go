package picture_test

import (
	"bytes"
	"flag"
	"image"
	"image/jpeg"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/image/draw"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/race"
)

// near is the distance up to which two pictures count as alike.
const near = 8

var unlike = flag.Int("unlike", 5_000, "how many pictures TestPrecision compares, each with each")

// changes are the common alterations of pictures on the web.
var changes = []struct {
	name   string
	recall float64 // that is demanded of pHash
	change func(image.Image) image.Image
}{
	{"half the size", 0.95, scaled(1, 2)},
	{"a quarter of the size", 0.95, scaled(1, 4)},
	{"twice the size", 0.95, scaled(2, 1)},
	{"JPEG of quality 30", 0.95, recompressed},
	{"5 % cut off", 0, func(img image.Image) image.Image {
		b := img.Bounds()
		dx, dy := b.Dx()*25/1000, b.Dy()*25/1000
		return copied(img, image.Rect(dx, dy, b.Dx()-dx, b.Dy()-dy))
	}},
	{"20 % brighter", 0, brighter(120)},
	{"20 % darker", 0, brighter(80)},
	{"a mark in a corner", 0, func(img image.Image) image.Image {
		out := copied(img, img.Bounds())
		b := out.Bounds()
		draw.Draw(out, image.Rect(b.Dx()*3/4, b.Dy()*9/10, b.Dx()*49/50, b.Dy()*49/50), image.White, image.Point{}, draw.Src)
		return out
	}},
}

func copied(img image.Image, part image.Rectangle) *image.RGBA {
	out := image.NewRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	draw.Draw(out, out.Bounds(), img, part.Min, draw.Src)
	return out
}

func scaled(times, of int) func(image.Image) image.Image {
	return func(img image.Image) image.Image {
		out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx()*times/of, img.Bounds().Dy()*times/of))
		draw.CatmullRom.Scale(out, out.Bounds(), img, img.Bounds(), draw.Src, nil)
		return out
	}
}

func brighter(percent int) func(image.Image) image.Image {
	return func(img image.Image) image.Image {
		out := copied(img, img.Bounds())
		for i, v := range out.Pix {
			if i%4 != 3 {
				out.Pix[i] = clip(int(v) * percent / 100)
			}
		}
		return out
	}
}

func recompressed(img image.Image) image.Image {
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, &jpeg.Options{Quality: 30}); err != nil {
		panic(err)
	}
	out, err := jpeg.Decode(&file)
	if err != nil {
		panic(err)
	}
	return out
}

// TestRecall counts a copy as found if it is near to its original, and is not flat itself:
// one that is flat is left out of what is searched.
func TestRecall(t *testing.T) {
	form.Long(t)
	t.Parallel()
	race.SkipSerial(t)
	const each = 5
	var originals []image.Image
	var pHashes, dHashes []crawl.ImageHash
	for kind := range kinds {
		for seed := range uint64(each) {
			img := drawKind(kind, 2_000+seed, 320, 240)
			p, d, flat := picture.Hashes(img)
			if !flat {
				originals, pHashes, dHashes = append(originals, img), append(pHashes, p), append(dHashes, d)
			}
		}
	}
	for _, c := range changes {
		var pFound, dFound, bothFound, distances int
		for i, img := range originals {
			p, d, flat := picture.Hashes(c.change(img))
			distances += p.Distance(pHashes[i])
			byP, byD := !flat && p.Distance(pHashes[i]) <= near, !flat && d.Distance(dHashes[i]) <= report.ImageDHashMax
			if byP {
				pFound++
			}
			if byD {
				dFound++
			}
			if byP && byD {
				bothFound++
			}
		}
		n := float64(len(originals))
		t.Logf("%-22s found by pHash %5.1f %%, by dHash %5.1f %%, by both %5.1f %%; mean distance of pHash %.1f",
			c.name, 100*float64(pFound)/n, 100*float64(dFound)/n, 100*float64(bothFound)/n, float64(distances)/n)
		require.GreaterOrEqual(t, float64(bothFound)/n, c.recall, c.name)
	}
}

// Each picture is looked for, as a JPEG of poor quality, among all. Precision is the
// share of what is found that is the picture itself. With a JPEG that is flat nothing is
// found.
//
// Two pages of text that are laid out alike look alike to pHash: so it takes both hashes,
// as images_near in the database asks for them. What pHash finds by itself is only told.
func TestPrecision(t *testing.T) {
	form.Long(t)
	t.Parallel()
	type prints struct {
		pHash, dHash, pQuery, dQuery crawl.ImageHash
		flatQuery                    bool
	}
	n := *unlike
	if race.Enabled {
		n = min(n, 100)
	}
	all := make([]*prints, n)
	var work sync.WaitGroup
	for worker := range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for i := worker; i < len(all); i += runtime.GOMAXPROCS(0) {
				img := drawKind(i%len(kinds), uint64(i), 128, 96)
				if p, d, flat := picture.Hashes(img); !flat {
					pQuery, dQuery, flatQuery := picture.Hashes(recompressed(img))
					all[i] = &prints{p, d, pQuery, dQuery, flatQuery}
				}
			}
		})
	}
	work.Wait()
	type counts struct{ right, wrong int }
	var byP, byPWithoutText, byBoth counts
	count := func(c *counts, right bool) {
		if right {
			c.right++
		} else {
			c.wrong++
		}
	}
	isText := func(i int) bool { return kinds[i%len(kinds)].name == "text" }
	for i, one := range all {
		for j, other := range all {
			if one == nil || other == nil || one.flatQuery || one.pQuery.Distance(other.pHash) > near {
				continue
			}
			count(&byP, i == j)
			if !isText(i) {
				count(&byPWithoutText, i == j)
			}
			if one.dQuery.Distance(other.dHash) <= report.ImageDHashMax {
				count(&byBoth, i == j)
			}
		}
	}
	precision := func(c counts) float64 { return float64(c.right) / float64(c.right+c.wrong) }
	for name, c := range map[string]counts{"pHash": byP, "pHash, no text": byPWithoutText, "both hashes": byBoth} {
		t.Logf("%d pictures: %-14s right %d, wrong %d: precision %.2f %%", len(all), name, c.right, c.wrong, 100*precision(c))
	}
	require.GreaterOrEqual(t, precision(byBoth), 0.99)
}
