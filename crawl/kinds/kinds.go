// Package kinds is the table of the kinds of requests. All that differs between
// two kinds is in their [Traits], but for how an answer is read, which package
// internal/read has. The database asks the same table: see [SQL].
package kinds

import (
	"strings"
	"time"
)

// Kind is what is asked of a site. It is stored with each page and each crawl.
type Kind string

// The kinds of requests.
const (
	// Page is a page.
	Page Kind = "page"
	// Robots is an origin's robots.txt (RFC 9309).
	Robots Kind = "robots"
	// TDM is an origin's tdmrep.json, which reserves text and data mining.
	TDM Kind = "tdm"
	// Sitemap is a sitemap, or an index of them (sitemaps.org).
	Sitemap Kind = "sitemap"
	// Feed is an RSS, Atom or JSON feed.
	Feed Kind = "feed"
	// Image is an image of a page.
	Image Kind = "image"
)

// Traits are what differs between kinds. The zero value of a field is what most of them do.
type Traits struct {
	// Accept is the request's header of that name.
	Accept string
	// MaxBytes caps the body; 0 is the Fetcher's own limit.
	MaxBytes int64
	// Large keeps bodies in files, and leaves other kinds most of the places for requests:
	// one takes long. Its place is kept until the attempt is recorded, so that what was
	// fetched and not read yet is bounded, too.
	Large bool
	// Takes reports whether a body of a media type is read.
	Takes func(mediaType string) bool
	// SameBytes takes a body for unchanged if its bytes are. What others show decides, once
	// they are read.
	SameBytes bool

	// Path is where each origin has its one file of this kind. It is fetched before the
	// origin's pages and is not in the frontier. It is empty for what links lead to.
	Path string
	// Budget is what a request is charged to.
	Budget Budget
	// Priority is where a crawl comes in the frontier; 0 is by depth and rank. A kind that
	// has one is in no order by rank.
	Priority int
	// Follow is what of an answer becomes part of the run.
	Follow Follow
	// Nested says that files of the kind name each other, and that those of other domains
	// have to be vouched for. Of those named in one place each comes later than the last.
	Nested bool

	// Again says that the run asks for it again, if it does so for pages.
	Again bool
	// AgainWithin caps the wait until then; 0 is no cap.
	AgainWithin time.Duration
	// Oftener is how many times as often as a page it may be fetched (min_refetch); 0 is 1.
	Oftener int
}

// Budget is what requests are charged to.
type Budget int

// The budgets. Only what is charged to one counts in the run's totals, as a page or as an
// image.
const (
	BudgetNone Budget = iota
	BudgetPages
	BudgetImages
)

// Follow is what of an answer becomes part of the run.
type Follow int

// What is followed. A redirect always is, to the same kind.
const (
	FollowNothing Follow = iota
	// FollowLinks follows links, one further from a seed, and takes the images.
	FollowLinks
	// FollowAnnounced takes the pages that it names, as far from a seed as it is.
	FollowAnnounced
)

// TDMPath is where an origin has its tdmrep.json (W3C TDM Reservation Protocol).
const TDMPath = "/.well-known/tdmrep.json"

// announcedAgain is how long what announces pages is not asked for at the most: it tells what is
// new.
const announcedAgain = 24 * time.Hour

// table has the kinds in the order in which they are shown.
var table = []struct {
	kind   Kind
	traits Traits
}{
	{Page, Traits{
		// prefers what can be parsed
		Accept: "text/html,application/xhtml+xml,text/plain;q=0.9,*/*;q=0.1", Takes: document,
		Budget: BudgetPages, Follow: FollowLinks, Again: true,
	}},
	{Robots, Traits{
		// one octet more than counts, which shows that the last line is cut
		Accept: "text/plain,*/*;q=0.5", MaxBytes: 500<<10 + 1, Takes: anything, Path: "/robots.txt",
	}},
	{TDM, Traits{
		Accept: "text/plain,*/*;q=0.5", MaxBytes: 500<<10 + 1, Takes: anything, Path: TDMPath,
	}},
	{Sitemap, Traits{
		Accept: "application/xml,text/xml,text/plain;q=0.9,*/*;q=0.1", MaxBytes: 50 << 20, Takes: announcing, SameBytes: true,
		Follow: FollowAnnounced, Nested: true, Again: true, AgainWithin: announcedAgain,
	}},
	{Feed, Traits{
		Accept:   "application/atom+xml,application/rss+xml,application/feed+json,application/xml;q=0.9,text/xml;q=0.9,*/*;q=0.1",
		MaxBytes: 4 << 20, Takes: announcing, SameBytes: true,
		Follow: FollowAnnounced, Again: true, AgainWithin: announcedAgain, Oftener: 24,
	}},
	{Image, Traits{
		// names first what its fingerprints can be made of
		Accept:   "image/jpeg,image/png,image/webp,image/gif,image/*;q=0.5,*/*;q=0.1",
		MaxBytes: 20_000_000, Large: true, Takes: image,
		// before any page, of news too: the images of a page come with it, and a budget of
		// pages that is spent does not hide them
		Priority: 3, Budget: BudgetImages, Again: true,
	}},
}

var traits = func() map[Kind]*Traits {
	all := map[Kind]*Traits{}
	for i := range table {
		all[table[i].kind] = &table[i].traits
	}
	return all
}()

// Traits returns the kind's row of the table, which is not to be changed. A kind that only a
// later version knows is taken for a page.
func (k Kind) Traits() *Traits {
	if t, ok := traits[k]; ok {
		return t
	}
	return traits[Page]
}

// Counted reports whether requests count as pages of their run.
func (k Kind) Counted() bool { return k.Traits().Budget == BudgetPages }

// Image reports whether requests count as images of their run.
func (k Kind) Image() bool { return k.Traits().Budget == BudgetImages }

// Document reports whether it is read for its links and its words.
func (k Kind) Document() bool { return k.Traits().Follow == FollowLinks }

// Announces reports whether it announces pages, as sitemaps and feeds do.
func (k Kind) Announces() bool { return k.Traits().Follow == FollowAnnounced }

// All are the kinds, in the order in which they are shown.
func All() []Kind {
	all := make([]Kind, len(table))
	for i, row := range table {
		all[i] = row.kind
	}
	return all
}

// Names are all kinds as Markdown has them, with commas between.
func Names() string {
	names := make([]string, len(table))
	for i, row := range table {
		names[i] = "`" + string(row.kind) + "`"
	}
	return strings.Join(names, ", ")
}

func anything(string) bool { return true }

func document(mediaType string) bool {
	switch mediaType {
	case "text/html", "application/xhtml+xml", "text/plain", "":
		return true
	}
	return false
}

// image takes what may be an image. Some servers do not say what a file is; what they call
// something else is not an image.
func image(mediaType string) bool {
	switch mediaType {
	case "", "application/octet-stream", "binary/octet-stream":
		return true
	case "image/svg+xml":
		return false
	}
	return strings.HasPrefix(mediaType, "image/")
}

// announcing takes what may be a sitemap or a feed. Many servers call them something else.
func announcing(mediaType string) bool {
	family, _, _ := strings.Cut(mediaType, "/")
	switch family {
	case "image", "audio", "video", "font":
		return false
	}
	return true
}
