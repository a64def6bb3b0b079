package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/picture"
)

// imagesSheetCmd writes a contact sheet.
type imagesSheetCmd struct {
	imageFilter
	imageStoreFlag

	Out string `required:"" help:"The page to write, which holds the pictures itself." placeholder:"FILE.html"`
}

// sheetMost caps how many images are on a sheet: each takes some kilobytes.
const sheetMost = 5000

//go:embed images_sheet.html
var sheetText string

var sheetPage = template.Must(template.New("sheet").Parse(sheetText))

// sheet is what the page shows.
type sheet struct {
	Made   string
	Title  string
	Images []sheetImage
}

// sheetImage is one picture of a sheet. Picture is empty where none is kept.
type sheetImage struct {
	Picture template.URL
	URL     string
	Source  string
	Facts   string
	Words   string
}

// Run writes the sheet.
func (c *imagesSheetCmd) Run(ctx context.Context, e *env) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	if c.Limit > sheetMost {
		return wiring.Usagef("--limit %d: want 1 to %d on one sheet", c.Limit, sheetMost)
	}
	return withStore(ctx, e, func(store *db.Store) error {
		rows, err := store.Images(ctx, f)
		if err != nil {
			return err
		}
		return c.withImages(ctx, e, func(images *imagestore.Store) error {
			s := sheet{Made: time.Now().Format(time.DateTime), Title: count(int64(len(rows)), "image")}
			if f.Domain != "" {
				s.Title += " of " + f.Domain
			}
			pictures, kept := sheetPictures{images: images, reader: picture.New(picture.Limits{})}, 0
			view := newProgressLine(e)
			for _, r := range rows {
				i := sheetImage{
					URL: r.URL, Source: r.Source, Words: oneLine(cmp.Or(r.Alt, r.Caption)),
					Facts: fmt.Sprintf("%d×%d %s, %s", r.Width, r.Height, r.Format, size(r.Bytes)),
				}
				if i.Picture, err = pictures.of(ctx, r); err != nil {
					return err
				}
				if i.Picture != "" {
					kept++
				}
				s.Images = append(s.Images, i)
				view.show(func(time.Time) string { return fmt.Sprintf("%d of %d", len(s.Images), len(rows)) })
			}
			view.clear()
			if err := writeSheet(c.Out, s); err != nil {
				return err
			}
			fmt.Fprintf(e.stderr, "%s: %s, %d of them with a picture.\n", c.Out, count(int64(len(rows)), "image"), kept)
			if kept < len(rows) {
				fmt.Fprintln(e.stderr, "Pictures are kept by crawls with --thumbnails or --images store.")
			}
			return nil
		})
	})
}

// writeSheet writes a sheet to a file, whole or not at all.
func writeSheet(name string, s sheet) error {
	var page bytes.Buffer
	if err := sheetPage.Execute(&page, s); err != nil {
		return fmt.Errorf("make the sheet: %w", err)
	}
	part := name + ".part"
	if err := os.WriteFile(part, page.Bytes(), 0o600); err != nil {
		return wiring.Usagef("--out %s: %w; name a file in a directory that can be written to", name, err)
	}
	if err := os.Rename(part, name); err != nil {
		return wiring.Usagef("--out %s: %w; name a file", name, errors.Join(err, os.Remove(part)))
	}
	return nil
}

// sheetPictures finds the small pictures of images.
type sheetPictures struct {
	images *imagestore.Store
	reader *picture.Reader
}

// of is the picture of an image as a data: URL; empty where none is kept.
func (p sheetPictures) of(ctx context.Context, r crawl.ImageRow) (template.URL, error) {
	jpeg, err := p.thumbnail(ctx, r)
	if err != nil || len(jpeg) == 0 {
		return "", err
	}
	// It is a JPEG of our own making.
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(jpeg)), nil //nolint:gosec // see above
}

func (p sheetPictures) thumbnail(ctx context.Context, r crawl.ImageRow) ([]byte, error) {
	if !r.ThumbnailAt.IsZero() {
		body, err := readAll(p.images.Thumbnail(ctx, r.SHA256))
		if !errors.Is(err, crawl.ErrNotFound) {
			return body, err
		}
	}
	if r.StoredAt.IsZero() {
		return nil, nil
	}
	body, err := readAll(p.images.Get(ctx, r.SHA256))
	if errors.Is(err, crawl.ErrNotFound) {
		return nil, nil // mosey maintain notes that it is lost
	}
	if err != nil {
		return nil, err
	}
	read, err := p.reader.Read(ctx, bytes.NewReader(body), int64(len(body)), picture.Options{Thumbnail: true})
	if err != nil {
		return nil, nil //nolint:nilerr // it was read once; a later Mosey may refuse it
	}
	return read.Thumbnail, nil
}

func readAll(from io.ReadCloser, _ int64, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(from)
	return body, errors.Join(err, from.Close())
}
