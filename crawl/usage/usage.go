package usage

import (
	"slices"
	"strings"
	"time"
)

// Token is the name by which a publisher addresses Mosey alone, in lower case.
const Token = "mosey"

const (
	// MaxValueBytes is how much of one header value, meta element or line is
	// read, up to the last comma within, in bytes.
	MaxValueBytes = 4 << 10

	// MaxValues is how many values of one header are read.
	MaxValues = 32
)

// Source is the medium of a signal in words, such as "meta robots". It is empty
// where nothing was said.
type Source string

// The sources.
const (
	SourceMetaRobots    Source = "meta robots"
	SourceMetaToken     Source = "meta " + Token
	SourceHeader        Source = "X-Robots-Tag"
	SourceHeaderToken   Source = "X-Robots-Tag to " + Token
	SourceMetaTDM       Source = "meta tdm-reservation"
	SourceHeaderTDM     Source = "the header tdm-reservation"
	SourceFileTDM       Source = TDMPath
	SourceUnreadTDM     Source = TDMPath + ", which could not be read"
	SourceHeaderSignal  Source = "the header Content-Signal"
	SourceRobotsSignals Source = "Content-Signal in robots.txt"
	SourceHeaderUsage   Source = "the header Content-Usage"
	SourceRobotsUsage   Source = "Content-Usage in robots.txt"
	SourceLinkLicense   Source = "link rel=license"
	SourceHeaderLicense Source = "the header Link"
	SourceRobotsLicense Source = "License in robots.txt"
)

// Said reports whether there is a source at all.
func (s Source) Said() bool { return s != "" }

// Usage is what the publisher of a page says about its use. Each field names
// the source that said it; its zero value means that nothing is said. The Add
// methods only ever make it more restrictive; of several sources the first is
// kept.
type Usage struct {
	// NoIndex asks to keep the page out of indexes, NoFollow not to follow its
	// links, NoArchive not to keep copies. "none" is NoIndex and NoFollow.
	NoIndex   Source `json:"noindex,omitempty"`
	NoFollow  Source `json:"nofollow,omitempty"`
	NoArchive Source `json:"noarchive,omitempty"`

	// NoSnippet asks not to show extracts of the page, NoImageIndex to keep its
	// images out of indexes.
	NoSnippet    Source `json:"nosnippet,omitempty"`
	NoImageIndex Source `json:"noimageindex,omitempty"`

	// NoAI asks not to use the page for training, NoImageAI its images.
	NoAI      Source `json:"noai,omitempty"`
	NoImageAI Source `json:"noimageai,omitempty"`

	// UnavailableAfter is the earliest time after which the page should leave an index,
	// in UTC, between the years 1970 and 9999. Zero is never.
	UnavailableAfter   time.Time `json:"unavailable_after,omitzero"`
	UnavailableAfterBy Source    `json:"unavailable_after_by,omitempty"`

	// TDMReserved says that the rights to text and data mining are reserved.
	// TDMPolicy is the http or https URL of the terms, at most MaxPolicyBytes
	// long: the last one added, so that it is the page's own where files,
	// headers and pages are added in this order.
	TDMReserved Source `json:"tdm_reserved,omitempty"`
	TDMPolicy   string `json:"tdm_policy,omitempty"`

	ContentSignals ContentSignals `json:"content_signals,omitzero"`

	// Terms is the http or https URL of the site's terms of service, at most MaxPolicyBytes long,
	// as the header of the answer names it. License is that of the page's licence, such as a
	// document of Really Simple Licensing (RSL): as the page names it, else its header, else
	// robots.txt. Both are for people to read: nothing follows of them.
	Terms     string `json:"terms,omitempty"`
	License   string `json:"license,omitempty"`
	LicenseBy Source `json:"license_by,omitempty"`
}

// The signals that are stored with a page. Those of robots.txt and tdmrep.json
// are known anew at each visit.
var (
	saidOnPage   = []Source{SourceMetaRobots, SourceMetaToken, SourceMetaTDM, SourceLinkLicense}
	saidByHeader = []Source{SourceHeader, SourceHeaderToken, SourceHeaderTDM, SourceHeaderSignal, SourceHeaderUsage, SourceHeaderLicense}
)

// AddKept adds the signals of the last visit to a page that has not changed:
// those in the page, and those in its header if this answer may leave them out.
func (p *Usage) AddKept(last Usage, header bool) {
	kept := func(by Source) bool {
		return slices.Contains(saidOnPage, by) || header && slices.Contains(saidByHeader, by)
	}
	to := p.sources()
	for i, from := range last.sources() {
		if kept(*from) {
			mark(to[i], *from)
		}
	}
	if kept(last.UnavailableAfterBy) {
		p.setUnavailable(last.UnavailableAfter, last.UnavailableAfterBy)
	}
	if p.TDMPolicy == "" && kept(last.TDMReserved) {
		p.setPolicy(last.TDMPolicy)
	}
	if p.Terms == "" && header {
		p.Terms = last.Terms
	}
	if kept(last.LicenseBy) {
		p.AddLicense(last.License, last.LicenseBy)
	}
	for _, f := range []struct{ to, from *Signal }{
		{&p.ContentSignals.Search, &last.ContentSignals.Search},
		{&p.ContentSignals.AIInput, &last.ContentSignals.AIInput},
		{&p.ContentSignals.AITrain, &last.ContentSignals.AITrain},
	} {
		if kept(f.from.By) {
			f.to.merge(*f.from)
		}
	}
}

// licensors are the sources of a licence, the first the weakest.
var licensors = []Source{"", SourceRobotsLicense, SourceHeaderLicense, SourceLinkLicense}

// AddLicense adds the URL of a licence, unless a source that comes before has named one.
func (p *Usage) AddLicense(license string, by Source) {
	if license = policyURL(license); license != "" && slices.Index(licensors, by) > slices.Index(licensors, p.LicenseBy) {
		p.License, p.LicenseBy = license, by
	}
}

// Known is what is certain: without what a tdmrep.json may say that could not be read.
func (p *Usage) Known() Usage {
	known := *p
	if known.TDMReserved == SourceUnreadTDM {
		known.TDMReserved = ""
	}
	return known
}

// mark keeps the first source.
func mark(field *Source, by Source) {
	if *field == "" {
		*field = by
	}
}

func (p *Usage) setUnavailable(after time.Time, by Source) {
	if !after.IsZero() && (p.UnavailableAfter.IsZero() || after.Before(p.UnavailableAfter)) {
		p.UnavailableAfter, p.UnavailableAfterBy = after, by
	}
}

func (p *Usage) setPolicy(policy string) {
	if policy != "" {
		p.TDMPolicy = policy
	}
}

// bounded cuts a list at the last comma within MaxValueBytes: half a word may be
// another word.
func bounded(list string) string {
	if len(list) <= MaxValueBytes {
		return list
	}
	list = list[:MaxValueBytes+1]
	return list[:max(0, strings.LastIndexByte(list, ','))]
}
