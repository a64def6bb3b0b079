package about

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

const (
	// RangesType is the media type of a list of addresses (draft-illyes-webbotauth-jafar-00, 7).
	RangesType = "application/jafar+json"
	// RangesRel is the link relation of a crawler's list (draft-illyes-aipref-cbcp-04, 2.5).
	RangesRel = "client-ranges"
	// RangesAge is the age at which a list must be rewritten, even without a change.
	RangesAge = 24 * time.Hour

	maxPrefixes = 10_000 // of a list
)

// Ranges is a list of the networks of a crawler's requests.
type Ranges struct {
	Created  time.Time
	Prefixes []netip.Prefix
}

// rangesDoc is the JSON of draft-illyes-webbotauth-jafar-00, 2.
type rangesDoc struct {
	Created  string       `json:"creationTime"` //nolint:tagliatelle // as the draft has it
	Prefixes *[]prefixDoc `json:"prefixes"`
}

type prefixDoc struct {
	V4 string `json:"ipv4Prefix,omitempty"` //nolint:tagliatelle // as the draft has it
	V6 string `json:"ipv6Prefix,omitempty"` //nolint:tagliatelle // as the draft has it
}

// JSON returns the published list: each network once, sorted.
func (r Ranges) JSON() ([]byte, error) {
	all := make([]netip.Prefix, len(r.Prefixes))
	for i, p := range r.Prefixes {
		all[i] = p.Masked()
	}
	slices.SortFunc(all, netip.Prefix.Compare)
	docs := []prefixDoc{} // an empty list is [], and not null
	for _, p := range slices.Compact(all) {
		if p.Addr().Is4() {
			docs = append(docs, prefixDoc{V4: p.String()})
		} else {
			docs = append(docs, prefixDoc{V6: p.String()})
		}
	}
	text, err := json.MarshalIndent(rangesDoc{r.Created.UTC().Format(time.RFC3339), &docs}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the list of addresses as JSON: %w", err)
	}
	return append(text, '\n'), nil
}

// ReadRanges parses a list. It ignores unknown members and, as the draft requires, entries with
// both kinds of networks or neither. Any other violation of the draft is an error.
func ReadRanges(body []byte) (r Ranges, err error) {
	var doc rangesDoc
	if err := json.Unmarshal(body, &doc); err != nil {
		if text := bytes.TrimSpace(body); bytes.HasPrefix(text, []byte("<")) {
			return r, errors.New("it is HTML or XML, not JSON")
		}
		return r, fmt.Errorf("it is not a JSON list of addresses: %w", err)
	}
	if doc.Prefixes == nil {
		return r, errors.New(`it has no "prefixes"`)
	}
	if len(*doc.Prefixes) > maxPrefixes {
		return r, fmt.Errorf("it has %d networks: want at most %d", len(*doc.Prefixes), maxPrefixes)
	}
	if r.Created, err = time.Parse(time.RFC3339, doc.Created); err != nil || !strings.HasSuffix(doc.Created, "Z") {
		return r, fmt.Errorf(`its "creationTime" is %.40q: want an instant in UTC, such as 2026-04-21T14:30:00Z`, doc.Created)
	}
	for _, d := range *doc.Prefixes {
		if (d.V4 == "") == (d.V6 == "") {
			continue
		}
		p, err := netip.ParsePrefix(d.V4 + d.V6)
		if err != nil || p.Addr().Is4() != (d.V4 != "") {
			return r, fmt.Errorf("%.60q is not a valid network", d.V4+d.V6)
		}
		r.Prefixes = append(r.Prefixes, p.Masked())
	}
	return r, nil
}

// Has reports whether a network is within a network of the list.
func (r Ranges) Has(network netip.Prefix) bool {
	return slices.ContainsFunc(r.Prefixes, func(p netip.Prefix) bool {
		return p.Bits() <= network.Bits() && p.Contains(network.Addr())
	})
}

// Same reports whether two lists have the same networks.
func (r Ranges) Same(other Ranges) bool {
	r.Created = other.Created
	one, err := r.JSON()
	two, err2 := other.JSON()
	return err == nil && err2 == nil && bytes.Equal(one, two)
}
