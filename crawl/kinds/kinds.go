// Package kinds holds the table of the kinds of requests. Two kinds differ only in their [Traits],
// and in the reading of responses (package internal/read). The database uses the same table: see
// [SQL].
package kinds

import (
	"slices"
	"strings"
	"time"
)

// Kind is a kind of request to a site. It is stored with each page and each crawl.
type Kind string

// The kinds of requests.
const (
	Page    Kind = "page"
	Robots  Kind = "robots"  // an origin's robots.txt (RFC 9309)
	TDM     Kind = "tdm"     // an origin's tdmrep.json, which reserves text and data mining
	Missing Kind = "missing" // a page that does not exist, to recognize soft 404s
	Sitemap Kind = "sitemap" // or an index of sitemaps (sitemaps.org)
	Feed    Kind = "feed"    // RSS, Atom or JSON feed
	Image   Kind = "image"   // of a page
)

// Traits holds the differences between kinds. The zero value of a field is the most frequent value.
type Traits struct {
	// Accept is the Accept header of the request.
	Accept string
	// MaxBytes caps the body; 0 means the Fetcher's own limit.
	MaxBytes int64
	// Large stores bodies in files and leaves most permits for requests to other kinds, because a
	// large body takes long. It holds its permit until the attempt is recorded, which bounds the
	// bodies that wait to be read.
	Large bool
	// Accepts reports whether a body of a media type is read.
	Accepts func(mediaType string) bool
	// SameBytes compares the bytes of a body to find it unchanged; otherwise its content decides.
	SameBytes bool

	// Path is the path of each origin's only file of this kind. It is fetched before the origin's
	// pages and is not in the frontier. It is empty for kinds that links lead to.
	Path   string
	Budget Budget
	// Priority is a fixed priority in the frontier; 0 orders by depth and rank.
	Priority int
	Follow   Follow
	// Nested is set if files of the kind name each other. Files of other domains need a voucher. Files
	// named in one place come one after another.
	Nested bool

	// IsRecrawled is set if a run that requests pages again also requests this kind again.
	IsRecrawled bool
	// MaxRevisitInterval caps the wait until then; 0 means no cap.
	MaxRevisitInterval time.Duration
	// RefetchFactor multiplies a page's allowed frequency of fetches (min_refetch); 0 means 1.
	RefetchFactor int
}

// Budget is the budget that a request counts against.
type Budget int

// The budgets. Only requests with a budget count in the run's totals, as pages or images.
const (
	BudgetNone Budget = iota
	BudgetPages
	BudgetImages
)

// Follow is the part of a response that becomes part of the run.
type Follow int

// A redirect is always followed, to the same kind.
const (
	FollowNothing Follow = iota
	// FollowLinks follows links, one further from a seed, and takes the images.
	FollowLinks
	// FollowAnnounced takes the pages that it names, at its own distance from a seed.
	FollowAnnounced
)

// TDMPath is the path of an origin's tdmrep.json (W3C TDM Reservation Protocol).
const TDMPath = "/.well-known/tdmrep.json"

// MissingPath is the path of a page that no origin has. Its words are in no text.
const MissingPath = "/mosey-8c41d07f6be2a935"

// maxAnnouncementInterval caps the wait for a kind that announces new pages.
const maxAnnouncementInterval = 24 * time.Hour

// acceptDocument is the Accept header of pages. It prefers formats that can be parsed.
const acceptDocument = "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1"

// table holds the kinds in display order. The first is the kind of a page.
var table = []struct {
	kind   Kind
	traits Traits
}{
	{Page, Traits{
		Accept: acceptDocument, Accepts: acceptsDocument,
		Budget: BudgetPages, Follow: FollowLinks, IsRecrawled: true,
	}},
	{Robots, Traits{
		// one octet more than counts, to show that the last line is cut
		Accept: "text/plain,*/*;q=0.5", MaxBytes: 500<<10 + 1, Accepts: acceptsAny, Path: "/robots.txt",
	}},
	{TDM, Traits{
		Accept: "text/plain,*/*;q=0.5", MaxBytes: 500<<10 + 1, Accepts: acceptsAny, Path: TDMPath,
	}},
	{Missing, Traits{
		Accept: acceptDocument, MaxBytes: 1 << 20, Accepts: acceptsDocument, Path: MissingPath,
	}},
	{Sitemap, Traits{
		Accept: "application/xml,text/xml,text/plain;q=0.9,*/*;q=0.1", MaxBytes: 50 << 20, Accepts: acceptsAnnouncement, SameBytes: true,
		Follow: FollowAnnounced, Nested: true, IsRecrawled: true, MaxRevisitInterval: maxAnnouncementInterval,
	}},
	{Feed, Traits{
		Accept:   "application/atom+xml,application/rss+xml,application/feed+json,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.1",
		MaxBytes: 4 << 20, Accepts: acceptsAnnouncement, SameBytes: true,
		Follow: FollowAnnounced, IsRecrawled: true, MaxRevisitInterval: maxAnnouncementInterval, RefetchFactor: 24,
	}},
	{Image, Traits{
		// names first the formats with fingerprints
		Accept:   "image/jpeg,image/png,image/webp,image/gif,image/*;q=0.5,*/*;q=0.1",
		MaxBytes: 20_000_000, Large: true, Accepts: acceptsImage,
		// before any page, even news: the images of a page come with it, and a spent budget of pages does
		// not hide them
		Priority: 3, Budget: BudgetImages, IsRecrawled: true,
	}},
}

// Traits returns the kind's row of the table, which callers must not change. A kind unknown to this
// version has the traits of a page.
func (k Kind) Traits() *Traits {
	for i := range table {
		if table[i].kind == k {
			return &table[i].traits
		}
	}
	return &table[0].traits
}

// CountsAsPage reports whether requests count as pages of their run.
func (k Kind) CountsAsPage() bool { return k.Traits().Budget == BudgetPages }

// Image reports whether requests count as images of their run.
func (k Kind) Image() bool { return k.Traits().Budget == BudgetImages }

// Document reports whether the kind is read for its links and its words.
func (k Kind) Document() bool { return k.Traits().Follow == FollowLinks }

// Announces reports whether the kind announces pages, like sitemaps and feeds.
func (k Kind) Announces() bool { return k.Traits().Follow == FollowAnnounced }

// All returns the kinds in display order.
func All() []Kind {
	all := make([]Kind, len(table))
	for i, row := range table {
		all[i] = row.kind
	}
	return all
}

// Names lists all kinds for Markdown.
func Names() string {
	names := make([]string, len(table))
	for i, row := range table {
		names[i] = "`" + string(row.kind) + "`"
	}
	return strings.Join(names, ", ")
}

func acceptsAny(string) bool { return true }

// acceptsDocument accepts media types of pages. XML is a page if it turns out to be XHTML.
func acceptsDocument(mediaType string) bool {
	return slices.Contains([]string{
		"text/html", "application/xhtml+xml", "text/plain", "application/xml", "text/xml", "",
	}, mediaType)
}

// acceptsImage accepts media types of images. Some servers do not declare the type of a file. A
// file declared as another type is not an image.
func acceptsImage(mediaType string) bool {
	switch mediaType {
	case "", "application/octet-stream", "binary/octet-stream":
		return true
	case "image/svg+xml":
		return false
	}
	return strings.HasPrefix(mediaType, "image/")
}

// acceptsAnnouncement accepts media types of sitemaps and feeds. Many servers declare other types.
func acceptsAnnouncement(mediaType string) bool {
	family, _, _ := strings.Cut(mediaType, "/")
	return !slices.Contains([]string{"image", "audio", "video", "font"}, family)
}
