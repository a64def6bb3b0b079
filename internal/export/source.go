package export

import (
	"context"

	"github.com/mosey-web/mosey/crawl"
)

// Kind is what is exported.
type Kind string

// The kinds.
const (
	Pages      Kind = "pages"
	Links      Kind = "links"
	Crawls     Kind = "crawls"
	Domains    Kind = "domains"
	Images     Kind = "images"
	Provenance Kind = "provenance"
)

// Kinds lists them.
func Kinds() []Kind { return []Kind{Pages, Links, Crawls, Domains, Images, Provenance} }

// Store reads rows in batches: those that follow a key, and the key after them. A batch
// may be empty. If nothing follows, next equals after.
type Store interface {
	ExportPages(ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey) (pages []crawl.PageRow, next crawl.ExportKey, err error)
	ExportLinks(ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey) (links []crawl.LinkRow, next crawl.ExportKey, err error)
	ExportCrawls(ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey) (crawls []crawl.CrawlRow, next crawl.ExportKey, err error)
	ExportDomains(
		ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey,
	) (domains []crawl.DomainRow, next crawl.ExportKey, err error)
	ExportImages(ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey) (images []crawl.ImageRow, next crawl.ExportKey, err error)
	ExportProvenance(
		ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey,
	) (rows []crawl.ProvenanceRow, next crawl.ExportKey, err error)
}

// Columns are those of a kind, in their order.
func (k Kind) Columns() []Column { return k.source(nil).columns }

// source is where the rows of an export come from.
type source struct {
	columns []Column
	read    func(context.Context, crawl.ExportFilter, crawl.ExportKey) (batch, error)
}

// batch is the rows that were read at once, and the key after them.
type batch struct {
	rows int
	next crawl.ExportKey
	// each hands out the rows one after another, in the same memory.
	each func(write func([]value) error) error
}

func (k Kind) source(s Store) source {
	switch k {
	case Pages:
		return sourceOf(pageColumns(), func() reader[page] { return readPages(s) })
	case Links:
		return sourceOf(linkColumns(), func() reader[crawl.LinkRow] { return s.ExportLinks })
	case Crawls:
		return sourceOf(crawlColumns(), func() reader[crawl.CrawlRow] { return s.ExportCrawls })
	case Domains:
		return sourceOf(domainColumns(), func() reader[crawl.DomainRow] { return s.ExportDomains })
	case Images:
		return sourceOf(imageColumns(), func() reader[crawl.ImageRow] { return s.ExportImages })
	case Provenance:
		return sourceOf(provenanceColumns(), func() reader[crawl.ProvenanceRow] { return s.ExportProvenance })
	}
	return source{}
}

type reader[R any] = func(context.Context, crawl.ExportFilter, crawl.ExportKey) ([]R, crawl.ExportKey, error)

func sourceOf[R any](columns []column[R], read func() reader[R]) source {
	s := source{columns: make([]Column, len(columns))}
	for i, c := range columns {
		s.columns[i] = c.Column
	}
	s.read = func(ctx context.Context, f crawl.ExportFilter, after crawl.ExportKey) (batch, error) {
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
