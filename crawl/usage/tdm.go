package usage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl/kinds"
)

// TDMPath is the path of an origin's file of TDM rules.
const TDMPath = kinds.TDMPath

const (
	// MaxTDMBytes is the maximum size of a tdmrep.json.
	MaxTDMBytes = 256 << 10

	// MaxTDMRules limits the stored rules, the first ones, MaxLocationBytes the length of a path.
	MaxTDMRules      = 500
	MaxLocationBytes = 2048

	// MaxPolicyBytes limits the length of a TDM policy's URL.
	MaxPolicyBytes = 2048
)

// TDM is a tdmrep.json: the rules of one origin, in their order.
type TDM []TDMRule

// TDMRule declares whether the TDM rights to some paths of an origin are reserved.
type TDMRule struct {
	// Location is a pattern of paths, as in robots.txt.
	Location string `json:"location"`

	Reserved bool `json:"reserved"`

	// Unread is set if the file could not be read, and may reserve all.
	Unread bool `json:"unread,omitempty"`

	// Policy is the http or https URL of the terms, or empty.
	Policy string `json:"policy,omitempty"`
}

// ParseTDM reads the body of a tdmrep.json. It skips rules without a usable location and
// tdm-reservation. It returns an error if the body is not an array, such as the HTML page that many
// servers send for every path: such an origin has no rules.
func ParseTDM(body []byte) (TDM, error) {
	if len(body) > MaxTDMBytes {
		return nil, fmt.Errorf("tdmrep.json has %d bytes, more than the limit of %d", len(body), MaxTDMBytes)
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")), &list); err != nil {
		return nil, fmt.Errorf("tdmrep.json is not a JSON array of rules: %w", err)
	}
	var rules TDM
	for _, fields := range list {
		location, hasLocation := text(fields["location"])
		reserved, known := reservation(fields["tdm-reservation"])
		if !hasLocation || !known || location == "" || len(location) > MaxLocationBytes {
			continue
		}
		if len(rules) == MaxTDMRules {
			break
		}
		policy, _ := text(fields["tdm-policy"])
		rules = append(rules, TDMRule{Location: location, Reserved: reserved, Policy: policyURL(policy)})
	}
	return rules, nil
}

// Match returns the rule for a path with its query, as in a request target. The first matching rule
// applies. matches compares a location with the path by the rules for robots.txt.
func (t TDM) Match(pathAndQuery string, matches func(pattern, pathAndQuery string) bool) (TDMRule, bool) {
	for _, rule := range t {
		if matches(rule.Location, pathAndQuery) {
			return rule, true
		}
	}
	return TDMRule{}, false
}

// reservation reads 1 or 0, and the strings and booleans that some publishers write.
func reservation(raw json.RawMessage) (reserved, ok bool) {
	switch strings.Trim(string(raw), `"`) {
	case "1", "true":
		return true, true
	case "0", "false":
		return false, true
	}
	return false, false
}

// text reads a string that Postgres can hold.
func text(raw json.RawMessage) (string, bool) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	return s, !strings.ContainsFunc(s, unicode.IsControl)
}

// policyURL returns the URL of a policy; empty if it is unusable.
func policyURL(value string) string {
	value = strings.TrimSpace(value)
	if value == "" || len(value) > MaxPolicyBytes || !utf8.ValidString(value) {
		return ""
	}
	u, err := url.Parse(value) // refuses control characters
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	return value
}
