package archive

import (
	"archive/zip"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"
)

// resource is a file in a datapackage.json.
type resource struct {
	Name  string `json:"name"`
	Path  string `json:"path"`
	Hash  string `json:"hash"`
	Bytes int64  `json:"bytes"`
}

// pack writes a WACZ file.
type pack struct {
	zip       *zip.Writer
	resources []resource
}

// WriteWACZ writes the archive of a run as a WACZ file (WACZ 1.1.1), for replay in a browser: the
// WARC files, their index and the list of pages. It returns the number of responses. title and
// software describe it.
func WriteWACZ(
	ctx context.Context, from Place, index Index, runID *int64, title, software string, w io.Writer,
) (responses int, err error) {
	p := &pack{zip: zip.NewWriter(w)}
	files := map[string]bool{}
	err = p.add("indexes/index.cdxj", zip.Deflate, func(w io.Writer) error {
		return Each(ctx, index, runID, func(r Response) error {
			responses++
			files[r.Archived.File] = true
			return writeLine(w, r)
		})
	})
	if err != nil {
		return responses, err
	}
	err = p.add("pages/pages.jsonl", zip.Deflate, func(w io.Writer) error { return writePages(ctx, index, runID, w) })
	if err != nil {
		return responses, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return responses, err
		}
		if err := p.add("archive/"+name, zip.Store, func(w io.Writer) error { return copyFile(ctx, from, name, w) }); err != nil {
			return responses, err
		}
	}
	return responses, p.close(title, software)
}

// add adds a file that fn writes.
func (p *pack) add(name string, method uint16, fn func(io.Writer) error) error {
	entry, err := p.zip.CreateHeader(&zip.FileHeader{Name: name, Method: method, Modified: time.Now()})
	if err != nil {
		return err
	}
	sum := sha256.New()
	counter := &countingWriter{out: io.MultiWriter(entry, sum)}
	buffered := bufio.NewWriter(counter)
	if err := fn(buffered); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	p.resources = append(p.resources, resource{
		Name: path.Base(name), Path: name, Hash: digestPrefix + hex.EncodeToString(sum.Sum(nil)), Bytes: counter.n,
	})
	return nil
}

// close writes the description of the files, and its digest.
func (p *pack) close(title, software string) error {
	description, err := json.MarshalIndent(map[string]any{
		"profile": "data-package", "wacz_version": "1.1.1", "title": title, "software": software,
		"created": time.Now().UTC().Format(time.RFC3339), "resources": p.resources,
	}, "", "  ")
	if err != nil {
		return err
	}
	err = p.add("datapackage.json", zip.Deflate, func(w io.Writer) error {
		_, err := w.Write(description)
		return err
	})
	if err != nil {
		return err
	}
	digest := map[string]string{"path": "datapackage.json", "hash": p.resources[len(p.resources)-1].Hash}
	if err := p.add("datapackage-digest.json", zip.Deflate, func(w io.Writer) error { return json.NewEncoder(w).Encode(digest) }); err != nil {
		return err
	}
	return p.zip.Close()
}

// writePages writes the list of pages (json-pages-1.0).
func writePages(ctx context.Context, index Index, runID *int64, w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(map[string]string{"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}); err != nil {
		return err
	}
	return Each(ctx, index, runID, func(r Response) error {
		if !r.isPage() {
			return nil
		}
		return out.Encode(map[string]string{"url": r.URL, "ts": timestamp(r.Archived.At), "title": r.Title})
	})
}

// copyFile copies the complete records of a WARC file.
func copyFile(ctx context.Context, from Place, name string, w io.Writer) error {
	if err := checkName(name); err != nil {
		return err
	}
	f, err := from.open(ctx, name, 0, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	_, err = io.Copy(w, f)
	return err
}
