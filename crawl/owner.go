package crawl

import (
	"slices"
	"time"
)

// OwnerGap is the time without a readable front page after which a domain may have another owner. A
// registry gives a name that was not renewed to another after about 75 days.
const OwnerGap = 30 * 24 * time.Hour

// ownerSigns is the least number of signs that must be known before and after a gap.
const ownerSigns = 3

// Owner holds the signs of a domain's owner; empty ones are unknown. The JSON is an on-disk format.
type Owner struct {
	// SeenAt is the time of the last readable front page.
	SeenAt time.Time `json:"seen_at"`
	// Title and Language are those of the front page.
	Title    string `json:"title,omitempty"`
	Language string `json:"language,omitempty"`
	// Issuer is the organization that issued the certificate.
	Issuer string `json:"issuer,omitempty"`
	// NameServers lists the registered domains of the name servers, sorted.
	NameServers []string `json:"name_servers,omitempty"`
}

// Differs reports whether a domain seems to have another owner than before: it had no readable
// front page for OwnerGap, and each sign that is known of both differs, three of them at least.
func (o Owner) Differs(before Owner) bool {
	if before.SeenAt.IsZero() || o.SeenAt.Sub(before.SeenAt) < OwnerGap {
		return false
	}
	known := 0
	for _, sign := range [][2]string{{o.Title, before.Title}, {o.Language, before.Language}, {o.Issuer, before.Issuer}} {
		if sign[0] == "" || sign[1] == "" {
			continue
		}
		if sign[0] == sign[1] {
			return false
		}
		known++
	}
	if len(o.NameServers) > 0 && len(before.NameServers) > 0 {
		if slices.ContainsFunc(o.NameServers, func(n string) bool { return slices.Contains(before.NameServers, n) }) {
			return false
		}
		known++
	}
	return known >= ownerSigns
}
