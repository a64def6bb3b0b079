package db

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/db/dbsqlc"
)

// ImageContent returns the facts of a content; the zero value if it is unknown.
func (s *Store) ImageContent(ctx context.Context, sha256 string) (crawl.ImageFacts, error) {
	row, err := orZero(s.q.ImageContentFacts(ctx, sha256))
	return crawl.ImageFacts{Stored: row.Stored, Thumbnail: row.Thumbnail}, translate("look up the image "+sha256, err)
}

// Images lists images, the latest first.
func (s *Store) Images(ctx context.Context, f report.ImageFilter) ([]report.ImageRow, error) {
	p := dbsqlc.ImageListParams{
		Domain: valueOrNil(f.Domain), Format: valueOrNil(string(f.Format)), Problem: valueOrNil(string(f.Problem)),
		MinWidth: int32(f.MinWidth), MinHeight: int32(f.MinHeight), Max: int32(f.Limit), //nolint:gosec // bounded by the caller
		Failed: f.Status == report.ImageFailed, Pending: f.Status == report.ImagePending,
	}
	rows, err := read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) ([]report.ImageRow, error) {
		pages, err := q.ImageList(ctx, p)
		if err != nil {
			return nil, err
		}
		return imageRows(ctx, q, pages)
	})
	return rows, translate("list images", err)
}

// imageRows reads images by their pages, in that order.
func imageRows(ctx context.Context, q *dbsqlc.Queries, pages []int64) ([]report.ImageRow, error) {
	if len(pages) == 0 {
		return nil, nil
	}
	stored, err := q.ImagesGet(ctx, dbsqlc.ImagesGetParams{Pages: pages, Bound: report.ImagePagesBound})
	if err != nil {
		return nil, err
	}
	rows := mapRows(stored, func(r dbsqlc.ImagesGetRow) report.ImageRow {
		return report.ImageRow{
			ID: r.ID, PageID: r.PageID, URL: r.Url, Domain: r.Domain, ContentType: r.ContentType,
			ImageContent: crawl.ImageContent{
				SHA256: r.Sha256Hash, Bytes: r.FileSizeBytes, Format: crawl.ImageFormat(r.Format), Width: int(r.Width),
				Height: int(r.Height), Frames: int(r.Frames), PHash: hashOf(r.Phash), DHash: hashOf(r.Dhash),
				Undecoded: r.UndecodedReason, Flat: r.LowDetail,
				Meta: crawl.ImageMeta{
					Camera: r.Camera, TakenAt: valueOf(r.TakenAt), Creator: r.Creator, Credit: r.Credit,
					Copyright: r.Copyright, License: r.License,
				},
			},
			DiscoveredAt: r.DiscoveredAt, LastSeenAt: valueOf(r.LastSeenAt), Success: r.DownloadSuccess,
			Problem: crawl.ImageProblem(r.Problem), StoredAt: valueOf(r.StoredAt), ThumbnailAt: valueOf(r.ThumbnailAt),
			Pages: r.Pages, Source: r.SourcePageUrl, Discovery: crawl.Discovery(r.DiscoveryType), Alt: r.Alt, Caption: r.Caption,
		}
	})
	position := make(map[int64]int, len(pages))
	for i, id := range pages {
		position[id] = i
	}
	slices.SortFunc(rows, func(a, b report.ImageRow) int { return cmp.Compare(position[a.PageID], position[b.PageID]) })
	return rows, nil
}

func hashOf(bits *int64) *crawl.ImageHash {
	return convertPtr(bits, func(n int64) crawl.ImageHash { return crawl.ImageHash(n) }) //nolint:gosec // the same 64 bits
}

// ImageHash returns the hashes of a content, by its SHA-256 or, if that is empty, by a canonical
// URL. It returns crawl.ErrNotFound for an unknown or unrecorded image. The hashes are nil if it
// was not decoded.
func (s *Store) ImageHash(ctx context.Context, sha256, url string) (crawl.ImageContent, error) {
	row, err := s.q.ImageHash(ctx, dbsqlc.ImageHashParams{Sha256: valueOrNil(sha256), Url: valueOrNil(url)})
	if err != nil {
		return crawl.ImageContent{}, translate("look up the image "+cmp.Or(sha256, url), err)
	}
	return crawl.ImageContent{
		SHA256: row.Sha256Hash, PHash: hashOf(row.Phash), DHash: hashOf(row.Dhash), Flat: row.LowDetail, Undecoded: row.UndecodedReason,
	}, nil
}

// SimilarImages finds at most limit contents that look like original. Their pHash differs in at
// most distance bits, from 0 to ImageDistanceMax, and their dHash, if original has one, in at most
// ImageDHashMax. The most similar come first, each by its first URL. Flat pictures are omitted.
func (s *Store) SimilarImages(ctx context.Context, original crawl.ImageContent, distance, limit int) ([]report.SimilarImage, error) {
	//nolint:gosec // bounded by the caller
	found, err := s.q.ImagesSimilar(ctx, dbsqlc.ImagesSimilarParams{
		Phash: original.PHash.Bits(), Dhash: convertPtr(original.DHash, crawl.ImageHash.Bits), Distance: int32(distance), Max: int32(limit),
		Bound: report.ImagePagesBound,
	})
	if err != nil {
		return nil, translate("find similar images", err)
	}
	rows, err := imageRows(ctx, s.q, mapRows(found, func(r dbsqlc.ImagesSimilarRow) int64 { return r.PageID }))
	if err != nil {
		return nil, translate("read similar images", err)
	}
	similar := make([]report.SimilarImage, len(rows))
	for i, row := range rows {
		similar[i] = report.SimilarImage{ImageRow: row, Distance: int(found[i].Distance), Images: found[i].Images}
	}
	return similar, nil
}

// maxImageURLsShown bounds the URLs of equal images.
const maxImageURLsShown = 5

// ImageCopies lists at most maxCopies contents with several URLs, the most first. With similar it
// lists contents that look the same but differ in their bytes.
func (s *Store) ImageCopies(ctx context.Context, similar bool, maxCopies int) ([]report.ImageCopies, error) {
	all, err := read(ctx, s, wholeTableSettings, func(q *dbsqlc.Queries) (all []report.ImageCopies, err error) {
		limit := int32(maxCopies) //nolint:gosec // bounded by the caller
		if similar {
			rows, err := q.ImageSimilarContents(ctx, dbsqlc.ImageSimilarContentsParams{Max: limit, Shown: maxImageURLsShown})
			for _, r := range rows {
				all = append(all, report.ImageCopies{PHash: hashOf(&r.Phash).String(), Contents: r.Contents, Images: r.Images, URLs: r.Urls})
			}
			return all, err
		}
		rows, err := q.ImageCopies(ctx, dbsqlc.ImageCopiesParams{Max: limit, Shown: maxImageURLsShown})
		for _, r := range rows {
			all = append(all, report.ImageCopies{SHA256: r.Sha256Hash, Contents: 1, Images: r.Images, Domains: r.Domains, URLs: r.Urls})
		}
		return all, err
	})
	return all, translate("list duplicate images", err)
}

// StoredImages returns the given contents that should have data in the object store.
func (s *Store) StoredImages(ctx context.Context, sha256 []string) ([]string, error) {
	stored, err := s.q.ImagesStored(ctx, sha256)
	return stored, translate("look up stored images", err)
}

// StoredImagesAfter returns the next contents after one that were stored there before an instant.
func (s *Store) StoredImagesAfter(ctx context.Context, after string, before time.Time, limit int) ([]string, error) {
	//nolint:gosec // bounded by the caller
	stored, err := s.q.ImagesStoredAfter(ctx, dbsqlc.ImagesStoredAfterParams{After: after, Before: before, Max: int32(limit)})
	return stored, translate("list stored images", err)
}

// MarkImagesLost stores that the object store lacks the bytes of contents and, with all, their
// small pictures. Runs that want them fetch the images again.
func (s *Store) MarkImagesLost(ctx context.Context, sha256 []string, all bool) error {
	return translate("mark lost images", s.q.ImagesMarkMissing(ctx, dbsqlc.ImagesMarkMissingParams{Hashes: sha256, WithThumbnails: all}))
}

// MarkUnusedImagesLost stores that the object store lacks the given contents that no image uses.
// Call it before deleting them there, so that a worker that needs one stores it again.
func (s *Store) MarkUnusedImagesLost(ctx context.Context, sha256 []string) error {
	return translate("mark unused images", s.q.ImagesMarkUnusedMissing(ctx, sha256))
}

// ImagesClock returns the time by the clock of the columns with the times of storing images.
func (s *Store) ImagesClock(ctx context.Context) (time.Time, error) {
	now, err := s.q.DatabaseNow(ctx)
	return now, translate("read the database's clock", err)
}

// ExportImages reads images as ExportPages reads pages; of a domain the images on its pages.
func (s *Store) ExportImages(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (images []report.ImageRow, next report.ExportKey, err error) {
	var ids []int64
	if f.Domain == "" {
		ids, next, err = withLastKey(s.q.ExportImageKeys(ctx, dbsqlc.ExportImageKeysParams{After: after.ID, Max: exportBatch}))
	} else {
		ids, next, err = withLastKey(s.q.ExportImageKeysOfDomain(ctx, dbsqlc.ExportImageKeysOfDomainParams{
			Domain: f.Domain, After: after.ID, Max: exportBatch,
		}))
	}
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next images", err)
	}
	images, err = imageRows(ctx, s.q, ids)
	images = slices.DeleteFunc(images, func(r report.ImageRow) bool { return r.LastSeenAt.Before(f.Since) })
	return images, next, translate("read images", err)
}

// ExportProvenance reads the pages that name images, as ExportLinks reads links.
func (s *Store) ExportProvenance(
	ctx context.Context, f report.ExportFilter, after report.ExportKey,
) (rows []report.ProvenanceRow, next report.ExportKey, err error) {
	ids, next, err := s.exportPagesWith(ctx, f, after, func() ([]int64, error) {
		return s.q.ExportProvenanceKeys(ctx, dbsqlc.ExportProvenanceKeysParams{After: after.ID, Max: exportBatch})
	})
	if err != nil || len(ids) == 0 {
		return nil, after, translate("list the next pages", err)
	}
	stored, err := s.q.ExportProvenance(ctx, dbsqlc.ExportProvenanceParams{Pages: ids, Since: timeOrNil(f.Since)})
	rows = mapRows(stored, provenanceRow)
	slices.SortFunc(rows, func(a, b report.ProvenanceRow) int {
		return cmp.Or(cmp.Compare(a.PageID, b.PageID), cmp.Compare(a.ID, b.ID))
	})
	return rows, next, translate("list pages of images", err)
}

func provenanceRow(r dbsqlc.ExportProvenanceRow) report.ProvenanceRow {
	return report.ProvenanceRow{
		ID: r.ID, ImageID: r.ImageID, ImageURL: r.Url, PageID: r.PageID, PageURL: r.SourcePageUrl, Domain: r.SourceDomain,
		Discovery: crawl.Discovery(r.DiscoveryType), Alt: r.Alt, Caption: r.Caption, Width: int(r.Width), Height: int(r.Height),
		Variants: r.Variants, DiscoveredAt: r.DiscoveredAt, GoneAt: valueOf(r.GoneAt),
	}
}
