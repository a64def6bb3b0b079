package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// archiveLock is the advisory lock of the one process that erases archived responses.
const archiveLock = 0x6d6f736579_09

// LastArchived returns the last archived record of a page that has its complete payload, or nil.
func (s *Store) LastArchived(ctx context.Context, domain, url string) (*crawl.Archived, error) {
	rows, err := s.q.ArchivedLast(ctx, dbsqlc.ArchivedLastParams{Domain: domain, Url: url})
	if err != nil || len(rows) == 0 {
		return nil, translate("find the archived response of "+url, err)
	}
	at, err := archivedOf(rows[0])
	return &at, err
}

func archivedOf(data []byte) (at crawl.Archived, err error) {
	if err = json.Unmarshal(data, &at); err != nil {
		err = fmt.Errorf("read the place of an archived response: %w", err)
	}
	return at, err
}

// ArchivedOrigins returns the origins of archived responses, of a run or with nil of all.
func (s *Store) ArchivedOrigins(ctx context.Context, runID *int64) ([]report.ArchivedOrigin, error) {
	rows, err := read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) ([]dbsqlc.ArchivedOriginsRow, error) {
		return q.ArchivedOrigins(ctx, runID)
	})
	return mapRows(rows, func(r dbsqlc.ArchivedOriginsRow) report.ArchivedOrigin {
		return report.ArchivedOrigin{Domain: r.Domain, Origin: r.Origin}
	}), translate("find the archived origins", err)
}

// ArchivedResponses returns the archived responses of an origin, of a run or with nil of all,
// the oldest first.
func (s *Store) ArchivedResponses(ctx context.Context, of report.ArchivedOrigin, runID *int64) ([]report.ArchivedResponse, error) {
	rows, err := s.q.ArchivedOfOrigin(ctx, dbsqlc.ArchivedOfOriginParams{Domain: of.Domain, Origin: of.Origin, RunID: runID})
	if err != nil {
		return nil, translate("find the archived responses of "+of.Origin, err)
	}
	all := make([]report.ArchivedResponse, len(rows))
	for i, r := range rows {
		all[i] = report.ArchivedResponse{
			URL: r.Url, StatusCode: int(r.StatusCode), ContentType: r.ContentType,
			Kind: kinds.Kind(r.Kind), Title: r.Title,
		}
		if all[i].Archived, err = archivedOf(r.Archived); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ArchivedPages returns pages of a domain, or of all if it is empty, that an earlier extractor
// read, or with every also others. Their stored version is archived as a whole. It looks at limit
// pages after a cursor, and returns the next cursor. An empty cursor is the start or the end.
func (s *Store) ArchivedPages(
	ctx context.Context, domain string, every bool, after string, limit int,
) (pages []report.ArchivedPage, next string, err error) {
	var ids []int64
	if domain != "" {
		ids, next, err = s.PagesOf(ctx, domain, after)
	} else {
		ids, next, err = s.archivedIDs(ctx, after, limit)
	}
	if err != nil || len(ids) == 0 {
		return nil, "", err
	}
	pages, err = s.archivedPages(ctx, ids, every)
	return pages, next, err
}

// archivedIDs returns pages with archived responses. The cursor is the last page's id.
func (s *Store) archivedIDs(ctx context.Context, after string, limit int) (ids []int64, next string, err error) {
	last, _ := strconv.ParseInt(after, 10, 64) // empty at the start
	ids, err = s.q.ArchivedPageIDs(ctx, dbsqlc.ArchivedPageIDsParams{After: last, Max: int32Of(limit)})
	if err != nil || len(ids) == 0 {
		return nil, "", translate("find archived pages", err)
	}
	return ids, strconv.FormatInt(ids[len(ids)-1], 10), nil
}

func (s *Store) archivedPages(ctx context.Context, ids []int64, every bool) ([]report.ArchivedPage, error) {
	rows, err := s.q.ArchivedPages(ctx, dbsqlc.ArchivedPagesParams{Pages: ids, Extractor: crawl.ExtractorVersion, EveryPage: every})
	if err != nil {
		return nil, translate("find archived pages", err)
	}
	all := make([]report.ArchivedPage, len(rows))
	for i, r := range rows {
		page := report.ArchivedPage{FetchedAt: r.FetchedAt, Run: crawl.RunFacts{Name: r.Run}}
		if page.Archived, err = archivedOf(r.Archived); err != nil {
			return nil, err
		}
		if page.Run.Settings, err = s.settingsOf(r.Settings); err != nil {
			return nil, fmt.Errorf("read the settings of run %s: %w", r.Run, err)
		}
		page.Run.Attempt = new(crawl.AttemptFacts)
		if err := json.Unmarshal(r.Facts, page.Run.Attempt); err != nil {
			return nil, fmt.Errorf("read the facts of %s: %w", r.Url, err)
		}
		all[i] = page
	}
	return all, nil
}

// StoreReread stores the findings of pages that were read again, except pages that were requested
// since, and returns the number of stored ones. Attempt.Ended is the time of the page's last
// request. It adds nothing to runs.
func (s *Store) StoreReread(ctx context.Context, attempts []crawl.Attempt) (int64, error) {
	if len(attempts) == 0 {
		return 0, nil
	}
	doc, err := document("pages that were read again", attempts)
	if err != nil {
		return 0, err
	}
	return retryConflicts(ctx, "store pages that were read again", func() (int64, error) { return s.q.PagesReread(ctx, doc) })
}

// ArchivedRecord is the archived response of an attempt.
type ArchivedRecord struct {
	ID int64
	crawl.Archived
}

// ArchivedOf returns the archived responses of pages.
func (s *Store) ArchivedOf(ctx context.Context, pages []int64) ([]ArchivedRecord, error) {
	rows, err := s.q.ForgetArchived(ctx, pages)
	if err != nil {
		return nil, translate("find archived responses", err)
	}
	all := make([]ArchivedRecord, len(rows))
	for i, r := range rows {
		all[i].ID = r.ID
		if all[i].Archived, err = archivedOf(r.Archived); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// MarkErased stores that the responses of attempts are no longer in the archive.
func (s *Store) MarkErased(ctx context.Context, attempts []int64) error {
	return retry(ctx, "store that responses are erased", func() error { return s.q.ForgetArchivedDone(ctx, attempts) })
}

// WithArchiveLock runs fn, or returns false while another caller's runs.
func (s *Store) WithArchiveLock(ctx context.Context, fn func() error) (free bool, err error) {
	return s.withLocks(ctx, "erase archived responses", []int64{archiveLock}, func(*pgxpool.Conn) error { return fn() })
}
