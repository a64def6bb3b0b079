package main

import (
	"image"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/images"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/picture"
	"github.com/mosey-web/mosey/test/output"
)

func TestImages(t *testing.T) {
	t.Parallel()
	i := newImages(t)

	t.Run("AreListed", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		out := i.Print("images")
		require.Equal(t, 6, strings.Count(out, "\n"), out)
		output.ContainsOnSameLine(t, out, "640×480  png ", i.url("/harbour.png")+`  "\"><script>alert(1)</script>"`)
		output.ContainsOnSameLine(t, out, "400×300  jpeg ", i.url("/market.jpg")+`  "The market"`)
		one := i.docs("images")["/harbour.png"]
		require.Equal(t, shaOf(i.harbour), one.SHA256)
		require.Equal(t, hostileAlt, one.Alt)
		require.Equal(t, i.url("/"), one.Source)
		require.Equal(t, crawl.DiscoveryImg, one.Discovery)
		require.EqualValues(t, 1, one.Pages)
		require.EqualValues(t, len(i.harbour), one.Bytes)
		require.True(t, *one.Success)
		require.Len(t, one.PHash, 16)
		require.NotZero(t, one.StoredAt)
	})

	t.Run("AreFiltered", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		paths := func(args ...string) []string {
			return slices.Sorted(maps.Keys(i.docs(append([]string{"images"}, args...)...)))
		}
		all := []string{"/copy.png", "/harbour.png", "/large.png", "/market.jpg", "/small.jpg", "/white.png"}
		for _, c := range []struct {
			want []string
			args []string
		}{
			{all, nil},
			{all, []string{"--domain", gallery}},
			{nil, []string{"--domain", "other.test"}},
			{[]string{"/copy.png", "/harbour.png", "/large.png", "/market.jpg"}, []string{"--min-width", "400"}},
			{[]string{"/copy.png", "/harbour.png", "/large.png"}, []string{"--min-height", "301"}},
			{[]string{"/market.jpg", "/small.jpg"}, []string{"--format", "jpeg"}},
			{[]string{"/missing.png", "/tiny.png"}, []string{"--failed"}},
			{[]string{"/tiny.png"}, []string{"--problem", "too small"}},
			{[]string{"/missing.png"}, []string{"--failed", "--problem", "not answered"}},
			{[]string{"/icon.png"}, []string{"--pending"}},
		} {
			require.Equal(t, c.want, paths(c.args...), "%v", c.args)
		}
		require.Len(t, paths("--limit", "2"), 2)
		output.ContainsOnSameLine(t, i.Print("images", "--failed"), "too small ", i.url("/tiny.png"))
		output.ContainsOnSameLine(t, i.Print("images", "--pending"), "not fetched ", i.url("/icon.png"))
	})

	t.Run("AreShownInABrowser", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		b := serveRows(t, i.commandHarness).browser(false)
		page := b.page("/images?domain=" + gallery)
		require.Contains(t, page, "The latest 6 images.")
		require.Contains(t, page, "&lt;script&gt;alert(1)")
		sha := shaOf(i.harbour)
		require.Contains(t, page, `<img src="/images/`+sha+`.jpg"`)
		status, body := b.get("/images/" + sha + ".jpg")
		require.Equal(t, http.StatusOK, status)
		small, format, err := image.DecodeConfig(strings.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, "jpeg", format)
		require.Equal(t, 256, small.Width)
		status, _ = b.get("/images/" + strings.Repeat("0", 64) + ".jpg")
		require.Equal(t, http.StatusNotFound, status)
		status, _ = b.get("/images/harbour.jpg")
		require.Equal(t, http.StatusNotFound, status)

		require.Contains(t, b.page("/images?similar="+sha), i.url("/small.jpg"))
		require.Contains(t, b.page("/images?of=copies"), i.url("/copy.png"))
		require.Contains(t, b.page("/images?of=similar"), i.url("/large.png"))
		status, body = b.upload("/images", jpegOf(t, painting(200, 150, 1), 80))
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, body, "most similar first.")
		require.Contains(t, body, i.url("/small.jpg"))
		status, body = b.upload("/images", pngOf(t, white(300, 200)))
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, body, "too little detail")
		status, body = b.upload("/images", "no picture")
		require.Equal(t, http.StatusBadRequest, status, body)
		for _, path := range []string{"/api/images", "/api/images?of=copies", "/api/images?similar=" + sha} {
			status, body := b.get(path)
			require.Equal(t, http.StatusOK, status)
			b.asDescribed(path, body)
		}
	})

	t.Run("ThatAreNotThereAreNamed", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		for _, args := range [][]string{
			{"--format", "tiff"},
			{"--failed", "--domain", "other.test"},
			{"--problem", "mismatch"},
			{"--pending", "--domain", "other.test"},
			{"--problem", "svg", "--min-width", "7"},
		} {
			r := i.Execute(append([]string{"images"}, args...)...)
			require.Zero(t, r.Code, r.Stderr)
			require.Empty(t, r.Stdout)
			require.Equal(t, noImages, r.Stderr)
		}
	})

	t.Run("ThatAreTheSameAreShown", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		twice := []string{"  " + i.url("/harbour.png"), "  " + i.url("/copy.png")} // in any order: they came together
		lines := strings.Split(i.Print("images", "duplicates"), "\n")
		require.Equal(t, "2 URLs: the same bytes, "+shaOf(i.harbour), lines[0])
		require.ElementsMatch(t, append(twice, ""), lines[1:])
		lines = strings.Split(i.Print("images", "duplicates", "--similar"), "\n")
		require.Equal(t, "3 URLs: 2 files of the same picture, "+i.docs("images")["/large.png"].PHash, lines[0])
		require.ElementsMatch(t, append(twice, "  "+i.url("/large.png"), ""), lines[1:])
		var same report.ImageCopies
		i.Decode(&same, "images", "duplicates", "--json")
		require.ElementsMatch(t, []string{i.url("/harbour.png"), i.url("/copy.png")}, same.URLs)
		same.URLs = nil
		require.Equal(t, report.ImageCopies{SHA256: shaOf(i.harbour), Contents: 1, Images: 2, Domains: 1}, same)
		i.Refuse([]string{"images", "duplicates", "--limit", "0"}, "--limit 0: want 1 to 100000")
	})

	t.Run("AreFoundByWhatTheyLookLike", func(t *testing.T) {
		t.Parallel()
		testImagesSimilar(t, i)
	})

	t.Run("AreCounted", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		const counts = "images: named 9 times, 8 requests, 6 recorded"
		for _, out := range []string{i.said, i.Print("status", "default")} {
			output.ContainsOnSameLine(t, out, "Run default is done ", ": 1 page of 1 domain, ")
			output.ContainsOnSameLine(t, out, "  "+counts)
		}
		output.ContainsOnSameLine(t, i.Print("domain", gallery), "run default ", "done: 1 ok; "+counts)
		output.ContainsOnSameLine(t, i.Print("why", gallery), "run default is done", ": 1 ok; "+counts)
		output.ContainsOnSameLine(t, i.Print("page", i.url("/")), "images ", "9 named")
	})

	t.Run("AreExplained", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		out := i.Print("why", i.url("/harbour.png"))
		output.ContainsOnSameLine(t, out, i.url("/harbour.png")+": done in run default: ok 200 on ")
		output.ContainsOnSameLine(t, out, "- named as an image by 1 page, first "+i.url("/"))
		output.ContainsOnSameLine(t, out, "- recorded: 640×480 png, ", ", stored as "+shaOf(i.harbour))
		output.ContainsOnSameLine(t, i.Print("why", i.url("/tiny.png")), "- the last fetch returned no usable image: too small")
		out = i.Print("why", i.url("/icon.png"))
		output.ContainsOnSameLine(t, out, ": known as an image, but no run requests it: icons are not requested")
		output.ContainsOnSameLine(t, out, "- named as an icon by 1 page, first "+i.url("/"))
		out = i.Print("page", i.url("/harbour.png"))
		output.ContainsOnSameLine(t, out, "image ", "named as an image by 1 page, first "+i.url("/"))
		output.ContainsOnSameLine(t, out, "content ", "640×480 png, ")
		output.ContainsOnSameLine(t, i.Print("page", i.url("/tiny.png")), "problem ", "too small")
		var rep report.Page
		i.Decode(&rep, "page", i.url("/harbour.png"), "--json")
		require.NotNil(t, rep.Image)
		require.Equal(t, shaOf(i.harbour), rep.Image.SHA256)
	})
}

// testImagesSimilar is a part of TestImages, for one crawl is enough.
func testImagesSimilar(t *testing.T, i *imagesHarness) {
	t.Helper()
	similar := func(i *imagesHarness, args ...string) map[string]images.ImageDoc {
		found := i.docs(append([]string{"images", "similar"}, args...)...)
		// one of two that have the same bytes is named
		if same, is := found["/copy.png"]; is {
			require.NotContains(i.t, found, "/harbour.png")
			found["/harbour.png"] = same
			delete(found, "/copy.png")
		}
		return found
	}
	found := func(i *imagesHarness, args ...string) []string { return slices.Sorted(maps.Keys(similar(i, args...))) }
	harbour := []string{"/harbour.png", "/large.png", "/small.jpg"}

	t.Run("FindsAPictureOfAnotherSizeAndQuality", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		file := i.WriteFile("mine.jpg", jpegOf(t, painting(500, 375, 1), 30))
		require.Equal(t, harbour, found(i, file))
		require.Regexp(t, `\d bits?  +640×480  +png .*\.png.*\(and 1 URL with the same bytes\)\n`, i.Print("images", "similar", file))
		one := similar(i, file)["/harbour.png"]
		require.NotNil(t, one.Distance)
		require.LessOrEqual(t, *one.Distance, report.ImageDistanceMax)
		require.EqualValues(t, 2, one.Images)
	})

	t.Run("FindsByWhatIsKnown", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		known := i.docs("images")["/harbour.png"]
		require.Equal(t, harbour, found(i, i.url("/copy.png")))
		require.Equal(t, harbour, found(i, strings.ToUpper(known.SHA256)))
		require.Equal(t, harbour, found(i, known.PHash))
		require.Contains(t, found(i, known.PHash, "--distance", "0"), "/harbour.png")
		require.Equal(t, []string{"/market.jpg"}, found(i, i.url("/market.jpg")))
	})

	t.Run("SaysThatNothingIsFound", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		file := i.WriteFile("other.png", pngOf(t, painting(300, 300, 9)))
		r := i.Execute("images", "similar", file)
		require.Zero(t, r.Code, r.Stderr)
		require.Empty(t, r.Stdout)
		require.Regexp(t, `\ANo similar image: no hash differs from [0-9a-f]{16} in 8 bits or fewer\.\n\z`, r.Stderr)
		require.Empty(t, found(i, file))
	})

	t.Run("RefusesWhatCannotBeLookedFor", func(t *testing.T) {
		t.Parallel()
		i := i.in(t)
		for _, path := range []string{"/unknown.png", "/icon.png", "/tiny.png"} {
			u := i.url(path)
			i.Fail([]string{"images", "similar", u}, u+": no image was recorded under this URL: mosey why "+u+" explains it")
		}
		i.Fail([]string{"images", "similar", strings.Repeat("0", 64)}, "no image with this SHA-256 was recorded: mosey images --json lists the recorded images")
		forgotten := strings.Repeat("1", 64)
		_, err := i.store.Pool().Exec(t.Context(), `INSERT INTO image_contents (sha256_hash, file_size_bytes, format, width, height)
			VALUES ($1, 1, 'png', 200, 200)`, forgotten)
		require.NoError(t, err)
		i.Fail([]string{"images", "similar", forgotten}, "no image with this SHA-256 was recorded")
		i.Fail([]string{"images", "similar", i.url("/white.png")}, "has too little detail to be compared")
		i.Fail([]string{"images", "similar", i.WriteFile("white.png", pngOf(t, white(200, 200)))}, "has too little detail to be compared")
		text := i.WriteFile("text.png", "no picture")
		i.Refuse([]string{"images", "similar", text}, text+": ", picture.ErrUnsupported.Error())
		half := i.WriteFile("half.png", i.harbour[:len(i.harbour)/2])
		i.Refuse([]string{"images", "similar", half}, half+": ", picture.ErrMalformed.Error())
		i.Refuse([]string{"images", "similar", t.TempDir()}, "not a regular file: want an image file")
		i.Refuse([]string{"images", "similar", "nowhere.png"}, "nowhere.png: no such file", "want an image file, a URL, or a SHA-256")
		i.Refuse([]string{"images", "similar", "http://"}, "http://")
	})
}

const noImages = "No matching images. Only crawls with --images metadata or --images store fetch images.\n"

func TestImagesUsage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--format", "gfi"}, []string{`--format must be one of "","jpeg","png","gif",`, `but got "gfi"`}},
		{[]string{"--limit", "0"}, []string{"--limit 0: want 1 to 100000"}},
		{[]string{"--limit", "100001"}, []string{"--limit 100001: want 1 to 100000"}},
		{[]string{"--min-width=-1"}, []string{"--min-width -1: want 0 to 1000000 pixels"}},
		{[]string{"--min-height", "1000001"}, []string{"--min-height 1000001: want 0 to 1000000 pixels"}},
		{[]string{"--domain", "no domain"}, []string{`domain "no domain"`}},
		{[]string{"--failed", "--pending"}, []string{"--failed", "--pending", "can't be used together"}},
		{[]string{"--problem", "ugly"}, []string{`--problem must be one of "","not answered","not an image","svg",`, `but got "ugly"`}},
		{[]string{"--pending", "--problem", "svg"}, []string{`--problem "svg": pending images have no problem yet: leave out --pending`}},
		{[]string{"similar", "x.png", "--distance", "9"}, []string{"--distance 9: want 0 to 8 bits"}},
		{[]string{"similar", "x.png", "--distance=-1"}, []string{"--distance -1: want 0 to 8 bits"}},
		{[]string{"similar", "x.png", "--limit", "0"}, []string{"--limit 0: want 1 to 100000"}},
	} {
		h.Refuse(append([]string{"images"}, c.args...), c.want...)
	}
	h, _ = newHarnessWithDatabase(t)
	for _, args := range [][]string{nil, {"--pending"}, {"--failed"}} {
		r := h.Execute(append([]string{"images"}, args...)...)
		require.Zero(t, r.Code, r.Stderr)
		require.Equal(t, noImages, r.Stderr)
	}
	require.Equal(t, "No duplicate images.\n", h.Execute("images", "duplicates").Stderr)
	require.Empty(t, h.Print("images", "--json"))
}
