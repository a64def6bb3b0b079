package activities

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/decide"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/extract"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/picture"
)

const (
	// imageMaxBytes caps the file of an image.
	imageMaxBytes = 20_000_000
	// pictureSpan is how long it may take to read one, to wait for its turn for the most
	// part; storeSpan to store it, and thumbnailSpan its thumbnail. With a trial after each
	// of the two, they stay within request.LargeReadSpan.
	pictureSpan   = 90 * time.Second
	storeSpan     = 60 * time.Second
	thumbnailSpan = 10 * time.Second
)

// ImageStore is where the bytes of images are kept, by their SHA-256 in hexadecimal
// digits. What is there already is left alone. Its errors are trouble of our own.
type ImageStore interface {
	Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error
	PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error
	// Check reports whether it can be written to and read: so many bytes.
	Check(ctx context.Context, size int64) error
}

// ImageRowStore is the rows of images.
type ImageRowStore interface {
	// ImageContent is what is stored of a content; the zero value is nothing.
	ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error)
}

// imageMedia decides whether what may be an image is read. Some servers say nothing of
// what it is; what they call something else is not one.
func imageMedia(mediaType string) bool {
	switch mediaType {
	case "", "application/octet-stream", "binary/octet-stream":
		return true
	case "image/svg+xml":
		return false
	}
	return strings.HasPrefix(mediaType, "image/")
}

// images are those of a page, as they are recorded, and whether they are all that it has:
// at most so many as the run takes from one page, and the icons of its site.
func (r *pageReader) images(page extract.Page) (found []crawl.FoundImage, all bool) {
	left := *r.d.Run.Settings.MaxImagesPerPage
	all = page.ImagesDropped == 0
	for _, i := range page.Images {
		if i.URL == r.url || spacer(i) {
			continue
		}
		if i.Discovery != crawl.DiscoveryIcon {
			if left == 0 {
				all = false
				continue
			}
			left--
		}
		image := crawl.FoundImage{
			URL: i.URL.String(), Domain: i.URL.Domain(), Origin: i.URL.Origin(), Discovery: i.Discovery, Registered: r.registered(i.URL),
			Alt: i.Alt, Caption: i.Caption, Width: i.Width, Height: i.Height,
		}
		for _, v := range i.Variants {
			image.Variants = append(image.Variants, v.String())
		}
		found = append(found, image)
	}
	return found, all
}

// spacer reports whether a page says that an image is too small to be seen, as those are
// that count readers.
func spacer(i extract.Image) bool {
	return i.Width > 0 && i.Width <= spacerMax || i.Height > 0 && i.Height <= spacerMax
}

// spacerMax is the side of a spacer, in CSS pixels.
const spacerMax = 2

// addImages records the images of a page, and how they become part of the run.
func (r *pageReader) addImages(at *crawl.Attempt, page extract.Page, said usage.Usage) {
	if r.forbidsImages(at, said) {
		return
	}
	follow, stored := decide.FollowImages(*r.d.Run, *r.d.Crawl, said)
	if !stored {
		return
	}
	var all bool
	at.Images, all = r.images(page)
	at.FollowImages = follow
	at.AllImages = all && at.Error == "" && !at.Truncated && !at.Login
	at.Page.Signals.Images = &crawl.ImageCounts{
		Named: len(page.Images) + page.ImagesDropped, Data: page.ImagesData, SVG: page.ImagesSVG,
		Dropped: len(page.Images) + page.ImagesDropped - len(at.Images),
	}
}

// forbidsImages reports whether the publisher of a page forbids what the run is for with its
// images, and has what it said of them before forgotten.
func (r *pageReader) forbidsImages(at *crawl.Attempt, said usage.Usage) bool {
	set := r.d.Run.Settings
	if allowed, _ := usage.AllowsImages(*set.Purpose, said); allowed || !set.TakesImages() {
		return false
	}
	at.AllImages, at.ImagesForbidden = true, true
	return true
}

// unchangedImage is an image that is what it was at the last visit, unless its publisher
// forbids it now.
func (r *pageReader) unchangedImage(at *crawl.Attempt, said usage.Usage) {
	at.Image = &crawl.ImageUpdate{}
	if allowed, why := usage.AllowsImages(*r.d.Run.Settings.Purpose, said); !allowed {
		at.Image.Problem, at.Image.Forget, at.Error = crawl.ImageForbidden, true, why
		at.Page.Visit = &crawl.VisitUpdate{}
	}
}

// readImage reads an image that is new, or has changed.
func (r *pageReader) readImage(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	said := r.said(resp)
	at.Image = &crawl.ImageUpdate{}
	if at.Image.Problem, at.Error = r.unreadable(resp, said); at.Image.Problem == "" {
		if err := r.readPicture(ctx, at, resp, &visit); err != nil {
			return err
		}
	}
	at.Image.Forget = at.Image.Problem == crawl.ImageForbidden
	if at.Image.Problem != "" {
		visit = crawl.Visit{} // it is looked at as a whole when it is asked for next
	}
	at.Page = r.pageUpdate(visit, crawl.Signals{})
	return r.keepUsage(at, said)
}

// readPicture reads the picture, and keeps of it what the run wants.
func (r *pageReader) readPicture(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit *crawl.Visit) error {
	set := r.d.Run.Settings
	if format, is := r.format(resp); is && !picture.Agrees(format, resp.MediaType) {
		at.Image.Problem = crawl.ImageMismatch
		at.Error = fmt.Sprintf("its Content-Type is %s, and its first bytes are those of %s",
			crawl.CleanText(resp.MediaType, contentTypeShown), format)
		return nil
	}
	// Its record must not be lost because the worker is told to stop meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pictureSpan)
	defer cancel()
	read, err := r.pictures.Read(ctx, bodyOf(resp), bodySize(resp), picture.Options{
		MinSize: *set.ImageMinSize, Thumbnail: *set.Thumbnails,
	})
	if problem := problemOf(err); problem != "" {
		at.Image.Problem, at.Error = problem, err.Error()
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the image %s: %w", r.url, err)
	}
	if _, err := hex.Decode(visit.Content[:], []byte(read.SHA256[:hex.EncodedLen(len(visit.Content))])); err != nil {
		return fmt.Errorf("read the image %s: its SHA-256 %q: %w", r.url, read.SHA256, err)
	}
	if at.Unchanged = freshness.Unchanged(r.last, resp.Status, *visit); at.Unchanged == "" {
		at.Image.Content = new(read.ImageContent)
	}
	return r.keepImage(ctx, at, resp, read)
}

// format is that of an image by its first bytes.
func (r *pageReader) format(resp *fetch.Response) (crawl.ImageFormat, bool) {
	head := make([]byte, 64)
	n, _ := bodyOf(resp).ReadAt(head, 0) // who reads all of it meets the error
	return picture.Format(head[:n])
}

// unreadable says why an image is not read, by the header of its answer and by how much of
// its body there is.
func (r *pageReader) unreadable(resp *fetch.Response, said usage.Usage) (problem crawl.ImageProblem, why string) {
	if allowed, why := usage.AllowsImages(*r.d.Run.Settings.Purpose, said); !allowed {
		return crawl.ImageForbidden, why
	}
	switch {
	case resp.MediaType == "image/svg+xml":
		return crawl.ImageSVG, "it is a drawing (SVG), which is not read"
	case !imageMedia(resp.MediaType):
		return crawl.ImageNotAnImage, "its Content-Type is " + crawl.CleanText(resp.MediaType, contentTypeShown)
	case resp.Truncated || tooLong(resp, imageMaxBytes):
		return crawl.ImageTooLarge, fmt.Sprintf("its file has more than %d bytes", imageMaxBytes)
	case bodySize(resp) == 0:
		return crawl.ImageNotAnImage, "it is empty"
	}
	return "", ""
}

// contentTypeShown bounds what is shown of a media type.
const contentTypeShown = 100

// tooLong reports whether an answer says that its body is longer than is read of one. It
// is that of its coding, which is no longer than what it stands for by more than a little.
func tooLong(resp *fetch.Response, most int64) bool {
	return resp.ContentLength > most
}

// body is the body of an answer, wherever it is kept.
type body interface {
	io.ReadSeeker
	io.ReaderAt
}

func bodyOf(resp *fetch.Response) body {
	if resp.File != nil {
		return io.NewSectionReader(resp.File, 0, resp.FileSize)
	}
	return bytes.NewReader(resp.Body)
}

func bodySize(resp *fetch.Response) int64 {
	if resp.File != nil {
		return resp.FileSize
	}
	return int64(len(resp.Body))
}

// problemOf is what an error of package picture says of the image; empty is that it is
// trouble of our own.
func problemOf(err error) crawl.ImageProblem {
	for _, known := range []struct {
		err     error
		problem crawl.ImageProblem
	}{
		{picture.ErrSVG, crawl.ImageSVG},
		{picture.ErrUnsupported, crawl.ImageNotAnImage},
		{picture.ErrTooSmall, crawl.ImageTooSmall},
		{picture.ErrTooManyPixels, crawl.ImageTooLarge},
		{picture.ErrMalformed, crawl.ImageMalformed},
	} {
		if errors.Is(err, known.err) {
			return known.problem
		}
	}
	return ""
}

// keepImage has the bytes of an image, and its small picture, stored as far as the run
// wants that and they are not yet.
func (r *pageReader) keepImage(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, read picture.Result) error {
	set := r.d.Run.Settings
	wanted := *set.Images == crawl.ImagesStore
	if !wanted && len(read.Thumbnail) == 0 {
		return nil
	}
	if r.imageStore == nil {
		return errNoImageStore
	}
	known, err := r.store.ImageContent(ctx, read.SHA256)
	if err != nil {
		return err
	}
	if wanted && !known.Stored {
		wanted, err = r.putObject(ctx, at, storeSpan, bodySize(resp), func(ctx context.Context) error {
			return r.imageStore.Put(ctx, read.SHA256, bodyOf(resp), bodySize(resp), picture.MediaType(read.Format))
		})
		if err != nil {
			return fmt.Errorf("keep the image %s: %w", r.url, err)
		}
	}
	small := len(read.Thumbnail) > 0
	if small && !known.Thumbnail {
		small, err = r.putObject(ctx, at, thumbnailSpan, int64(len(read.Thumbnail)), func(ctx context.Context) error {
			return r.imageStore.PutThumbnail(ctx, read.SHA256, read.Thumbnail)
		})
		if err != nil {
			return fmt.Errorf("keep the thumbnail of %s: %w", r.url, err)
		}
	}
	at.Image.Content = new(read.ImageContent)
	at.Image.Stored, at.Image.Thumbnail = wanted, small
	return nil
}

// putObject has one object of so many bytes stored, and judges the error of the store. Where that
// has room and works otherwise, it is this one object that it does not take: what the image
// says is recorded all the same, so that it is not asked for again and again, and who wants its
// bytes tries once more. Else the error is returned, and nothing is recorded.
func (r *pageReader) putObject(
	ctx context.Context, at *crawl.Attempt, span time.Duration, size int64, put func(context.Context) error,
) (stored bool, _ error) {
	ctx = context.WithoutCancel(ctx) // once begun it is finished: half of it would have to be written again
	within, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	err := put(within)
	switch {
	case err == nil:
		r.storeHealth.worked()
		return true, nil
	case errors.Is(err, crawl.ErrFull):
		r.storeHealth.full(size, err)
		return false, err
	}
	r.storeHealth.failed()
	if e := r.storeHealth.ready(ctx, r.imageStore); e != nil {
		return false, errors.Join(err, e)
	}
	at.Error = "it could not be stored: " + err.Error()
	warn(ctx, "an image could not be stored, though the store works", "url", r.url.String(), "error", err)
	return false, nil
}
