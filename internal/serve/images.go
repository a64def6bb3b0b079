package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/explain"
)

// Pictures reads thumbnails and pictures.
type Pictures interface {
	// Thumbnail returns a JPEG that we encoded, or nil if none is stored.
	Thumbnail(ctx context.Context, r report.ImageRow) ([]byte, error)
	// Read computes the hashes of a picture; an error is about the picture.
	Read(ctx context.Context, file io.ReaderAt, size int64) (crawl.ImageContent, error)
}

const (
	maxImages      = 100
	maxUploadBytes = 20 << 20 // bytes of a picture to compare
)

// ImagesView is a list of images.
type ImagesView struct {
	head

	// Of is latest, similar or copies.
	Of     string               `json:"of"`
	Domain string               `json:"domain,omitempty"`
	Images []ImageShown         `json:"images"`
	Copies []report.ImageCopies `json:"copies,omitempty"`
}

// ImageShown is an image in a list.
type ImageShown struct {
	SHA256 string `json:"sha256"`
	URL    string `json:"url"`
	Source string `json:"page,omitempty"`
	Words  string `json:"alt,omitempty"`
	Facts  string `json:"facts"`
	// Picture is set if a thumbnail is stored.
	Picture bool `json:"picture"`
	// Distance counts the different bits of its hash; nil means that it was not compared.
	Distance *int `json:"distance,omitempty"`
}

var sha256Digits = regexp.MustCompile(`^[0-9a-f]{64}$`)

// images lists the latest images, those similar to one, or duplicates.
func (s *Server) images(r *http.Request) (view, error) {
	v := &ImagesView{head: head{Now: s.Now()}, Of: "latest", Images: []ImageShown{}}
	var err error
	switch {
	case r.Method == http.MethodPost:
		return v, s.imagesLikeUpload(r, v)
	case r.FormValue("similar") != "":
		return v, s.imagesLike(r, v, strings.ToLower(r.FormValue("similar")))
	case r.FormValue("of") == "copies", r.FormValue("of") == "similar":
		v.Of = r.FormValue("of")
		if v.Copies, err = s.Store.ImageCopies(r.Context(), v.Of == "similar", maxImages); err != nil {
			return nil, err
		}
		v.Sentence = "No image has duplicates."
		if len(v.Copies) > 0 {
			v.Sentence = "Images with several URLs, most URLs first."
		}
		return v, nil
	}
	f := report.ImageFilter{Limit: maxImages, Format: crawl.ImageFormat(r.FormValue("format"))}
	if f.Format != "" && !slices.Contains(crawl.ImageFormats, f.Format) {
		return nil, fmt.Errorf("%w: format %q: want one of %v", errBadRequest, f.Format, crawl.ImageFormats)
	}
	if name := r.FormValue("domain"); name != "" {
		v.Domain = name
		if f.Domain, err = urls.ReadDomain(name); err != nil {
			return v, err
		}
	}
	rows, err := s.Store.Images(r.Context(), f)
	if err != nil {
		return nil, err
	}
	v.Domain = f.Domain
	for _, row := range rows {
		v.Images = append(v.Images, newImageShown(row))
	}
	v.Sentence = "No images yet: crawl with --images."
	if len(rows) > 0 {
		v.Sentence = "The latest " + explain.Count(int64(len(rows)), "image") + "."
	}
	return v, nil
}

func newImageShown(r report.ImageRow) ImageShown {
	return ImageShown{
		SHA256: r.SHA256, URL: r.URL, Source: r.Source, Words: explain.OneLine(cmp.Or(r.Alt, r.Caption)),
		Facts:   fmt.Sprintf("%d×%d %s, %s", r.Width, r.Height, r.Format, explain.Size(r.Bytes)),
		Picture: !r.ThumbnailAt.IsZero() || !r.StoredAt.IsZero(),
	}
}

// imagesLike finds the images similar to a known one.
func (s *Server) imagesLike(r *http.Request, v *ImagesView, sha256 string) error {
	if !sha256Digits.MatchString(sha256) {
		return fmt.Errorf("%w: similar %q: want the SHA-256 of an image, 64 hexadecimal digits", errBadRequest, sha256)
	}
	known, err := s.Store.ImageHash(r.Context(), sha256, "")
	if err != nil {
		return err
	}
	return s.imagesNear(r, v, known)
}

// imagesLikeUpload finds the images similar to an uploaded picture.
func (s *Server) imagesLikeUpload(r *http.Request, v *ImagesView) error {
	file, size, err := uploaded(r, "picture")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errUploadTooSlow
	}
	if err != nil {
		return fmt.Errorf("%w: picture: want a file of at most %s: %w", errBadRequest, explain.Size(maxUploadBytes), err)
	}
	defer discard(file)
	content, err := s.Pictures.Read(r.Context(), file, size)
	if err != nil {
		return fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return s.imagesNear(r, v, content)
}

// maxFormHeadBytes bounds the part of a form before its file, which is read into memory.
const maxFormHeadBytes = 64 << 10

// uploaded writes the file in a form field to a temporary file. The caller discards it.
func uploaded(r *http.Request, field string) (file *os.File, size int64, err error) {
	body := &io.LimitedReader{R: r.Body, N: maxFormHeadBytes}
	r.Body = io.NopCloser(body)
	form, err := r.MultipartReader()
	if err != nil {
		return nil, 0, err
	}
	part, err := form.NextPart()
	for err == nil && part.FormName() != field {
		part, err = form.NextPart()
	}
	if err != nil {
		return nil, 0, err
	}
	if file, err = os.CreateTemp("", "mosey-upload-*"); err != nil {
		return nil, 0, err
	}
	body.N = maxUploadBytes
	if size, err = io.Copy(file, part); err != nil {
		discard(file)
		return nil, 0, err
	}
	return file, size, nil
}

func discard(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

func (s *Server) imagesNear(r *http.Request, v *ImagesView, to crawl.ImageContent) error {
	v.Of = "similar"
	switch {
	case to.PHash == nil:
		return fmt.Errorf("%w: the image cannot be compared: %s", errBadRequest, cmp.Or(to.Undecoded, "it was forgotten"))
	case to.Flat:
		return fmt.Errorf("%w: the image has too little detail to compare it", errBadRequest)
	}
	near, err := s.Store.SimilarImages(r.Context(), to, report.ImageDistanceMax, maxImages)
	if err != nil {
		return err
	}
	for _, n := range near {
		one := newImageShown(n.ImageRow)
		one.Distance = &n.Distance
		v.Images = append(v.Images, one)
	}
	v.Sentence = "No similar images."
	if len(near) > 0 {
		v.Sentence = explain.Count(int64(len(near)), "image") + ", most similar first."
	}
	return nil
}

func (s *Server) thumbnail(w http.ResponseWriter, r *http.Request) {
	sha256, isJPEG := strings.CutSuffix(strings.ToLower(r.PathValue("sha256")), ".jpg")
	if !isJPEG || !sha256Digits.MatchString(sha256) {
		s.problem(w, r, errNoPage)
		return
	}
	facts, err := s.Store.ImageContent(r.Context(), sha256)
	if err != nil {
		s.problem(w, r, err)
		return
	}
	row := report.ImageRow{ImageContent: crawl.ImageContent{SHA256: sha256}}
	if facts.Thumbnail {
		row.ThumbnailAt = s.Now()
	}
	if facts.Stored {
		row.StoredAt = s.Now()
	}
	jpeg, err := s.Pictures.Thumbnail(r.Context(), row)
	if err != nil {
		s.Logger.Warn("could not read a thumbnail", "sha256", sha256, "error", err)
	}
	if err != nil || len(jpeg) == 0 {
		s.problem(w, r, errNoPage)
		return
	}
	w.Header().Set("Content-Type", "image/jpeg")
	w.Header().Set("Cache-Control", "private, max-age=86400") // the name is the content's hash
	_, _ = w.Write(jpeg)
}
