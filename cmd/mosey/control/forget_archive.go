package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/explain"
)

// archivedResponses are the archived responses of pages. They are erased file by file, because a
// file in a bucket is downloaded and stored again.
type archivedResponses struct {
	store *db.Store
	// from is nil without --archive.
	from archive.Place
	// found has the responses by their files, and left says why some are left.
	found map[string][]db.ArchivedRecord
	left  error
}

// add finds the responses of pages.
func (a *archivedResponses) add(ctx context.Context, pages []int64) error {
	rows, err := a.store.ArchivedOf(ctx, pages)
	for _, r := range rows {
		file := r.File
		r.Archived = crawl.Archived{Offset: r.Offset, Length: r.Length} // the rest would need memory
		a.found[file] = append(a.found[file], r)
	}
	return err
}

// erase erases the found responses, and returns their number. It calls onFile before each file.
func (a *archivedResponses) erase(ctx context.Context, onFile func(done int)) (erased int64, err error) {
	a.left = nil
	for i, file := range slices.Sorted(maps.Keys(a.found)) {
		onFile(i)
		rows := a.found[file]
		records, ids := make([]crawl.Archived, len(rows)), make([]int64, len(rows))
		for j, r := range rows {
			records[j], ids[j] = r.Archived, r.ID
		}
		err := archive.Erase(ctx, a.from, file, records)
		if errors.Is(err, crawl.ErrNotFound) {
			a.left = fmt.Errorf("%s of it not erased: %w: give the command again later", explain.Count(int64(len(rows)), "archived response"), err)
			continue
		}
		if err == nil {
			err = a.store.MarkErased(ctx, ids)
		}
		if err != nil {
			return erased, err
		}
		erased += int64(len(rows))
	}
	return erased, nil
}

// eraseArchived erases the responses that a pass has found.
func (f *eraser) eraseArchived(ctx context.Context) (erased int64, err error) {
	switch files := len(f.responses.found); {
	case files == 0:
		f.responses.left = nil
		return 0, nil
	case f.responses.from == nil:
		f.responses.left = errors.New("its responses are still in the archive: give the command again with the workers' --archive")
		return 0, nil
	default:
		free, err := f.store.WithArchiveLock(ctx, func() error {
			erased, err = f.responses.erase(ctx, func(done int) {
				f.view.Show(func(time.Time) string {
					return fmt.Sprintf("%d of %s of the archive checked", done, explain.Count(int64(files), "file"))
				})
			})
			return err
		})
		if err == nil && !free {
			err = errors.New("another command erases archived responses: give the command again later")
		}
		return erased, err
	}
}
