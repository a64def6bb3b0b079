package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ImageContent is what is stored of a content; the zero value is nothing.
func (s *Store) ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error) {
	row, err := s.q.ImageContentFacts(ctx, sha256)
	if errors.Is(err, pgx.ErrNoRows) {
		return crawl.ImageFacts{}, nil
	}
	return crawl.ImageFacts{Stored: row.Stored, Thumbnail: row.Thumbnail}, translate("look up the image "+sha256, err)
}

// Images lists images, the latest first.
func (s *Store) Images(ctx context.Context, f report.ImageFilter) ([]report.ImageRow, error) {
	p := dbsqlc.ImageListParams{
		Domain: textOrNull(f.Domain), Format: textOrNull(string(f.Format)), Problem: textOrNull(string(f.Problem)),
		MinWidth: int32(f.MinWidth), MinHeight: int32(f.MinHeight), Max: int32(f.Most), //nolint:gosec // bounded by the caller
		Failed: f.Status == report.ImageFailed, Pending: f.Status == report.ImagePending,
	}
	var rows []report.ImageRow
	err := s.readingAll(ctx, func(q *dbsqlc.Queries) error {
		pages, err := q.ImageList(ctx, p)
		if err != nil {
			return err
		}
		rows, err = imageRows(ctx, q, pages)
		return err
	})
	return rows, translate("list images", err)
}

// imageRows reads images by their pages, in that order.
func imageRows(ctx context.Context, q *dbsqlc.Queries, pages []int64) ([]report.ImageRow, error) {
	got, err := q.ImagesGet(ctx, dbsqlc.ImagesGetParams{Pages: pages, Bound: report.ImagePagesBound})
	if err != nil {
		return nil, err
	}
	rows := make([]report.ImageRow, len(got))
	for i, r := range got {
		rows[i] = report.ImageRow{
			ID: r.ID, PageID: r.PageID, URL: r.Url, Domain: r.Domain, ContentType: r.ContentType,
			ImageContent: crawl.ImageContent{
				SHA256: r.Sha256Hash, Bytes: r.FileSizeBytes, Format: crawl.ImageFormat(r.Format), Width: int(r.Width),
				Height: int(r.Height), Frames: int(r.Frames), PHash: hashOf(r.Phash), DHash: hashOf(r.Dhash),
				Undecoded: r.Undecoded, Flat: r.Flat,
				Meta: crawl.ImageMeta{
					Camera: r.Camera, TakenAt: timeOf(r.TakenAt), Creator: r.Creator, Credit: r.Credit,
					Copyright: r.Copyright, License: r.License,
				},
			},
			DiscoveredAt: r.DiscoveredAt, LastSeenAt: timeOf(r.LastSeenAt), Success: r.DownloadSuccess,
			Problem: crawl.ImageProblem(r.Problem), StoredAt: timeOf(r.StoredAt), ThumbnailAt: timeOf(r.ThumbnailAt),
			Pages: r.Pages, Source: r.SourcePageUrl, Discovery: crawl.Discovery(r.DiscoveryType), Alt: r.Alt, Caption: r.Caption,
		}
	}
	place := make(map[int64]int, len(pages))
	for i, id := range pages {
		place[id] = i
	}
	slices.SortFunc(rows, func(a, b report.ImageRow) int { return cmp.Compare(place[a.PageID], place[b.PageID]) })
	return rows, nil
}

func hashOf(bits *int64) *crawl.ImageHash {
	if bits == nil {
		return nil
	}
	return new(crawl.ImageHash(*bits)) //nolint:gosec // the same 64 bits
}

func bitsOf(h *crawl.ImageHash) *int64 {
	if h == nil {
		return nil
	}
	return new(h.Bits())
}

// ImageHash is the hash of a content, by its SHA-256 or, where that is empty, by a URL that
// has it: canonical. An image that is not known, or was not recorded, is an ErrNotFound; of
// one that was not decoded the hash is nil.
func (s *Store) ImageHash(ctx context.Context, sha256, url string) (crawl.ImageContent, error) {
	row, err := s.q.ImageHash(ctx, dbsqlc.ImageHashParams{Sha256: textOrNull(sha256), Url: textOrNull(url)})
	if err != nil {
		return crawl.ImageContent{}, translate("look up the image "+cmp.Or(sha256, url), err)
	}
	return crawl.ImageContent{
		SHA256: row.Sha256Hash, PHash: hashOf(row.Phash), DHash: hashOf(row.Dhash), Flat: row.Flat, Undecoded: row.Undecoded,
	}, nil
}

// ImagesNear finds contents that look like a given one. Their pHash differs in at most
// distance bits, from 0 to ImageDistanceMax, and their dHash, if to has one, in at most
// ImageDHashMax. The most similar come first, each by its first URL. Flat pictures are left
// out.
func (s *Store) ImagesNear(ctx context.Context, to crawl.ImageContent, distance, most int) ([]report.ImageNear, error) {
	//nolint:gosec // bounded by the caller
	found, err := s.q.ImagesNear(ctx, dbsqlc.ImagesNearParams{
		Phash: to.PHash.Bits(), Dhash: bitsOf(to.DHash), Distance: int32(distance), Max: int32(most), Bound: report.ImagePagesBound,
	})
	if err != nil {
		return nil, translate("find images that are alike", err)
	}
	pages := make([]int64, len(found))
	for i, f := range found {
		pages[i] = f.PageID
	}
	rows, err := imageRows(ctx, s.q, pages)
	if err != nil {
		return nil, translate("read images that are alike", err)
	}
	near := make([]report.ImageNear, len(rows))
	for i, row := range rows {
		near[i] = report.ImageNear{ImageRow: row, Distance: int(found[i].Distance), Images: found[i].Images}
	}
	return near, nil
}

// imageURLsShown is how many URLs are named of images that are the same.
const imageURLsShown = 5

// ImageCopies lists contents that several URLs have, those of most URLs first; with alike
// those that look the same and have not the same bytes.
func (s *Store) ImageCopies(ctx context.Context, alike bool, most int) ([]report.ImageCopies, error) {
	var all []report.ImageCopies
	err := s.readingAll(ctx, func(q *dbsqlc.Queries) error {
		limit := int32(most) //nolint:gosec // bounded by the caller
		if alike {
			rows, err := q.ImageLookalikes(ctx, dbsqlc.ImageLookalikesParams{Max: limit, Shown: imageURLsShown})
			for _, r := range rows {
				all = append(all, report.ImageCopies{PHash: hashOf(&r.Phash).String(), Contents: r.Contents, Images: r.Images, URLs: r.Urls})
			}
			return err
		}
		rows, err := q.ImageCopies(ctx, dbsqlc.ImageCopiesParams{Max: limit, Shown: imageURLsShown})
		for _, r := range rows {
			all = append(all, report.ImageCopies{SHA256: r.Sha256Hash, Contents: 1, Images: r.Images, Domains: r.Domains, URLs: r.Urls})
		}
		return err
	})
	return all, translate("list images that are the same", err)
}

// StoredImages returns those of some contents that should have their bytes, or a small
// picture, in the object store.
func (s *Store) StoredImages(ctx context.Context, sha256 []string) ([]string, error) {
	stored, err := s.q.ImagesStored(ctx, sha256)
	return stored, translate("look up images that are stored", err)
}

// StoredImagesAfter are the next contents after one whose bytes should be there since before
// an instant.
func (s *Store) StoredImagesAfter(ctx context.Context, after string, before time.Time, most int) ([]string, error) {
	//nolint:gosec // bounded by the caller
	stored, err := s.q.ImagesStoredAfter(ctx, dbsqlc.ImagesStoredAfterParams{After: after, Before: before, Max: int32(most)})
	return stored, translate("list images that are stored", err)
}

// LoseImages notes that the bytes of contents are not in the object store, and with all
// neither are their small pictures: runs that want them fetch the images again.
func (s *Store) LoseImages(ctx context.Context, sha256 []string, all bool) error {
	return translate("note images that are lost", s.q.ImagesLost(ctx, dbsqlc.ImagesLostParams{Hashes: sha256, AllOfIt: all}))
}

// LoseUnusedImages notes that unused contents among some are not in the object store. Call it
// before they are deleted there, so that a worker that needs one again stores it.
func (s *Store) LoseUnusedImages(ctx context.Context, sha256 []string) error {
	return translate("note images that are not needed", s.q.ImagesLostUnused(ctx, sha256))
}

// ImagesClock is the time by the clock that says since when images are stored.
func (s *Store) ImagesClock(ctx context.Context) (time.Time, error) {
	now, err := s.q.ImagesClock(ctx)
	return now, translate("read the database's clock", err)
}

// ExportImages reads images, as ExportPages reads pages. With a domain it reads the
// images that its pages name.
func (s *Store) ExportImages(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (images []report.ImageRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = keysOf(after)(s.q.ExportImageKeys(ctx, dbsqlc.ExportImageKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = keysOf(after)(s.q.ExportImageKeysOfDomain(ctx, dbsqlc.ExportImageKeysOfDomainParams{
			Domain: f.Domain, After: after.ID, Max: exportBatch,
		}))
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("read which images follow", err)
	}
	images, err = imageRows(ctx, s.q, ids)
	if err != nil {
		return nil, after, translate("read images", err)
	}
	if !f.Since.IsZero() {
		images = slices.DeleteFunc(images, func(r report.ImageRow) bool { return r.LastSeenAt.Before(f.Since) })
	}
	return images, next, nil
}

// ExportProvenance reads which pages name which images, as ExportLinks reads links.
func (s *Store) ExportProvenance(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (rows []report.ProvenanceRow, next report.ExportKey, err error) {
	ids, next, err := s.exportPagesWith(ctx, f, after, func() ([]int64, error) {
		return s.q.ExportProvenanceKeys(ctx, dbsqlc.ExportProvenanceKeysParams{After: after.ID, Max: exportBatch})
	})
	if err != nil || len(ids) == 0 {
		return nil, after, translate("read which pages follow", err)
	}
	got, err := s.q.ExportProvenance(ctx, dbsqlc.ExportProvenanceParams{Pages: ids, Since: timeOrNil(f.Since)})
	if err != nil {
		return nil, after, translate("read which pages name images", err)
	}
	rows = make([]report.ProvenanceRow, len(got))
	for i, r := range got {
		rows[i] = report.ProvenanceRow{
			ID: r.ID, ImageID: r.ImageID, ImageURL: r.Url, PageID: r.PageID, PageURL: r.SourcePageUrl, Domain: r.SourceDomain,
			Discovery: crawl.Discovery(r.DiscoveryType), Alt: r.Alt, Caption: r.Caption, Width: int(r.Width), Height: int(r.Height),
			Variants: r.Variants, DiscoveredAt: r.DiscoveredAt, GoneAt: timeOf(r.GoneAt),
		}
	}
	slices.SortFunc(rows, func(a, b report.ProvenanceRow) int {
		return cmp.Or(cmp.Compare(a.PageID, b.PageID), cmp.Compare(a.ID, b.ID))
	})
	return rows, next, nil
}
