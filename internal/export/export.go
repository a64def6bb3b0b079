package export

import (
	"cmp"
	"context"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/mosey-web/mosey/crawl/report"
)

// Export describes the rows to write.
type Export struct {
	Store  Store
	Kind   Table
	Format Format
	Filter report.ExportFilter
	// FilterArgs is the operator's filter, for instance --since as 30d. Only the same filter can
	// resume an export.
	FilterArgs map[string]string
	Force      bool           // replaces existing files
	OnProgress func(Progress) // called after each batch, if it is set

	progress Progress
}

// Progress counts the output of this call. Before counts that of earlier calls to a directory.
type Progress struct {
	Rows   int64
	Bytes  int64
	Files  int
	Moved  int64 // deleted rows
	Before Written
}

// Written counts the content of complete files.
type Written struct {
	Rows  int64
	Files int
}

// ToWriter writes all rows to w. It returns an error if w is a closed pipe.
func (e *Export) ToWriter(ctx context.Context, w io.Writer) (Progress, error) {
	enc, err := e.Format.encoder(&countingWriter{out: w, bytes: &e.progress.Bytes}, e.Kind.Columns())
	if err != nil {
		return e.progress, err
	}
	err = e.eachBatch(ctx, e.Filter, key{}, func(b batch) error {
		if err := b.each(enc.write); err != nil {
			return err
		}
		e.reportBatch(b)
		return enc.flush()
	})
	if err == nil {
		err = enc.close()
	}
	return e.progress, err
}

func (e *Export) reportBatch(b batch) {
	e.progress.Rows += int64(b.rows)
	if e.OnProgress != nil {
		e.OnProgress(e.progress)
	}
}

type countingWriter struct {
	out   io.Writer
	bytes *int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.out.Write(p)
	*c.bytes += int64(n)
	return n, err
}

// eachBatch calls do with each batch while it reads the next one, until ctx ends: then it returns
// the error of ctx.
func (e *Export) eachBatch(ctx context.Context, f filter, after key, do func(batch) error) error {
	read := e.Kind.source().read
	b, err := read(ctx, e.Store, f, after)
	for err == nil && b.next != after && ctx.Err() == nil {
		after = b.next
		var next batch
		group, groupCtx := errgroup.WithContext(ctx)
		group.Go(func() (err error) {
			next, err = read(groupCtx, e.Store, f, after)
			return err
		})
		group.Go(func() error { return do(b) })
		err = group.Wait()
		b = next
	}
	return cmp.Or(ctx.Err(), err)
}

// Table is a kind of rows to export.
type Table string

// All tables.
const (
	Pages      Table = "pages"
	Links      Table = "links"
	Crawls     Table = "crawls"
	Domains    Table = "domains"
	Images     Table = "images"
	Provenance Table = "provenance"
)

// tableSources lists each table once, with the source of its rows.
var tableSources = []struct {
	table  Table
	source source
}{
	{Pages, sourceOf(pageColumns(), readPages)},
	{Links, sourceOf(linkColumns(), func(s Store) reader[report.LinkRow] { return s.ExportLinks })},
	{Crawls, sourceOf(crawlColumns(), func(s Store) reader[report.CrawlRow] { return s.ExportCrawls })},
	{Domains, sourceOf(domainColumns(), func(s Store) reader[report.DomainRow] { return s.ExportDomains })},
	{Images, sourceOf(imageColumns(), func(s Store) reader[report.ImageRow] { return s.ExportImages })},
	{Provenance, sourceOf(provenanceColumns(), func(s Store) reader[report.ProvenanceRow] { return s.ExportProvenance })},
}

// Tables lists the tables.
func Tables() []Table {
	tables := make([]Table, len(tableSources))
	for i, d := range tableSources {
		tables[i] = d.table
	}
	return tables
}

type (
	filter = report.ExportFilter
	key    = report.ExportKey
)

// Store reads the batch of rows after a key, which may be empty, and the next key. next equals
// after at the end.
type Store interface {
	ExportPages(ctx context.Context, f filter, after key) (pages []report.PageRow, next key, err error)
	ExportLinks(ctx context.Context, f filter, after key) (links []report.LinkRow, next key, err error)
	ExportCrawls(ctx context.Context, f filter, after key) (crawls []report.CrawlRow, next key, err error)
	ExportDomains(ctx context.Context, f filter, after key) (domains []report.DomainRow, next key, err error)
	ExportImages(ctx context.Context, f filter, after key) (images []report.ImageRow, next key, err error)
	ExportProvenance(ctx context.Context, f filter, after key) (rows []report.ProvenanceRow, next key, err error)
}

// Columns returns the columns of a table, in their order.
func (k Table) Columns() []Column { return k.source().columns }

type source struct {
	columns []Column
	read    func(context.Context, Store, filter, key) (batch, error)
}

type batch struct {
	rows int
	next key
	// each passes on the rows one after another, in the same memory.
	each func(write func([]value) error) error
}

func (k Table) source() source {
	for _, d := range tableSources {
		if d.table == k {
			return d.source
		}
	}
	return source{}
}

type reader[R any] = func(context.Context, filter, key) ([]R, key, error)

func sourceOf[R any](columns []column[R], from func(Store) reader[R]) source {
	s := source{columns: declared(columns)}
	s.read = func(ctx context.Context, store Store, f filter, after key) (batch, error) {
		rows, next, err := from(store)(ctx, f, after)
		if err != nil {
			return batch{}, err
		}
		return batch{rows: len(rows), next: next, each: func(write func([]value) error) error {
			values := make([]value, len(columns))
			for i := range rows {
				readValues(values, columns, &rows[i])
				if err := write(values); err != nil {
					return err
				}
			}
			return nil
		}}, nil
	}
	return s
}
