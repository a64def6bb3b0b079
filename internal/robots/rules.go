package robots

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mosey-web/mosey/crawl/variants"
)

const (
	// MaxRuleText caps [Decision.Rule], in bytes.
	MaxRuleText = 512

	// MaxContentSignals and MaxContentUsages cap the lines of Content-Signal and Content-Usage of a
	// group. The first lines count. Longer lines are dropped.
	MaxContentSignals     = 16
	MaxContentSignalBytes = 1024
	MaxContentUsages      = 256
	MaxContentUsageBytes  = 4096

	// MaxLicenseBytes caps the URL of a licence.
	MaxLicenseBytes = 2048
)

// Rules is the group of a robots.txt that binds one crawler. It is immutable and safe for
// concurrent use; its zero value allows everything. It holds no reference to its [File].
type Rules struct {
	rules     []rule // the strongest first
	temoto    *temoto
	delay     time.Duration
	delayLine int      // 0 without a delay
	signals   []record // values are printable
	usages    []usage  // the strongest first
	visits    []visitTime
	license   string // printable
}

type rule struct {
	allow   bool
	written string // the value as in the file, printable
	pattern string // the value as it is compared
	line    int
}

type usage struct {
	path        string // printable
	pattern     string // the path as it is compared
	preferences string // printable
	line        int
}

// Decision is the decision about one path.
type Decision struct {
	// Allowed reports whether the path may be fetched.
	Allowed bool

	// Rule is the rule that decided, such as "Disallow: /private": as written, but with control octets
	// and invalid UTF-8 percent-encoded and cut to [MaxRuleText]. Line is its line number in the file,
	// from 1. They are "" and 0 if no rule matched.
	Rule string
	Line int
}

// Rules returns the rules for a product token such as "mosey" (RFC 9309 §2.2.1): the rules of all
// groups that name the token, in upper or lower case, else of all groups for "*", else no rules. A
// token consists of letters, "-" and "_" and is compared as a whole. No group names a token with
// other characters, such as a version or a blank. A delay before the first group binds everybody.
func (f *File) Rules(token string) *Rules {
	named := func(r record) bool {
		return r.field == fieldUserAgent && r.value != "" && strings.EqualFold(r.value, token)
	}
	if !slices.ContainsFunc(f.records, named) {
		token = "*"
	}

	rules := &Rules{}
	// Rules end a run of user-agent lines, and lines that are not in the RFC end it only for their own
	// kind. So several groups are open at any line.
	var groups [fieldLicense + 1]group
	others := "" // the first licence that is not the group's
	inGroup := false
	for _, r := range f.records {
		kind := r.field
		switch kind {
		case fieldUserAgent:
			inGroup = true
			for i, g := range groups {
				groups[i] = group{applies: named(r) || g.applies && !g.closed}
			}
			continue
		case fieldRequestRate:
			kind = fieldCrawlDelay
		case fieldAllow, fieldDisallow:
			kind = fieldAllow
			for i := range groups {
				groups[i].closed = true
			}
		default: // has a group of its own
		}
		groups[kind].closed = true
		if groups[kind].applies || kind == fieldCrawlDelay && !inGroup {
			rules.add(r)
		} else if kind == fieldLicense {
			others = cmp.Or(others, licenseOf(r))
		}
	}
	rules.license = cmp.Or(rules.license, others)
	rules.sortRules()
	return rules
}

// group follows the lines of one kind through the file.
type group struct {
	applies bool // the crawler is among its user-agent lines
	closed  bool // the next user-agent line starts another group
}

func (r *Rules) add(rec record) {
	switch rec.field {
	case fieldCrawlDelay:
		r.addDelay(parseDelay, rec)
	case fieldRequestRate:
		r.addDelay(parseRate, rec)
	case fieldVisitTime:
		if v, ok := parseVisitTime(rec.value); ok && len(r.visits) < MaxVisitTimes {
			r.visits = append(r.visits, visitTime{v, rec.line})
		}
	case fieldLicense:
		r.license = cmp.Or(r.license, licenseOf(rec))
	case fieldContentUsage:
		r.addUsage(rec)
	case fieldContentSignal:
		value := printable(rec.value)
		if value != "" && len(value) <= MaxContentSignalBytes && len(r.signals) < MaxContentSignals {
			r.signals = append(r.signals, record{rec.field, value, rec.line})
		}
	default:
		if rec.value != "" {
			r.rules = append(r.rules, readings(rec)...)
		}
	}
}

// readings returns the rules that a line means: usually one, but zero or two if it breaks the RFC.
// In doubt it forbids:
//
//   - A path without its leading slash matches nothing as it is written. A
//     Disallow gets the slash. An Allow would open paths that other rules forbid, so
//     it is no rule.
//   - A "%" that begins no escape stands for itself, "%25", or for the beginning of
//     any escape, as in "/*%" or "/a%2". A Disallow is read both ways.
func readings(r record) []rule {
	value := printable(r.value)
	if r.field == fieldAllow && value[0] != '/' && value[0] != '*' {
		return nil
	}
	one := rule{allow: r.field == fieldAllow, written: value, pattern: normalizePattern(value), line: r.line}
	raw := pattern(value, "%")
	if one.allow || raw == one.pattern {
		return []rule{one}
	}
	other := one
	other.pattern = raw
	return []rule{one, other}
}

func (r *Rules) addDelay(parse func(string) (time.Duration, bool), rec record) {
	delay, ok := parse(rec.value)
	if ok && (r.delayLine == 0 || delay > r.delay) {
		r.delay, r.delayLine = delay, max(rec.line, 2) // line 1 is String's
	}
}

// licenseOf returns the licence of a line if it may be an absolute http or https URL, else "".
func licenseOf(rec record) string {
	value := printable(rec.value)
	scheme, rest, _ := strings.Cut(value, "://")
	if rest == "" || len(value) > MaxLicenseBytes || !strings.EqualFold(scheme, "https") && !strings.EqualFold(scheme, "http") {
		return ""
	}
	return value
}

// addUsage reads a path and, after white space, the preferences for it. Lines without a path, from
// the first drafts, apply to every path.
func (r *Rules) addUsage(rec record) {
	path, preferences := "/", rec.value
	if strings.HasPrefix(preferences, "/") || strings.HasPrefix(preferences, "*") {
		end := max(0, strings.IndexAny(preferences, blanks))
		path, preferences = preferences[:end], strings.TrimLeft(preferences[end:], blanks)
	}
	if path == "" || preferences == "" || len(rec.value) > MaxContentUsageBytes || len(r.usages) == MaxContentUsages {
		return
	}
	path = printable(path)
	r.usages = append(r.usages, usage{path: path, pattern: normalizePattern(path), preferences: printable(preferences), line: rec.line})
}

// sortRules sorts the rules, so that the first match decides: the rule with the most octets, Allow
// before Disallow (RFC 9309 §2.2.2).
func (r *Rules) sortRules() {
	slices.SortFunc(r.rules, func(a, b rule) int {
		return cmp.Or(
			cmp.Compare(len(b.pattern), len(a.pattern)), cmp.Compare(a.name(), b.name()), cmp.Compare(a.line, b.line),
		)
	})
	slices.SortStableFunc(r.usages, func(a, b usage) int { return cmp.Compare(len(b.pattern), len(a.pattern)) })
	r.temoto = newTemoto(r.rules)
}

// Decide reports whether a path with its query, as in the request target
// ("/a/b?x=1"), may be fetched. A missing leading slash is added.
func (r *Rules) Decide(pathAndQuery string) Decision {
	if pathAndQuery == "/robots.txt" {
		return Decision{Allowed: true}
	}
	path := normalizePath(pathAndQuery)
	decision := Decision{Allowed: true}
	at := slices.IndexFunc(r.rules, func(rule rule) bool { return variants.Matches(rule.pattern, path) })
	if at >= 0 {
		winner := r.rules[at]
		decision = Decision{Allowed: winner.allow, Rule: winner.text(), Line: winner.line}
	}
	if r.temoto.covers(path) {
		decision.Allowed = r.temoto.allows(path)
	}
	return decision
}

// CrawlDelay returns the group's longest delay by Crawl-delay or Request-rate, between 0 and
// [MaxCrawlDelay], and whether it has one.
func (r *Rules) CrawlDelay() (time.Duration, bool) {
	return r.delay, r.delayLine != 0
}

// VisitTimes returns the times of the group's Visit-time lines, in their order. A visit may fall in
// any of them. It returns no times if the group has no such line.
func (r *Rules) VisitTimes() []VisitTime {
	times := make([]VisitTime, len(r.visits))
	for i, v := range r.visits {
		times[i] = v.VisitTime
	}
	return times
}

// License returns the http or https URL of the licence that the file names (RSL 1.0): the first of
// the group, else the first of the file. RSL has licences for the whole site, and some for a group.
// The URL is as written, but with control octets and invalid UTF-8 percent-encoded; "" means no
// licence. The caller must check that the URL is usable.
func (r *Rules) License() string { return r.license }

// ContentSignals returns the values of the group's Content-Signal lines (contentsignals.org), such
// as "search=yes, ai-train=no", in their order: as written, but with control octets and invalid
// UTF-8 percent-encoded.
func (r *Rules) ContentSignals() []string {
	values := make([]string, len(r.signals))
	for i, s := range r.signals {
		values[i] = s.value
	}
	return values
}

// ContentUsage returns the preferences of the group's Content-Usage lines for a path with its
// query, such as "train-ai=n" (draft-ietf-aipref-attach-04). The matching lines with the longest
// path count. They are as written, but with control octets and invalid UTF-8 percent-encoded.
func (r *Rules) ContentUsage(pathAndQuery string) []string {
	if len(r.usages) == 0 {
		return nil
	}
	var values []string
	longest, path := 0, normalizePath(pathAndQuery)
	for _, u := range r.usages {
		if len(u.pattern) < longest {
			break
		}
		if variants.Matches(u.pattern, path) {
			longest, values = len(u.pattern), append(values, u.preferences)
		}
	}
	return values
}

// String renders the group as a robots.txt for the user agent "*". The text is printable UTF-8 and
// keeps the line number of each rule. [Restore] returns the same rules from it. [Parse] does, too,
// within its limits. String returns "" for a group without rules.
func (r *Rules) String() string {
	type numbered struct {
		line int
		text string
	}
	var content []numbered
	add := func(line int, text ...string) { content = append(content, numbered{line, strings.Join(text, "")}) }
	for _, rule := range r.rules {
		add(rule.line, rule.name(), rule.written)
	}
	for _, s := range r.signals {
		add(s.line, "Content-Signal: ", s.value)
	}
	for _, u := range r.usages {
		add(u.line, "Content-Usage: ", u.path, " ", u.preferences)
	}
	for _, v := range r.visits {
		add(v.line, "Visit-time: ", v.String())
	}
	if r.delayLine != 0 {
		add(r.delayLine, "Crawl-delay: ", strconv.FormatFloat(r.delay.Seconds(), 'f', -1, 64))
	}
	if r.license != "" {
		// The licence may stand anywhere in the file. It comes last, on a free line.
		last := 1
		for _, c := range content {
			last = max(last, c.line)
		}
		add(last+1, "License: ", r.license)
	}
	if len(content) == 0 {
		return ""
	}
	slices.SortFunc(content, func(a, b numbered) int { return cmp.Compare(a.line, b.line) })
	content = slices.Compact(content) // a line that is read two ways

	var b strings.Builder
	// Line 1 is free: a user-agent line preceded all of them, but for a delay.
	b.WriteString("User-agent: *")
	at := 1
	for _, c := range content {
		for ; at < c.line; at++ {
			b.WriteByte('\n')
		}
		b.WriteString(c.text)
	}
	b.WriteByte('\n')
	return b.String()
}

// Restore returns the rules that [Rules.String] rendered. The text is trusted: its size is not
// limited.
func Restore(text string) *Rules {
	return read(text, math.MaxInt).Rules("*")
}

func (r rule) name() string {
	if r.allow {
		return "Allow: "
	}
	return "Disallow: "
}

// text returns the rule for people, cut to MaxRuleText between two characters.
func (r rule) text() string {
	text := r.name() + r.written
	return strings.ToValidUTF8(text[:min(len(text), MaxRuleText)], "")
}

// printable returns a copy of value with the octets that could not be stored as
// text percent-encoded, which changes nothing for the matcher.
func printable(value string) string {
	var b strings.Builder
	b.Grow(len(value))
	for i := 0; i < len(value); {
		r, size := utf8.DecodeRuneInString(value[i:])
		if r == utf8.RuneError && size == 1 || isControl(value[i]) {
			writeEscape(&b, value[i])
		} else {
			b.WriteString(value[i : i+size])
		}
		i += size
	}
	return b.String()
}
