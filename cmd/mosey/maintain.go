package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// maintainCmd sets right what crashes leave behind.
type maintainCmd struct {
	imageStoreFlag

	OlderThan time.Duration `default:"24h" help:"Age from which an image in the store that nothing refers to is deleted: younger ones may just be being recorded." placeholder:"DURATION"`
	Force     bool          `help:"Set right what is wrong even where most of it is, as in the store of another database."`
	DryRun    bool          `help:"Say what there is to do, and do nothing."`
	JSON      bool          `name:"json" help:"Print one JSON object."`
}

// maintained is what was found.
type maintained struct {
	// Objects are all images in the store, of so many Bytes, Thumbnails included; Orphans are
	// those of them that nothing refers to.
	Objects     int64 `json:"objects"`
	Bytes       int64 `json:"bytes"`
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"orphan_bytes"`
	// Lost are images that should be there and are not.
	Lost int64 `json:"lost"`
	// Others are objects that are not Mosey's, which are left alone.
	Others int  `json:"others,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// orphanAgeLeast is the least --older-than: a request, and its record, take less.
const orphanAgeLeast = 10 * time.Minute

// maintainBatch is how many images are looked up at a time.
const maintainBatch = 1000

// Run finds images in the store that no row refers to, and rows of images that are not
// there.
func (c *maintainCmd) Run(ctx context.Context, e *env) error {
	if c.OlderThan < orphanAgeLeast {
		return wiring.Usagef("--older-than %s: want %s or more: younger images may just be being recorded", c.OlderThan, orphanAgeLeast)
	}
	return withStore(ctx, e, func(store *db.Store) error {
		return c.withImages(ctx, e, func(images *imagestore.Store) error {
			m := maintenance{maintainCmd: c, store: store, images: images, view: newProgressLine(e), began: time.Now()}
			m.found.DryRun = c.DryRun
			err := m.run(ctx)
			m.view.clear()
			if err != nil {
				return err
			}
			if c.JSON {
				return printJSON(e.stdout, m.found)
			}
			f := m.found
			fmt.Fprintf(e.stdout, "%s in %s, %s\n", count(f.Objects, "object"), images, size(f.Bytes))
			done := map[bool]string{true: "to delete", false: "deleted"}[c.DryRun]
			fmt.Fprintf(e.stdout, "%s that nothing refers to, %s: %s\n", count(f.Orphans, "object"), size(f.OrphanBytes), done)
			fmt.Fprintf(e.stdout, "%s missing: %s\n", count(f.Lost, "image"),
				map[bool]string{true: "to be noted", false: "noted; crawls with --images store fetch them again"}[c.DryRun])
			if f.Others > 0 {
				fmt.Fprintf(e.stdout, "%s not Mosey's: left alone\n", count(int64(f.Others), "object"))
			}
			return nil
		})
	})
}

// maintenance is one run of the command.
type maintenance struct {
	*maintainCmd

	store  *db.Store
	images *imagestore.Store
	view   *progressLine
	began  time.Time
	found  maintained
	// waiting are objects to look up.
	waiting []imagestore.Object
	// orphans are those that nothing refers to, each by its SHA-256.
	orphans []string
}

// run looks at all objects, and at all images that should be among them, both in the order
// of their hashes. Nothing is changed before all was looked at.
func (m *maintenance) run(ctx context.Context) error {
	expected := &expectedImages{store: m.store, before: m.began}
	var err error
	m.found.Others, err = m.images.List(ctx, func(o imagestore.Object) error {
		m.found.Objects++
		m.found.Bytes += o.Bytes
		m.view.show(func(time.Time) string { return count(m.found.Objects, "object") })
		if !o.Thumbnail {
			if err := expected.upto(ctx, o.SHA256); err != nil {
				return err
			}
		}
		if m.waiting = append(m.waiting, o); len(m.waiting) < maintainBatch {
			return nil
		}
		return m.lookUp(ctx)
	})
	if err == nil {
		err = m.lookUp(ctx)
	}
	if err == nil {
		err = expected.upto(ctx, "")
	}
	if err != nil {
		return err
	}
	m.found.Lost = int64(len(expected.missing))
	if err := m.doubt(expected.seen); err != nil || m.DryRun {
		return err
	}
	return m.setRight(ctx, expected.missing)
}

// lookUp finds those of the objects that wait to which nothing refers.
func (m *maintenance) lookUp(ctx context.Context) error {
	var old []imagestore.Object
	var hashes []string
	for _, o := range m.waiting {
		if m.began.Sub(o.Written) >= m.OlderThan {
			old, hashes = append(old, o), append(hashes, o.SHA256)
		}
	}
	m.waiting = m.waiting[:0]
	if len(old) == 0 {
		return nil
	}
	named, err := m.store.StoredImages(ctx, hashes)
	if err != nil {
		return err
	}
	for _, o := range old {
		if !slices.Contains(named, o.SHA256) {
			m.found.Orphans++
			m.found.OrphanBytes += o.Bytes
			m.orphans = append(m.orphans, o.SHA256)
		}
	}
	return nil
}

// doubtLeast is how many images have to be missing, or to be referred to by nothing, and
// more than are there and referred to, for the store to be taken for another's.
const doubtLeast = 10

// doubt refuses to set right what looks like the store of another database.
func (m *maintenance) doubt(right int64) error {
	wrong, what := m.found.Lost, "missing"
	if m.found.Orphans > wrong {
		wrong, what = m.found.Orphans, "referred to by nothing"
	}
	if wrong < doubtLeast || wrong <= right || m.Force {
		return nil
	}
	return fmt.Errorf("%s are %s, and %d are as they should be: is this the store that the workers of this database write to "+
		"(--image-store)? If it is, --force sets right what is wrong", count(wrong, "image"), what, right)
}

// setRight deletes what nothing refers to, and notes what is lost.
func (m *maintenance) setRight(ctx context.Context, lost []string) error {
	for batch := range slices.Chunk(m.orphans, maintainBatch) {
		for _, sha := range batch {
			if err := m.images.Delete(ctx, sha); err != nil {
				return err
			}
		}
		// A worker may have come to store one of them in these moments.
		named, err := m.store.StoredImages(ctx, batch)
		if err != nil {
			return err
		}
		lost = append(lost, named...)
	}
	for batch := range slices.Chunk(lost, maintainBatch) {
		if err := m.store.LoseImages(ctx, batch, false); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(m.orphans, maintainBatch) {
		if err := m.store.LoseImages(ctx, batch, true); err != nil {
			return err
		}
	}
	return nil
}

// expectedImages are the images that should be in the store since before an instant, in the
// order of their hashes.
type expectedImages struct {
	store  *db.Store
	before time.Time
	batch  []string
	last   string
	ended  bool
	// seen counts those that are there, missing are the others.
	seen    int64
	missing []string
}

// upto takes all that come before one that is in the store for missing; before the end
// where that is empty.
func (x *expectedImages) upto(ctx context.Context, there string) error {
	for {
		if len(x.batch) == 0 && !x.ended {
			var err error
			if x.batch, err = x.store.StoredImagesAfter(ctx, x.last, x.before, maintainBatch); err != nil {
				return err
			}
			x.ended = len(x.batch) == 0
		}
		if len(x.batch) == 0 || there != "" && x.batch[0] > there {
			return nil
		}
		x.last = x.batch[0]
		x.batch = x.batch[1:]
		if x.last == there {
			x.seen++
			return nil
		}
		x.missing = append(x.missing, x.last)
	}
}
