package export_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/export"
)

// stored is a store of rows that are made when they are read: a batch of so many.
type stored struct {
	rows, batch int
	// read is called before each batch.
	read func(after int64) error
}

var noon = time.Date(2026, time.November, 22, 12, 0, 0, 123_456_000, time.UTC)

// awkward is text that a format may stumble over.
const awkward = "\"quoted\", comma; \\back\\ \nnew line\r\n\ttab ü 灯台 👩‍💻 <&> 'end'"

func next[R any](s stored, after report.ExportKey, row func(id int64) R) (rows []R, key report.ExportKey, err error) {
	if s.read != nil {
		if err := s.read(after.ID); err != nil {
			return nil, after, err
		}
	}
	for id := after.ID + 1; id <= int64(s.rows) && len(rows) < s.batch; id++ {
		rows, after = append(rows, row(id)), report.ExportKey{ID: id}
	}
	return rows, after, nil
}

func (s stored) ExportPages(_ context.Context, _ report.ExportFilter, after report.ExportKey) ([]report.PageRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.PageRow {
		p := report.PageRow{
			ID: id, URL: fmt.Sprintf("https://a.example/%d?a=1&b=2", id), Domain: "a.example", Origin: "https://a.example",
			Kind: kinds.Page, Status: "discovered", FoundAt: noon,
		}
		if id%2 == 1 {
			p.Status, p.Outcome, p.StatusCode, p.ContentType, p.Language = "fetched", crawl.OutcomeSuccess, 200, "text/html", "pt-BR"
			p.Signals = crawl.Signals{
				Title: awkward, Description: "about", Published: noon, Feeds: []string{"https://a.example/rss", "https://a.example/\"atom\""},
			}
			p.Content, p.SimHash, p.FetchedAt = []byte{0xab, 1}, new(int64(-5)), noon
			p.Usage = json.RawMessage(`{"noarchive":"meta robots","content_signals":{"ai_train":{"answer":"no","by":"header"}}}`)
		}
		return p
	})
}

func (s stored) ExportLinks(_ context.Context, _ report.ExportFilter, after report.ExportKey) ([]report.LinkRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.LinkRow {
		return report.LinkRow{
			FromID: id, FromURL: fmt.Sprintf("https://a.example/%d", id), FromDomain: "a.example", ToID: id + 1,
			Link: report.Link{
				URL: "https://b.example/", Domain: "b.example", Kind: []string{"link", "redirect"}[(id+1)%2], Anchor: "=1+1", Rel: []string{"ugc"}, FirstSeen: noon, GoneAt: noon,
			},
		}
	})
}

func (s stored) ExportCrawls(_ context.Context, _ report.ExportFilter, after report.ExportKey) ([]report.CrawlRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.CrawlRow {
		c := report.CrawlRow{
			ID: id, PageID: id, Run: "small-web", Domain: "a.example", URL: "https://a.example/", Kind: kinds.Page,
			Outcome: crawl.OutcomeSkipped, Skipped: "fresh", ScheduledFor: noon, CompletedAt: noon,
		}
		if id%2 == 1 {
			c.Outcome, c.Skipped, c.StatusCode, c.Error, c.IP = crawl.OutcomeBlocked4xx, "", 404, awkward, "192.0.2.1"
			c.Bytes, c.Duration, c.Delay, c.PreviousID = new(int64(0)), new(crawl.Millis(0)), new(crawl.Millis(1500*time.Millisecond)), new(id-1)
		}
		return c
	})
}

func (s stored) ExportDomains(_ context.Context, _ report.ExportFilter, after report.ExportKey) ([]report.DomainRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.DomainRow {
		return report.DomainRow{
			ID: id, Controls: []string{"block", "delay"},
			DomainListing: report.DomainListing{
				Domain: fmt.Sprintf("d%d.example", id), Status: crawl.DomainPending, Reason: "call Ann", Score: 0.1 + 0.2,
				DomainCounts: report.DomainCounts{ErrorRate: new(float32(0.1))},
			},
			Totals: report.Totals{Success: id, Bytes: 1 << 40}, FoundAt: noon,
		}
	})
}

func (s stored) ExportImages(_ context.Context, _ report.ExportFilter, after report.ExportKey) ([]report.ImageRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.ImageRow {
		i := report.ImageRow{
			ID: fmt.Sprintf("019aabb0-0000-7000-8000-%012d", id), PageID: id, URL: fmt.Sprintf("https://cdn.example/%d.jpg?w=1&h=2", id),
			Domain: "cdn.example", DiscoveredAt: noon,
		}
		switch id % 3 {
		case 1:
			i.ImageContent = crawl.ImageContent{
				SHA256: fmt.Sprintf("%064d", id), Bytes: 12_345, Format: crawl.ImageJPEG, Width: 640, Height: 480, Frames: 1,
				PHash: new(crawl.ImageHash(0x8000_0000_0000_00ff)), DHash: new(crawl.ImageHash(0)), Meta: crawl.ImageMeta{
					Camera: "Canon EOS", TakenAt: noon, Creator: "Ann", Credit: "PA", Copyright: awkward, License: "https://creativecommons.org/licenses/by/4.0/",
				},
			}
			i.ContentType, i.LastSeenAt, i.Success, i.StoredAt = "image/jpeg", noon, new(true), noon
			i.Pages, i.Source, i.Discovery, i.Alt, i.Caption = 2, "https://a.example/", crawl.DiscoveryOpenGraph, awkward, "A harbour"
		case 2:
			i.Success, i.Problem = new(false), crawl.ImageTooSmall
		}
		return i
	})
}

func (s stored) ExportProvenance(
	_ context.Context, _ report.ExportFilter, after report.ExportKey,
) ([]report.ProvenanceRow, report.ExportKey, error) {
	return next(s, after, func(id int64) report.ProvenanceRow {
		p := report.ProvenanceRow{
			ID: fmt.Sprintf("019aabb0-0000-7000-8000-%012d", id), ImageID: "019aabb0-0000-7000-9000-000000000001", ImageURL: "https://cdn.example/1.jpg",
			PageID: id, PageURL: fmt.Sprintf("https://a.example/%d", id), Domain: "a.example", Discovery: crawl.DiscoverySrcset, DiscoveredAt: noon,
		}
		if id%2 == 1 {
			p.Alt, p.Caption, p.Width, p.Height, p.GoneAt = awkward, "A harbour", 320, 240, noon
			p.Variants = []string{"https://cdn.example/1-small.jpg", "https://cdn.example/1\"odd\".webp"}
		}
		return p
	})
}

var _ export.Store = stored{}
