// Package images has the commands about images and their store.
package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/picture"
)

// Cmd shows the images found.
type Cmd struct {
	List       imagesListCmd       `cmd:"" default:"withargs" help:"List images, the latest first."`
	Similar    imagesSimilarCmd    `cmd:"" help:"Find images that look like a file, a recorded image or a hash."`
	Duplicates imagesDuplicatesCmd `cmd:"" help:"Show images that several URLs serve."`
}

type imageFilter struct {
	Domain    string            `help:"Only images on pages of this domain." placeholder:"DOMAIN"`
	MinWidth  int               `help:"Minimum width of the images, in pixels." placeholder:"N"`
	MinHeight int               `help:"Minimum height of the images, in pixels." placeholder:"N"`
	Format    crawl.ImageFormat `help:"Only images of this format: jpeg, png, gif, webp, bmp, tiff, avif or heic." enum:",${image_formats}" default:"" placeholder:"FORMAT"`
	Limit     int               `default:"100" help:"Maximum number of images. Default: 100." placeholder:"N"`
}

func (f imageFilter) filter() (report.ImageFilter, error) {
	domain, err := command.DomainFlag(f.Domain)
	if err != nil {
		return report.ImageFilter{}, err
	}
	for name, pixels := range map[string]int{"--min-width": f.MinWidth, "--min-height": f.MinHeight} {
		if pixels < 0 || pixels > maxPixels {
			return report.ImageFilter{}, wiring.Usagef("%s %d: want 0 to %d pixels", name, pixels, maxPixels)
		}
	}
	if err := command.CheckLimit(f.Limit); err != nil {
		return report.ImageFilter{}, err
	}
	return report.ImageFilter{Domain: domain, MinWidth: f.MinWidth, MinHeight: f.MinHeight, Format: f.Format, Limit: f.Limit}, nil
}

// maxPixels exceeds any side of a picture that is read.
const maxPixels = 1_000_000

type imagesListCmd struct {
	imageFilter

	Failed  bool               `xor:"status" help:"List the images whose last fetch failed, with the reason, instead of the recorded images."`
	Pending bool               `xor:"status" help:"List the images that were found and not fetched yet, and icons."`
	Problem crawl.ImageProblem `help:"Only images that were not recorded for this reason: not answered, not an image, svg, mismatch, too small, too large, malformed or forbidden." enum:",not answered,not an image,svg,mismatch,too small,too large,malformed,forbidden" default:"" placeholder:"WHY"`
	JSON    bool               `name:"json" help:"Print one JSON object per image."`
}

func (c *imagesListCmd) Run(ctx context.Context, e *command.Env) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	f.Problem = c.Problem
	switch {
	case c.Problem != "" && c.Pending:
		return wiring.Usagef("--problem %q: pending images have no problem yet: leave out --pending", c.Problem)
	case c.Failed || c.Problem != "":
		f.Status = report.ImageFailed
	case c.Pending:
		f.Status = report.ImagePending
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		rows, err := store.Images(ctx, f)
		if err != nil {
			return err
		}
		docs := make([]ImageDoc, len(rows))
		for i, r := range rows {
			docs[i] = imageDocOf(r)
		}
		const none = "No matching images. Only crawls with --images metadata or --images store fetch images."
		return command.PrintTable(e, c.JSON, docs, none, "", func(d ImageDoc) string {
			return imageFacts(d.ImageRow) + "\t" + imageText(d.ImageRow)
		})
	})
}

func imageFacts(r report.ImageRow) string {
	switch {
	case r.Problem != "":
		return string(r.Problem) + "\t\t"
	case r.Width == 0:
		return "not fetched\t\t"
	}
	format := string(r.Format)
	if r.Frames > 1 {
		format += fmt.Sprintf(" (%d frames)", r.Frames)
	}
	return fmt.Sprintf("%d×%d\t%s\t%s", r.Width, r.Height, format, explain.Size(r.Bytes))
}

func imageText(r report.ImageRow) string {
	words := []string{explain.OneLine(r.URL)}
	for _, text := range []string{r.Alt, r.Caption} {
		if text != "" {
			words = append(words, strconv.Quote(command.Fit(explain.OneLine(text), maxImageText)))
		}
	}
	return strings.Join(words, "  ")
}

const maxImageText = 60

// ImageDoc is an image in JSON, with the names of the columns.
type ImageDoc struct {
	report.ImageRow

	SHA256    string            `json:"sha256_hash,omitempty"`
	Width     int               `json:"width,omitempty"`
	Height    int               `json:"height,omitempty"`
	Format    crawl.ImageFormat `json:"format,omitempty"`
	Bytes     int64             `json:"file_size_bytes,omitempty"`
	Frames    int               `json:"frames,omitempty"`
	PHash     string            `json:"phash,omitempty"`
	DHash     string            `json:"dhash,omitempty"`
	Flat      bool              `json:"low_detail,omitempty"`
	Undecoded string            `json:"undecoded_reason,omitempty"`
	crawl.ImageMeta
	// Distance and Images are set in results of a search by image.
	Distance *int  `json:"distance,omitempty"`
	Images   int64 `json:"images,omitempty"`
}

func imageDocOf(r report.ImageRow) ImageDoc {
	d := ImageDoc{
		ImageRow: r, SHA256: r.SHA256, Width: r.Width, Height: r.Height, Format: r.Format, Bytes: r.Bytes, Frames: r.Frames,
		Flat: r.Flat, Undecoded: r.Undecoded, ImageMeta: r.Meta,
	}
	if r.PHash != nil {
		d.PHash = r.PHash.String()
	}
	if r.DHash != nil {
		d.DHash = r.DHash.String()
	}
	return d
}

type imagesSimilarCmd struct {
	Image    string `arg:"" name:"file|url|sha" help:"An image file; the URL of an image, or the SHA-256 of its bytes; or a pHash of 16 hexadecimal digits."`
	Distance int    `default:"8" help:"Maximum number of the 64 bits of the hashes that differ, 0 to 8; 0 is the same picture. Default: 8." placeholder:"N"`
	Limit    int    `default:"100" help:"Maximum number of images. Default: 100." placeholder:"N"`
	JSON     bool   `name:"json" help:"Print one JSON object per image."`
}

func (c *imagesSimilarCmd) Run(ctx context.Context, e *command.Env) error {
	if c.Distance < 0 || c.Distance > report.ImageDistanceMax {
		return wiring.Usagef("--distance %d: want 0 to %d bits", c.Distance, report.ImageDistanceMax)
	}
	if err := command.CheckLimit(c.Limit); err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		to, err := c.content(ctx, store)
		if err != nil {
			return err
		}
		near, err := store.SimilarImages(ctx, to, c.Distance, c.Limit)
		if err != nil {
			return err
		}
		docs := make([]ImageDoc, len(near))
		for i, n := range near {
			docs[i] = imageDocOf(n.ImageRow)
			docs[i].Distance, docs[i].Images = &near[i].Distance, n.Images
		}
		none := fmt.Sprintf("No similar image: no hash differs from %s in %d bits or fewer.", to.PHash, c.Distance)
		return command.PrintTable(e, c.JSON, docs, none, "", func(d ImageDoc) string {
			line := fmt.Sprintf("%s\t%s\t%s", explain.Count(int64(*d.Distance), "bit"), imageFacts(d.ImageRow), imageText(d.ImageRow))
			if d.Images > 1 {
				line += fmt.Sprintf("  (and %s with the same bytes)", explain.Count(d.Images-1, "URL"))
			}
			return line
		})
	})
}

var shaDigits = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

func (c *imagesSimilarCmd) content(ctx context.Context, store *db.Store) (crawl.ImageContent, error) {
	if hash, err := crawl.ParseImageHash(c.Image); err == nil {
		return crawl.ImageContent{PHash: &hash}, nil
	}
	var known crawl.ImageContent
	var err error
	switch {
	case shaDigits.MatchString(c.Image):
		known, err = store.ImageHash(ctx, strings.ToLower(c.Image), "")
	case !urls.IsSchemeless(c.Image):
		known, err = contentByURL(ctx, store, c.Image)
	default:
		known, err = readPicture(ctx, c.Image)
		if name, isBadHash := urls.ReadPage(c.Image); isBadHash == nil && name.Page.IsRegistered() && errors.Is(err, fs.ErrNotExist) {
			known, err = contentByURL(ctx, store, c.Image)
		}
	}
	if err == nil && known.PHash == nil && known.Undecoded == "" {
		err = crawl.ErrNotFound // its publisher had it forgotten
	}
	switch {
	case errors.Is(err, crawl.ErrNotFound) && shaDigits.MatchString(c.Image):
		return known, fmt.Errorf("%s: no image with this SHA-256 was recorded: mosey images --json lists the recorded images", c.Image)
	case errors.Is(err, crawl.ErrNotFound):
		// Its request may have failed, or is still to come.
		subject := explain.OneLine(c.Image)
		return known, fmt.Errorf("%s: no image was recorded under this URL: mosey why %s explains it", subject, subject)
	case err != nil:
		return known, err
	case known.PHash == nil:
		return known, fmt.Errorf("%s has no hash: %s", explain.OneLine(c.Image), known.Undecoded)
	case known.Flat:
		return known, fmt.Errorf("%s has too little detail to be compared", explain.OneLine(c.Image))
	}
	return known, nil
}

func contentByURL(ctx context.Context, store *db.Store, text string) (known crawl.ImageContent, err error) {
	name, err := command.PageArgument(text)
	if err != nil {
		return known, err
	}
	u, err := explain.FindPage(ctx, store, name)
	if err != nil {
		return known, err
	}
	return store.ImageHash(ctx, "", u.String())
}

func readPicture(ctx context.Context, name string) (content crawl.ImageContent, err error) {
	file, err := os.Open(name)
	if err != nil {
		return content, wiring.Usagef("%w: want an image file, a URL, or a SHA-256 of 64 hexadecimal digits", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return content, fmt.Errorf("%s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return content, wiring.Usagef("%s: not a regular file: want an image file", name)
	}
	read, err := picture.New(picture.Limits{}).Read(ctx, file, info.Size(), picture.Options{})
	if err != nil {
		return content, wiring.Usagef("%s: %w", name, err)
	}
	return read.ImageContent, nil
}

type imagesDuplicatesCmd struct {
	Similar bool `help:"Show pictures that look the same and differ in their bytes, such as other sizes."`
	Limit   int  `default:"100" help:"Maximum number of images. Default: 100." placeholder:"N"`
	JSON    bool `name:"json" help:"Print one JSON object per picture."`
}

func (c *imagesDuplicatesCmd) Run(ctx context.Context, e *command.Env) error {
	if err := command.CheckLimit(c.Limit); err != nil {
		return err
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		copies, err := store.ImageCopies(ctx, c.Similar, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return command.PrintLines(e.Stdout, copies)
		}
		if len(copies) == 0 {
			fmt.Fprintln(e.Stderr, "No duplicate images.")
		}
		for _, i := range copies {
			description := "the same bytes, " + i.SHA256
			if c.Similar {
				description = fmt.Sprintf("%s of the same picture, %s", explain.Count(i.Contents, "file"), i.PHash)
			}
			fmt.Fprintf(e.Stdout, "%s: %s\n", explain.Count(i.Images, "URL"), description)
			for _, u := range i.URLs {
				fmt.Fprintf(e.Stdout, "  %s\n", explain.OneLine(u))
			}
		}
		return nil
	})
}
