package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// MaintainCmd repairs the leftovers of crashes.
type MaintainCmd struct {
	command.ImageStoreFlag

	OlderThan time.Duration `default:"24h" help:"Minimum age of an image to delete because nothing refers to it, or to mark as missing: 2h or more, because a worker may still record younger images." placeholder:"DURATION"`
	Force     bool          `help:"Repair even if most images have a problem, as in the store of another database."`
	DryRun    bool          `help:"Print the repairs, and change nothing."`
	JSON      bool          `name:"json" help:"Print one JSON object."`
}

// MaintainResult reports the findings.
type MaintainResult struct {
	// Objects counts all stored images and thumbnails, and Bytes their size. Orphans counts
	// unreferenced objects that are deleted, or would be in a dry run.
	Objects     int64 `json:"objects"`
	Bytes       int64 `json:"bytes"`
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"orphan_bytes"`
	// Leftovers counts files of processes killed while writing, and LeftoverBytes their size.
	Leftovers     int64 `json:"leftovers"`
	LeftoverBytes int64 `json:"leftover_bytes"`
	// Missing counts missing images.
	Missing int64 `json:"lost"`
	// Foreign counts foreign objects, which are left alone.
	Foreign int  `json:"foreign_objects,omitempty"`
	DryRun  bool `json:"dry_run,omitempty"`
}

// Run finds images in the store without a row, and rows without their images.
func (c *MaintainCmd) Run(ctx context.Context, e *command.Env) error {
	if minAge := imagestore.DeleteAgeMin; c.OlderThan < minAge {
		return wiring.Usagef("--older-than %s: want %s or more, because a worker may still record younger images", c.OlderThan, minAge)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		images, err := c.Open(ctx, e)
		if err != nil {
			return err
		}
		m := maintenance{MaintainCmd: c, store: store, images: images, view: command.NewProgressLine(e)}
		err = m.run(ctx)
		m.view.Clear()
		if err != nil {
			return fmt.Errorf("images in %s: %w", images, err)
		}
		m.found.DryRun = c.DryRun
		return command.PrintResult(e, c.JSON, m.found, func(w io.Writer, found MaintainResult) error {
			found.print(w, images)
			return nil
		})
	})
}

func (f MaintainResult) print(w io.Writer, images *imagestore.Store) {
	deleted, missingText := "deleted", "marked; crawls with --images store fetch them again"
	if f.DryRun {
		deleted, missingText = "to delete", "to mark"
	}
	fmt.Fprintf(w, "%s in %s, %s\n", explain.Count(f.Objects, "object"), images, explain.Size(f.Bytes))
	fmt.Fprintf(w, "%s unreferenced, %s: %s\n", explain.Count(f.Orphans, "object"), explain.Size(f.OrphanBytes), deleted)
	if f.Leftovers > 0 {
		fmt.Fprintf(w, "%s left by killed processes, %s: %s\n", explain.Count(f.Leftovers, "file"), explain.Size(f.LeftoverBytes), deleted)
	}
	fmt.Fprintf(w, "%s missing: %s\n", explain.Count(f.Missing, "image"), missingText)
	if f.Foreign > 0 {
		fmt.Fprintf(w, "%s not Mosey's: unchanged\n", explain.Count(int64(f.Foreign), "object"))
	}
}

const maintainBatch = 1000

type maintenance struct {
	*MaintainCmd

	store  *db.Store
	images *imagestore.Store
	view   *command.ProgressLine
	// startedAt is on the database's clock, which dates stored images; this machine's may be ahead.
	startedAt    time.Time
	found        MaintainResult
	unclassified []imagestore.Object
	// referenced counts referenced objects; orphans and leftovers are old enough to delete.
	referenced         int64
	orphans, leftovers []imagestore.Object
	// missing are the missing images.
	missing []string
}

func (m *maintenance) run(ctx context.Context) error {
	if err := m.scan(ctx); err != nil {
		return err
	}
	if err := m.checkOwnership(); err != nil || m.DryRun {
		return err
	}
	return m.repair(ctx)
}

// scan reads all objects and all expected images in the order of their hashes. It changes nothing.
func (m *maintenance) scan(ctx context.Context) (err error) {
	if m.startedAt, err = m.store.ImagesClock(ctx); err != nil {
		return err
	}
	expected := &expectedImages{store: m.store, before: m.startedAt.Add(-m.OlderThan)}
	m.found.Foreign, err = m.images.List(ctx, func(o imagestore.Object) error {
		if o.Leftover {
			if m.isOld(o) { // else it may be in writing
				m.found.Leftovers++
				m.found.LeftoverBytes += o.Bytes
				m.leftovers = append(m.leftovers, o)
			}
			return nil
		}
		m.found.Objects++
		m.found.Bytes += o.Bytes
		m.view.Show(func(time.Time) string { return explain.Count(m.found.Objects, "object") })
		if !o.Thumbnail {
			if err := expected.advanceTo(ctx, o.SHA256); err != nil {
				return err
			}
		}
		if m.unclassified = append(m.unclassified, o); len(m.unclassified) < maintainBatch {
			return nil
		}
		return m.classify(ctx)
	})
	if err == nil {
		err = m.classify(ctx)
	}
	if err == nil {
		err = expected.advanceTo(ctx, "")
	}
	m.missing = expected.missing
	m.found.Missing = int64(len(m.missing))
	return err
}

func (m *maintenance) isOld(o imagestore.Object) bool {
	return m.startedAt.Sub(o.Written) >= m.OlderThan
}

func (m *maintenance) classify(ctx context.Context) error {
	needed, err := m.neededBy(ctx, m.unclassified)
	if err != nil {
		return err
	}
	for _, o := range m.unclassified {
		switch {
		case needed[o.SHA256]:
			m.referenced++
		case m.isOld(o):
			m.found.Orphans++
			m.found.OrphanBytes += o.Bytes
			m.orphans = append(m.orphans, o)
		}
	}
	m.unclassified = m.unclassified[:0]
	return nil
}

func (m *maintenance) neededBy(ctx context.Context, objects []imagestore.Object) (map[string]bool, error) {
	named, err := m.store.StoredImages(ctx, hashesOf(objects))
	needed := make(map[string]bool, len(named))
	for _, sha := range named {
		needed[sha] = true
	}
	return needed, err
}

func hashesOf(objects []imagestore.Object) []string {
	hashes := make([]string, len(objects))
	for i, o := range objects {
		hashes[i] = o.SHA256
	}
	return hashes
}

// minDoubtfulFaults is the least number of faults that makes a store seem foreign, if they
// outnumber the right objects.
const minDoubtfulFaults = 10

// checkOwnership returns an error if the store seems to belong to another database.
func (m *maintenance) checkOwnership() error {
	faulty, description := m.found.Missing, explain.Count(m.found.Missing, "image")+" are missing"
	if m.found.Orphans > faulty {
		faulty, description = m.found.Orphans, explain.Count(m.found.Orphans, "object")+" are unreferenced"
	}
	if faulty < minDoubtfulFaults || faulty <= m.referenced || m.Force {
		return nil
	}
	return fmt.Errorf("%s, and only %d are correct: is this the store that the workers of this database write to "+
		"(--image-store)? If it is, --force repairs it", description, m.referenced)
}

func (m *maintenance) repair(ctx context.Context) error {
	m.found.Orphans, m.found.OrphanBytes = 0, 0
	for batch := range slices.Chunk(m.orphans, maintainBatch) {
		if err := m.deleteOrphans(ctx, batch); err != nil {
			return err
		}
	}
	var err error
	if m.found.Leftovers, m.found.LeftoverBytes, err = m.delete(ctx, m.leftovers); err != nil {
		return err
	}
	for batch := range slices.Chunk(m.missing, maintainBatch) {
		if err := m.store.MarkImagesLost(ctx, batch, false); err != nil {
			return err
		}
	}
	return nil
}

// deleteOrphans deletes the objects that are still orphans, because workers may need them since.
func (m *maintenance) deleteOrphans(ctx context.Context, batch []imagestore.Object) error {
	// A worker that needs one from now on stores it, so that it is young and Delete skips it.
	if err := m.store.MarkUnusedImagesLost(ctx, hashesOf(batch)); err != nil {
		return err
	}
	needed, err := m.neededBy(ctx, batch)
	if err != nil {
		return err
	}
	batch = slices.DeleteFunc(batch, func(o imagestore.Object) bool { return needed[o.SHA256] })
	deleted, bytes, err := m.delete(ctx, batch)
	m.found.Orphans += deleted
	m.found.OrphanBytes += bytes
	return errors.Join(err, m.markMissing(ctx, hashesOf(batch)))
}

// markMissing marks missing images of the deleted objects, if a worker has recorded them meanwhile.
func (m *maintenance) markMissing(ctx context.Context, hashes []string) error {
	missing, err := command.MarkMissingImages(ctx, m.store, m.images, hashes)
	m.found.Missing += missing
	return err
}

// delete deletes objects not rewritten since, and counts them.
func (m *maintenance) delete(ctx context.Context, objects []imagestore.Object) (deleted, bytes int64, err error) {
	for _, o := range objects {
		wasDeleted, err := m.images.Delete(ctx, o)
		if err != nil {
			return deleted, bytes, err
		}
		if wasDeleted {
			deleted++
			bytes += o.Bytes
		}
	}
	return deleted, bytes, nil
}

// expectedImages iterates over images stored before an instant, ordered by hash.
type expectedImages struct {
	store   *db.Store
	before  time.Time
	batch   []string
	last    string
	ended   bool
	missing []string
}

// advanceTo marks as missing the images before hash, which is in the store; an empty hash means all
// others.
func (x *expectedImages) advanceTo(ctx context.Context, hash string) error {
	for {
		if len(x.batch) == 0 && !x.ended {
			var err error
			if x.batch, err = x.store.StoredImagesAfter(ctx, x.last, x.before, maintainBatch); err != nil {
				return err
			}
			x.ended = len(x.batch) == 0
		}
		if len(x.batch) == 0 || hash != "" && x.batch[0] > hash {
			return nil
		}
		x.last = x.batch[0]
		x.batch = x.batch[1:]
		if x.last == hash {
			return nil
		}
		x.missing = append(x.missing, x.last)
	}
}
