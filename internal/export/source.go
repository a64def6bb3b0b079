package export

import (
	"context"

	"github.com/mosey-web/mosey/crawl/report"
)

// Table is what is exported.
type Table string

// The kinds.
const (
	Pages      Table = "pages"
	Links      Table = "links"
	Crawls     Table = "crawls"
	Domains    Table = "domains"
	Images     Table = "images"
	Provenance Table = "provenance"
)

// declared has each kind once, and where its rows come from. All else that depends on the
// kind goes by it.
var declared = []struct {
	table  Table
	source func(Store) source
}{
	{Pages, func(s Store) source {
		return sourceOf(pageColumns(), func() reader[page] { return readPages(s) })
	}},
	{Links, func(s Store) source {
		return sourceOf(linkColumns(), func() reader[report.LinkRow] { return s.ExportLinks })
	}},
	{Crawls, func(s Store) source {
		return sourceOf(crawlColumns(), func() reader[report.CrawlRow] { return s.ExportCrawls })
	}},
	{Domains, func(s Store) source {
		return sourceOf(domainColumns(), func() reader[report.DomainRow] { return s.ExportDomains })
	}},
	{Images, func(s Store) source {
		return sourceOf(imageColumns(), func() reader[report.ImageRow] { return s.ExportImages })
	}},
	{Provenance, func(s Store) source {
		return sourceOf(provenanceColumns(), func() reader[report.ProvenanceRow] { return s.ExportProvenance })
	}},
}

// Tables lists the kinds.
func Tables() []Table {
	tables := make([]Table, len(declared))
	for i, d := range declared {
		tables[i] = d.table
	}
	return tables
}

// Store reads rows in batches: those that follow a key, and the key after them. A batch
// may be empty. If nothing follows, next equals after.
type Store interface {
	ExportPages(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (pages []report.PageRow, next report.ExportKey, err error)
	ExportLinks(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (links []report.LinkRow, next report.ExportKey, err error)
	ExportCrawls(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (crawls []report.CrawlRow, next report.ExportKey, err error)
	ExportDomains(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (domains []report.DomainRow, next report.ExportKey, err error)
	ExportImages(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (images []report.ImageRow, next report.ExportKey, err error)
	ExportProvenance(
		ctx context.Context, f report.ExportFilter, after report.ExportKey,
	) (rows []report.ProvenanceRow, next report.ExportKey, err error)
}

// Columns are those of a kind, in their order.
func (k Table) Columns() []Column { return k.source(nil).columns }

// source is where the rows of an export come from.
type source struct {
	columns []Column
	read    func(context.Context, report.ExportFilter, report.ExportKey) (batch, error)
}

// batch is the rows that were read at once, and the key after them.
type batch struct {
	rows int
	next report.ExportKey
	// each hands out the rows one after another, in the same memory.
	each func(write func([]value) error) error
}

func (k Table) source(s Store) source {
	for _, d := range declared {
		if d.table == k {
			return d.source(s)
		}
	}
	return source{}
}

type reader[R any] = func(context.Context, report.ExportFilter, report.ExportKey) ([]R, report.ExportKey, error)

func sourceOf[R any](columns []column[R], read func() reader[R]) source {
	s := source{columns: make([]Column, len(columns))}
	for i, c := range columns {
		s.columns[i] = c.Column
	}
	s.read = func(ctx context.Context, f report.ExportFilter, after report.ExportKey) (batch, error) {
		rows, next, err := read()(ctx, f, after)
		if err != nil {
			return batch{}, err
		}
		return batch{rows: len(rows), next: next, each: func(write func([]value) error) error {
			values := make([]value, len(columns))
			for i := range rows {
				for j := range columns {
					values[j] = columns[j].get(&rows[i])
				}
				if err := write(values); err != nil {
					return err
				}
			}
			return nil
		}}, nil
	}
	return s
}
