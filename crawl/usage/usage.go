package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Token is the name by which a publisher addresses Mosey alone, in lower case.
const Token = "mosey"

const (
	// MaxValueBytes limits the read part of one header value, meta element or line, up to the last
	// comma within, in bytes.
	MaxValueBytes = 4 << 10

	// MaxValues limits the values read from one header.
	MaxValues = 32
)

// Source is the medium of a signal as text, such as "meta robots". It is empty without a signal.
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

// IsSet reports whether there is a source at all.
func (s Source) IsSet() bool { return s != "" }

// Usage holds the publisher's statements on the use of a page. Each field names the source of its
// statement; the zero value means no statement. The Add methods only ever make it more restrictive;
// the first of several sources is stored.
type Usage struct {
	// NoIndex forbids indexing the page, NoFollow following its links, NoArchive keeping copies.
	// "none" is NoIndex and NoFollow.
	NoIndex   Source `json:"noindex,omitempty"`
	NoFollow  Source `json:"nofollow,omitempty"`
	NoArchive Source `json:"noarchive,omitempty"`

	// NoSnippet forbids showing extracts of the page, NoImageIndex indexing its images.
	NoSnippet    Source `json:"nosnippet,omitempty"`
	NoImageIndex Source `json:"noimageindex,omitempty"`

	// NoAI forbids training on the page, NoImageAI on its images.
	NoAI      Source `json:"noai,omitempty"`
	NoImageAI Source `json:"noimageai,omitempty"`

	// UnavailableAfter is the earliest time after which the page should leave an index, in UTC,
	// between the years 1970 and 9999. Zero means never.
	UnavailableAfter   time.Time `json:"unavailable_after,omitzero"`
	UnavailableAfterBy Source    `json:"unavailable_after_by,omitempty"`

	// TDMReserved is set if the rights to text and data mining are reserved. TDMPolicy is the http or
	// https URL of the terms, at most MaxPolicyBytes long. The last added URL wins: the page's own, if
	// files, headers and pages are added in this order.
	TDMReserved Source `json:"tdm_reserved,omitempty"`
	TDMPolicy   string `json:"tdm_policy,omitempty"`

	ContentSignals ContentSignals `json:"content_signals,omitzero"`

	// Terms is the http or https URL of the site's terms of service in the response's header, at most
	// MaxPolicyBytes long. License is the URL of the page's licence, such as a document of Really
	// Simple Licensing (RSL). It is named by the page, else its header, else robots.txt. Both are for
	// people to read and have no further effect.
	Terms     string `json:"terms,omitempty"`
	License   string `json:"license,omitempty"`
	LicenseBy Source `json:"license_by,omitempty"`
}

// The sources of the signals that are stored with a page. Each visit reads robots.txt and
// tdmrep.json anew.
var (
	pageSources   = []Source{SourceMetaRobots, SourceMetaToken, SourceMetaTDM, SourceLinkLicense}
	headerSources = []Source{SourceHeader, SourceHeaderToken, SourceHeaderTDM, SourceHeaderSignal, SourceHeaderUsage, SourceHeaderLicense}
)

// AddStored adds the signals of the last visit to an unchanged page: the page's own, and its
// header's if this response may leave them out.
func (p *Usage) AddStored(last Usage, header bool) {
	isStored := func(by Source) bool {
		return slices.Contains(pageSources, by) || header && slices.Contains(headerSources, by)
	}
	to := p.sources()
	for i, from := range last.sources() {
		if isStored(*from) {
			mark(to[i], *from)
		}
	}
	if isStored(last.UnavailableAfterBy) {
		p.setUnavailable(last.UnavailableAfter, last.UnavailableAfterBy)
	}
	if p.TDMPolicy == "" && isStored(last.TDMReserved) {
		p.setPolicy(last.TDMPolicy)
	}
	if p.Terms == "" && header {
		p.Terms = last.Terms
	}
	if isStored(last.LicenseBy) {
		p.AddLicense(last.License, last.LicenseBy)
	}
	for _, f := range []struct{ to, from *Signal }{
		{&p.ContentSignals.Search, &last.ContentSignals.Search},
		{&p.ContentSignals.AIInput, &last.ContentSignals.AIInput},
		{&p.ContentSignals.AITrain, &last.ContentSignals.AITrain},
		{&p.ContentSignals.Use, &last.ContentSignals.Use},
	} {
		if isStored(f.from.Source) {
			f.to.merge(*f.from)
		}
	}
}

// licenseSources are the sources of a licence, the weakest first.
var licenseSources = []Source{"", SourceRobotsLicense, SourceHeaderLicense, SourceLinkLicense}

// AddLicense adds the URL of a licence, unless a stronger source has named a licence.
func (p *Usage) AddLicense(license string, by Source) {
	if license = policyURL(license); license != "" && slices.Index(licenseSources, by) > slices.Index(licenseSources, p.LicenseBy) {
		p.License, p.LicenseBy = license, by
	}
}

// WithoutUnread returns the statements without the possible reservation of an unreadable
// tdmrep.json.
func (p *Usage) WithoutUnread() Usage {
	known := *p
	if known.TDMReserved == SourceUnreadTDM {
		known.TDMReserved = ""
	}
	return known
}

// mark sets the source, unless it is already set.
func mark(field *Source, by Source) {
	*field = cmp.Or(*field, by)
}

func (p *Usage) setUnavailable(after time.Time, by Source) {
	if !after.IsZero() && (p.UnavailableAfter.IsZero() || after.Before(p.UnavailableAfter)) {
		p.UnavailableAfter, p.UnavailableAfterBy = after, by
	}
}

func (p *Usage) setPolicy(policy string) {
	p.TDMPolicy = cmp.Or(policy, p.TDMPolicy)
}

// truncateList cuts a list at the last comma within MaxValueBytes: half a word may be another.
func truncateList(list string) string {
	if len(list) <= MaxValueBytes {
		return list
	}
	list = list[:MaxValueBytes+1]
	return list[:max(0, strings.LastIndexByte(list, ','))]
}
