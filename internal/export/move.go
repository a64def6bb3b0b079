package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/mosey-web/mosey/crawl/report"
)

// rowsPerDelete is the number of rows that one transaction deletes, in milliseconds, so that crawls
// do not wait long for its locks.
const rowsPerDelete = 500

// MoveStore deletes exported crawls.
type MoveStore interface {
	// BeginMoving records that crawls completed before an instant may be deleted.
	BeginMoving(ctx context.Context, before time.Time) error
	// MoveCrawls deletes at most rowsPerDelete crawls and returns the number of existing ones.
	MoveCrawls(ctx context.Context, crawls []report.MovedCrawl) (int64, error)
}

// Move writes Parquet files of crawls like ToDir, and then deletes the rows. Filter.Movable must be
// set. It deletes the rows of a file only after reading the file back. It resumes a stopped or
// killed call: no row is lost and no row is in two files.
func (e *Export) Move(ctx context.Context, dir string, rowsPerFile int64, store MoveStore) (Progress, error) {
	err := e.withLockedDir(dir, func(m *manifest) error {
		if !m.Complete {
			if err := e.toDir(ctx, dir, rowsPerFile, m); err != nil {
				return err
			}
		}
		if err := store.BeginMoving(ctx, m.Filter.Before); err != nil {
			return err
		}
		for i := range m.Files {
			if m.Files[i].Moved {
				continue
			}
			if err := e.moveFile(ctx, dir, &m.Files[i], store); err != nil {
				return err
			}
			m.Files[i].Moved = true
			if err := m.save(dir); err != nil {
				return err
			}
		}
		return nil
	})
	return e.progress, err
}

// moveFile reads a whole file, and then again to delete its rows.
func (e *Export) moveFile(ctx context.Context, dir string, f *file, store MoveStore) error {
	path := filepath.Join(dir, f.Name)
	var rows int64
	err := readMoved(path, f.Bytes, func(crawls []report.MovedCrawl) error {
		rows += int64(len(crawls))
		return ctx.Err()
	})
	if err == nil && rows != f.Rows {
		err = fmt.Errorf("it has %d rows instead of %d", rows, f.Rows)
	}
	if err != nil {
		return fmt.Errorf("read back %s: %w", path, err)
	}
	return readMoved(path, f.Bytes, func(crawls []report.MovedCrawl) error {
		n, err := store.MoveCrawls(ctx, crawls)
		e.progress.Moved += n
		if e.OnProgress != nil {
			e.OnProgress(e.progress)
		}
		return err
	})
}

// readMoved reads all columns of a file, whose pages have checksums, and passes do batches of
// crawls.
func readMoved(path string, size int64, do func([]report.MovedCrawl) error) (err error) {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	if info, err := in.Stat(); err != nil || info.Size() != size {
		return errors.Join(err, errors.New("its size differs from the size written"))
	}
	p, err := parquet.OpenFile(in, size)
	if err != nil {
		return err
	}
	id, ok := p.Schema().Lookup("id")
	completedColumn, ok2 := p.Schema().Lookup("completed_at")
	if !ok || !ok2 {
		return errors.New("it has no attempts")
	}
	rows := make([]parquet.Row, rowsPerDelete)
	for _, group := range p.RowGroups() {
		if err := readGroup(group, rows, id.ColumnIndex, completedColumn.ColumnIndex, do); err != nil {
			return err
		}
	}
	return nil
}

func readGroup(group parquet.RowGroup, rows []parquet.Row, id, completedColumn int, do func([]report.MovedCrawl) error) (err error) {
	from := group.Rows()
	defer func() { err = errors.Join(err, from.Close()) }()
	for {
		n, err := from.ReadRows(rows)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		crawls := make([]report.MovedCrawl, n)
		for i, row := range rows[:n] {
			crawls[i] = report.MovedCrawl{ID: row[id].Int64(), CompletedAt: time.UnixMicro(row[completedColumn].Int64())}
		}
		if n > 0 {
			if err := do(crawls); err != nil {
				return err
			}
		}
		if err != nil {
			return nil // the end
		}
	}
}
