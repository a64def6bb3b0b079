package bench_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

// largeImages is the number of images that BenchmarkImagesInFlight has in flight. largeImageMost is
// the maximum size of their files in bytes.
const (
	largeImages    = 64
	largeImageMost = 20_000_000
)

// imagesWait bounds how long BenchmarkImagesInFlight waits for its images.
var imagesWait = flag.Duration("images.wait", 20*time.Minute, "give BenchmarkImagesInFlight up after `this long`")

// BenchmarkImagesInFlight measures the memory of a worker alone, and of `mosey up`. The process has
// 64 images of nearly 20 MB each in flight at a time, and then decodes them. A decoded JPEG takes
// 15 MB, a decoded PNG 160 MB.
func BenchmarkImagesInFlight(b *testing.B) {
	if !*large {
		b.Skip("it decodes pictures for minutes: ask for it with -large")
	}
	bin := binaries(b)
	for _, kind := range []struct {
		name  string
		image func(*testing.B) servedImage
	}{{"jpeg", noisyJPEG}, {"png", largePNG}} {
		served := kind.image(b)
		served.over = 15 * time.Second
		for _, apart := range []bool{true, false} {
			part := map[bool]string{true: "worker", false: "process"}[apart]
			b.Run(kind.name+"/"+part, func(b *testing.B) {
				for b.Loop() {
					holdImages(b, bin, served, apart)
				}
			})
		}
	}
	b.Log(machine())
}

// holdImages crawls as many hosts as there are images to be in flight.
func holdImages(b *testing.B, bin string, served servedImage, apart bool) {
	b.Helper()
	w := startWeb(b, web.Options{
		Sites: web.Uniform(largeImages, web.Site{Plain: true, Pages: -1, Images: 2, Image: served}), CrossLinks: -1,
	})
	var r *rig
	if apart {
		r = startUp(b, bin, up.Dir(b))
		r.web = w
		r.startWorker(b, bin, r.database)
	} else {
		r = startAll(b, bin, w, os.Stderr)
	}
	const delay = time.Second
	began := time.Now()
	r.seed(b, settings.Settings{
		Delay: new(settings.Duration(delay)), IPDelay: new(settings.Duration(0)), Images: new(settings.ImagesMetadata),
	})
	conn := r.connect(b)
	defer closeConn(b, conn)
	for read := 0; read < 2*largeImages; background(b.Context(), time.Second) {
		require.Less(b, time.Since(began), *imagesWait, "%d images were read", read)
		require.NoError(b, conn.QueryRow(b.Context(), "SELECT count(*) FROM images WHERE phash IS NOT NULL").Scan(&read))
	}
	took := time.Since(began)
	peak, now, cpu := memory(b, r.pid(), "VmHWM"), memory(b, r.pid(), "VmRSS"), cpuOf(r.pid())
	r.stop(b)
	log := r.judged(b, delay, 0)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(peak, "peak-MB")
	b.ReportMetric(now, "end-MB")
	b.ReportMetric(float64(inFlight(log, func(r web.Record) bool { return r.Status == http.StatusOK && r.Bytes > largeImageMost/2 })), "in-flight")
	b.ReportMetric(millis(cpu)/(2*largeImages), "cpu-ms/image")
	b.ReportMetric(took.Seconds(), "s")
}

// startWeb serves a web until the benchmark ends.
func startWeb(b *testing.B, opts web.Options) *web.Web {
	b.Helper()
	w, err := web.Start(b.Context(), opts)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, w.Close()) })
	return w
}

// inFlight is how many of some requests were in flight at a time, at most.
func inFlight(log web.Log, of func(web.Record) bool) (most int) {
	type change struct {
		at time.Duration
		by int
	}
	var changes []change
	for _, record := range log {
		if of(record) {
			changes = append(changes, change{record.Start, 1}, change{record.End, -1})
		}
	}
	slices.SortFunc(changes, func(x, y change) int { return cmp.Or(cmp.Compare(x.at, y.at), x.by-y.by) })
	now := 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	return most
}

// BenchmarkBesideImages measures what an image crawl costs the pages of other domains: the
// pages a second of 100 domains alone, and beside a run that reads the images of 50 others.
func BenchmarkBesideImages(b *testing.B) {
	bin := binaries(b)
	served := servedImage{mediaType: "image/jpeg", body: encodeJPEG(b, drawn(1024, 1024, 0.1), 85)}
	for b.Loop() {
		alone, _ := besideImages(b, bin, served, 0)
		beside, images := besideImages(b, bin, served, 50)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(alone, "alone-pages/s")
		b.ReportMetric(beside, "beside-pages/s")
		b.ReportMetric(images, "images/s")
		b.ReportMetric(100*(alone-beside)/alone, "loss-%")
	}
	b.Log(machine())
}

// besideImages returns how many pages and images a second are answered.
func besideImages(b *testing.B, bin string, served servedImage, hosts int) (pages, images float64) {
	b.Helper()
	const healthy, delay, imageDelay = 100, time.Second, 500 * time.Millisecond
	sites := web.Uniform(healthy+hosts, web.Site{Plain: true, Pages: sitePages})
	for i := range sites[healthy:] {
		sites[healthy+i].Images, sites[healthy+i].Image = 40, served
	}
	w, err := web.Start(b.Context(), web.Options{Sites: sites, CrossLinks: -1})
	require.NoError(b, err)
	defer func() { require.NoError(b, w.Close()) }()
	r := startUp(b, bin, up.Dir(b))
	r.web = w
	r.startWorker(b, bin, r.database)
	set := settings.Settings{Delay: new(settings.Duration(delay)), IPDelay: new(settings.Duration(0))}
	r.seedRun(b, "pages", w.Seeds()[:healthy], set)
	if hosts > 0 {
		set.Delay, set.Images = new(settings.Duration(imageDelay)), new(settings.ImagesMetadata)
		r.seedRun(b, "images", w.Seeds()[healthy:], set)
	}
	of := make(map[string]bool, healthy)
	for _, host := range w.Hosts()[:healthy] {
		of[host] = true
	}
	background(b.Context(), cmp.Or(*warmUpFlag, 2*warmUpDefault))
	from := r.snapshot(b)
	background(b.Context(), cmp.Or(*measuredFlag, measuredDefault))
	to := r.snapshot(b)
	r.stop(b)
	i := between(from, to, r.judged(b, imageDelay, 0), delay)
	var theirs, others web.Log
	for _, record := range i.log.Pages() {
		switch {
		case of[record.Domain()]:
			theirs = append(theirs, record)
		case record.Answered() && record.Bytes >= int64(len(served.body)):
			others = append(others, record)
		}
	}
	late := web.Judge(theirs, web.Expectations{Delay: delay}).Overshoot
	seconds := i.to.at.Sub(i.from.at).Seconds()
	b.Logf("%d domains of images: %d pages, late %s, %s, %s (p50, p95, p99); %d images; worker %.0f %% of a core, Postgres %.0f, Temporal %.0f; worker %.0f MB",
		hosts, len(theirs), late.P50, late.P95, late.P99, len(others), i.load("worker"), i.load("postgres"), i.load("temporal"), to.rss)
	return float64(len(theirs)) / seconds, float64(len(others)) / seconds
}

// load is the CPU time of a part, in percent of one core.
func (i interval) load(part string) float64 {
	return 100 * (i.to.cpu[part] - i.from.cpu[part]).Seconds() / i.to.at.Sub(i.from.at).Seconds()
}

// servedImage is a Behaviour: an image, evenly over a time.
type servedImage struct {
	mediaType string
	body      []byte
	over      time.Duration
}

// Serve implements web.Behaviour.
func (s servedImage) Serve(v *web.Visit) {
	const pieces = 100
	v.W.Header().Set("Content-Type", s.mediaType)
	v.W.Header().Set("Content-Length", strconv.Itoa(len(s.body)))
	if s.over == 0 {
		v.Write(s.body)
		return
	}
	for piece := range slices.Chunk(s.body, len(s.body)/pieces+1) {
		v.Write(piece)
		v.Flush()
		v.Wait(s.over / pieces)
	}
}

// Truth implements web.Behaviour.
func (servedImage) Truth() web.Truth { return web.Truth{Status: http.StatusOK} }

// noisyJPEG is one of 4,000×2,450 pixels that has nearly as many bytes as are read.
func noisyJPEG(b *testing.B) servedImage {
	b.Helper()
	return large20(b, servedImage{mediaType: "image/jpeg", body: encodeJPEG(b, drawn(4000, 2450, 1), 100)})
}

// largePNG is one of 6,600×6,000 pixels, of which so many are noise that it has nearly as
// many bytes as are read.
func largePNG(b *testing.B) servedImage {
	b.Helper()
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	require.NoError(b, encoder.Encode(&out, drawn(6600, 6000, 0.15)))
	return large20(b, servedImage{mediaType: "image/png", body: out.Bytes()})
}

func large20(b *testing.B, served servedImage) servedImage {
	b.Helper()
	require.Less(b, len(served.body), largeImageMost)
	require.Greater(b, len(served.body), largeImageMost*8/10)
	b.Logf("%s of %d bytes", served.mediaType, len(served.body))
	return served
}

// drawn is a picture with a share of its rows, from the top, in noise.
func drawn(width, height int, noise float64) image.Image {
	img, random := image.NewRGBA(image.Rect(0, 0, width, height)), rand.New(rand.NewPCG(1, 2))
	for y := range height {
		for x := range width {
			c := color.RGBA{R: uint8(255 * x / width), G: uint8(255 * y / height), B: uint8((x/50 ^ y/70) * 8), A: 255}
			if float64(y) < noise*float64(height) {
				bits := random.Uint32()
				c.R, c.G, c.B = uint8(bits), uint8(bits>>8), uint8(bits>>16)
			}
			img.SetRGBA(x, y, c)
		}
	}
	return img
}

func encodeJPEG(b *testing.B, img image.Image, quality int) []byte {
	b.Helper()
	var out bytes.Buffer
	require.NoError(b, jpeg.Encode(&out, img, &jpeg.Options{Quality: quality}))
	return out.Bytes()
}
