package images

import (
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
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// imagesSheetCmd writes a contact sheet.
type imagesSheetCmd struct {
	imageFilter
	command.ImageStoreFlag

	Out string `required:"" help:"The page to write, which holds the pictures itself." placeholder:"FILE.html"`
}

// sheetMost caps how many images are on a sheet: each takes some kilobytes.
const sheetMost = 5000

//go:embed sheet.html
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
func (c *imagesSheetCmd) Run(ctx context.Context, e *command.Env) error {
	f, err := c.filter()
	if err != nil {
		return err
	}
	if c.Limit > sheetMost {
		return wiring.Usagef("--limit %d: want 1 to %d on one sheet", c.Limit, sheetMost)
	}
	out, err := newSheetFile(c.Out) // first of all: to read the pictures takes a while
	if err != nil {
		return err
	}
	defer out.discard()
	return command.WithReader(ctx, e, func(store *db.Store) error {
		rows, err := store.Images(ctx, f)
		if err != nil {
			return err
		}
		s := sheet{Made: time.Now().Format(time.DateTime), Title: explain.Count(int64(len(rows)), "image")}
		if f.Domain != "" {
			s.Title += " of " + f.Domain
		}
		var pictures sheetPictures
		err = c.WithImages(ctx, e, func(images *imagestore.Store) (err error) {
			pictures.pictures = command.NewPictures(func(context.Context) (*imagestore.Store, error) { return images, nil })
			s.Images, err = pictures.all(ctx, e, rows)
			return err
		})
		if err == nil {
			err = out.write(s)
		}
		if err == nil {
			pictures.report(e.Stderr, c.Out, len(rows))
		}
		return err
	})
}

// sheetFile is a sheet that is being made, beside its place.
type sheetFile struct {
	*os.File

	name string
}

func newSheetFile(name string) (*sheetFile, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, wiring.Usagef("--out %s: it is a directory; name a file", name)
	}
	part, err := os.OpenFile(name+".part", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, wiring.Usagef("--out %s: %w; name a file in a directory that can be written to", name, err)
	}
	return &sheetFile{File: part, name: name}, nil
}

// write writes the sheet and puts it in its place.
func (f *sheetFile) write(s sheet) error {
	err := errors.Join(sheetPage.Execute(f, s), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), f.name)
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", f.name, err)
	}
	return nil
}

// discard removes what is not in its place.
func (f *sheetFile) discard() {
	_ = f.Close()
	_ = os.Remove(f.Name()) // which is not there any more where all went well
}

// sheetPictures finds the small pictures of images.
type sheetPictures struct {
	pictures *command.Pictures
	// kept counts those that were found.
	kept int
	// damaged counts images whose stored bytes are wrong; example names one.
	damaged int64
	example string
}

// all are images as they are on the sheet.
func (p *sheetPictures) all(ctx context.Context, e *command.Env, rows []report.ImageRow) ([]sheetImage, error) {
	view := command.NewProgressLine(e)
	defer view.Clear()
	shown := make([]sheetImage, len(rows))
	for n, r := range rows {
		view.Show(func(time.Time) string { return fmt.Sprintf("%d of %d", n, len(rows)) })
		shown[n] = sheetImage{
			URL: r.URL, Source: r.Source, Words: explain.OneLine(cmp.Or(r.Alt, r.Caption)),
			Facts: fmt.Sprintf("%d×%d %s, %s", r.Width, r.Height, r.Format, explain.Size(r.Bytes)),
		}
		var err error
		if shown[n].Picture, err = p.of(ctx, r); err != nil {
			return nil, err
		}
		if shown[n].Picture != "" {
			p.kept++
		}
	}
	return shown, nil
}

// report says what is on the sheet.
func (p *sheetPictures) report(w io.Writer, name string, rows int) {
	fmt.Fprintf(w, "%s: %s, %d of them with a picture.\n", name, explain.Count(int64(rows), "image"), p.kept)
	if p.damaged > 0 {
		are := map[bool]string{true: "is", false: "are"}[p.damaged == 1]
		fmt.Fprintf(w, "%s %s damaged in the store, as %s: once such an object is deleted, mosey maintain has the image fetched again.\n",
			explain.Count(p.damaged, "image"), are, p.example)
	}
	if p.kept+int(p.damaged) < rows {
		fmt.Fprintln(w, "Pictures are kept by crawls with --set thumbnails=on or --images store.")
	}
}

// of is the picture of an image as a data: URL; empty where none is kept.
func (p *sheetPictures) of(ctx context.Context, r report.ImageRow) (template.URL, error) {
	jpeg, err := p.thumbnail(ctx, r)
	if err != nil || len(jpeg) == 0 {
		return "", err
	}
	// It is a JPEG of our own making.
	return template.URL("data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(jpeg)), nil //nolint:gosec // see above
}

func (p *sheetPictures) thumbnail(ctx context.Context, r report.ImageRow) ([]byte, error) {
	jpeg, err := p.pictures.Thumbnail(ctx, r)
	if errors.Is(err, imagestore.ErrCorrupt) {
		p.damaged++
		p.example = r.SHA256
		return nil, nil
	}
	return jpeg, err
}
