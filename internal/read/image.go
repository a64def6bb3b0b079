package read

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/freshness"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/usage"
	"github.com/mosey-web/mosey/internal/fetch"
	"github.com/mosey-web/mosey/internal/picture"
)

// pictureTimeout limits the reading of an image, mostly the wait for its turn; storeTimeout limits
// storing it, and thumbnailTimeout its thumbnail. With a trial after each of the two, they stay
// within request.LargeReadTimeout.
const (
	pictureTimeout   = 90 * time.Second
	storeTimeout     = 60 * time.Second
	thumbnailTimeout = 10 * time.Second
)

func (r *reading) image(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit crawl.Visit) error {
	pageUsage := r.declaredUsage(resp)
	at.Image = &crawl.ImageUpdate{}
	if at.Image.Problem, at.Error = r.unreadable(resp, pageUsage); at.Image.Problem == "" {
		if err := r.readPicture(ctx, at, resp, &visit); err != nil {
			return err
		}
	}
	at.Image.Forget = at.Image.Problem == crawl.ImageForbidden
	if at.Image.Problem != "" {
		visit = crawl.Visit{} // the next request reads it as a whole
	}
	at.Page = r.pageUpdate(visit, crawl.Signals{})
	return r.storeUsage(at, pageUsage)
}

func (r *reading) readPicture(ctx context.Context, at *crawl.Attempt, resp *fetch.Response, visit *crawl.Visit) error {
	set := r.d.Run.Settings
	head := make([]byte, 64)
	n, _ := bodyOf(resp).ReadAt(head, 0) // the reader of the whole body gets the error
	if format, is := picture.Format(head[:n]); is && !picture.Agrees(format, resp.MediaType) {
		at.Image.Problem = crawl.ImageMismatch
		at.Error = fmt.Sprintf("the Content-Type is %s, but the first bytes are those of %s",
			crawl.CleanText(resp.MediaType, maxContentTypeBytes), format)
		return nil
	}
	// Its record must not be lost if the worker stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pictureTimeout)
	defer cancel()
	body := bodyOf(resp)
	read, err := r.Pictures.Read(ctx, body, body.Size(), picture.Options{
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
		return fmt.Errorf("read the image %s: SHA-256 %q: %w", r.url, read.SHA256, err)
	}
	if at.Unchanged = freshness.Unchanged(r.last, resp.Status, *visit); at.Unchanged == "" {
		at.Image.Content = new(read.ImageContent)
	}
	return r.storeImage(ctx, at, resp, read)
}

// unreadable returns the reason not to read an image, by its response's header and its body's size.
func (r *reading) unreadable(resp *fetch.Response, pageUsage usage.Usage) (problem crawl.ImageProblem, reason string) {
	if allowed, reason := usage.AllowsImages(*r.d.Run.Settings.Purpose, pageUsage); !allowed {
		return crawl.ImageForbidden, reason
	}
	maxBytes := kinds.Image.Traits().MaxBytes
	switch {
	case resp.MediaType == "image/svg+xml":
		return crawl.ImageSVG, "the image is an SVG drawing, which Mosey does not read"
	case !kinds.Image.Traits().Accepts(resp.MediaType):
		return crawl.ImageNotAnImage, "the Content-Type is " + crawl.CleanText(resp.MediaType, maxContentTypeBytes)
	case resp.Truncated || resp.ContentLength > maxBytes:
		return crawl.ImageTooLarge, fmt.Sprintf("the file has more than %d bytes", maxBytes)
	case bodyOf(resp).Size() == 0:
		return crawl.ImageNotAnImage, "the file is empty"
	}
	return "", ""
}

const maxContentTypeBytes = 100

type body interface {
	io.ReadSeeker
	io.ReaderAt
	Size() int64
}

func bodyOf(resp *fetch.Response) body {
	if resp.File != nil {
		return io.NewSectionReader(resp.File, 0, resp.FileSize)
	}
	return bytes.NewReader(resp.Body)
}

// problemOf maps an error of package picture to the image's problem; empty means our own failure.
func problemOf(err error) crawl.ImageProblem {
	switch {
	case errors.Is(err, picture.ErrSVG):
		return crawl.ImageSVG
	case errors.Is(err, picture.ErrUnsupported):
		return crawl.ImageNotAnImage
	case errors.Is(err, picture.ErrTooSmall):
		return crawl.ImageTooSmall
	case errors.Is(err, picture.ErrTooManyPixels):
		return crawl.ImageTooLarge
	case errors.Is(err, picture.ErrMalformed):
		return crawl.ImageMalformed
	}
	return ""
}
