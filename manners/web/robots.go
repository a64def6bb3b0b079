package web

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// RobotsFile names a kind of /robots.txt.
type RobotsFile string

// The kinds. "Closed" means that a polite crawler may fetch no page.
const (
	// RobotsAllow allows everything.
	RobotsAllow RobotsFile = "allow"
	// RobotsBOM is RobotsDisallow with a byte order mark and CRLF.
	RobotsBOM RobotsFile = "bom"
	// RobotsBinary is 4 KiB of binary; closed.
	RobotsBinary RobotsFile = "binary"
	// RobotsChain is RobotsDisallow behind the five redirects that RFC 9309 section 2.3.1.2
	// requires a crawler to follow.
	RobotsChain RobotsFile = "chain"
	// RobotsCrawlDelay allows everything, with the site's Crawl-delay.
	RobotsCrawlDelay RobotsFile = "crawl-delay"
	// RobotsDeny disallows everything; closed.
	RobotsDeny RobotsFile = "deny"
	// RobotsDisallow disallows /private/.
	RobotsDisallow RobotsFile = "disallow"
	// RobotsError responds with 500; closed.
	RobotsError RobotsFile = "500"
	// RobotsForbidden responds with 403: all allowed.
	RobotsForbidden RobotsFile = "403"
	// RobotsHTML is a page instead, with status 200; closed.
	RobotsHTML RobotsFile = "html"
	// RobotsHang never responds; closed.
	RobotsHang RobotsFile = "hang"
	// RobotsHuge is longer than 500 KiB, with the rule of RobotsDisallow among the last lines
	// before this limit.
	RobotsHuge RobotsFile = "huge"
	// RobotsMany is a chain of six redirects, one more than a crawler follows; closed.
	RobotsMany RobotsFile = "many"
	// RobotsNone responds with 404: all allowed.
	RobotsNone RobotsFile = "none"
	// RobotsOther redirects to the RobotsDisallow of rules.<host>.
	RobotsOther RobotsFile = "other"
	// RobotsReset resets the connection; closed.
	RobotsReset RobotsFile = "reset"
	// RobotsToken allows mosey all but /private/ and disallows all for others.
	RobotsToken RobotsFile = "token"
	// RobotsTokenDeny denies mosey everything and others nothing; closed.
	RobotsTokenDeny RobotsFile = "token-deny"
	// RobotsTooMany responds with 429 and a Retry-After; closed.
	RobotsTooMany RobotsFile = "429"
	// RobotsUnauthorized responds with 401: all allowed.
	RobotsUnauthorized RobotsFile = "401"
	// RobotsUnavailable responds with 503; closed.
	RobotsUnavailable RobotsFile = "503"
	// RobotsWWW redirects to the RobotsDisallow of www.<host>.
	RobotsWWW RobotsFile = "www"
	// RobotsWildcard has rules with * and $ and an Allow among them.
	RobotsWildcard RobotsFile = "wildcard"
)

const (
	robotsPath = "/robots.txt"

	// maxRobotsRedirects bounds the redirects to a robots.txt, RFC 9309 section 2.3.1.2.
	maxRobotsRedirects = 5

	robotsLimit = 500 << 10 // RFC 9309 section 2.5
)

// robotsFile defines the response of a kind and, by construction, its meaning for mosey.
type robotsFile struct {
	allowed   func(target string) bool
	behaviour Behaviour           // nil: the text
	text      func(s Site) string // nil: never read
	hops      int                 // redirects on the site before the text
}

func allowAll(string) bool  { return true }
func allowNone(string) bool { return false }

func allowPublic(target string) bool {
	return !strings.HasPrefix(target, "/private/")
}

// allowWildcard implements wildcardRules by hand.
func allowWildcard(target string) bool {
	switch {
	case target == "/private/open":
		return true
	case strings.HasPrefix(target, "/private/"),
		strings.HasPrefix(target, "/q?"),
		strings.HasSuffix(target, ".pdf"),
		strings.HasSuffix(target, "/print"):
		return false
	}
	return true
}

const wildcardRules = "User-agent: *\n" +
	"Disallow: /*.pdf$\n" +
	"Disallow: /*/print\n" +
	"Disallow: /private/\n" +
	"Allow: /private/open\n" +
	"Disallow: /q?\n"

var robotsFiles = map[RobotsFile]robotsFile{
	RobotsAllow:        {allowed: allowAll, text: rules("User-agent: *\nDisallow:\n")},
	RobotsBOM:          {allowed: allowPublic, text: bomText},
	RobotsBinary:       {allowed: allowNone, text: binaryText},
	RobotsChain:        {allowed: allowPublic, text: disallowText, hops: maxRobotsRedirects},
	RobotsCrawlDelay:   {allowed: allowAll, text: rules("User-agent: *\n")},
	RobotsDeny:         {allowed: allowNone, text: rules("User-agent: *\nDisallow: /\n")},
	RobotsDisallow:     {allowed: allowPublic, text: disallowText},
	RobotsError:        {allowed: allowNone, behaviour: Status{Code: http.StatusInternalServerError}},
	RobotsForbidden:    {allowed: allowAll, behaviour: Status{Code: http.StatusForbidden}},
	RobotsHTML:         {allowed: allowNone, text: htmlText},
	RobotsHang:         {allowed: allowNone, behaviour: Hang{}},
	RobotsHuge:         {allowed: allowPublic, text: hugeText},
	RobotsMany:         {allowed: allowNone, text: disallowText, hops: maxRobotsRedirects + 1},
	RobotsNone:         {allowed: allowAll, behaviour: Status{Code: http.StatusNotFound}},
	RobotsOther:        {allowed: allowPublic, text: disallowText},
	RobotsReset:        {allowed: allowNone, behaviour: Reset{}},
	RobotsToken:        {allowed: allowPublic, text: tokenText},
	RobotsTokenDeny:    {allowed: allowNone, text: tokenDenyText},
	RobotsTooMany:      {allowed: allowNone, behaviour: Status{Code: http.StatusTooManyRequests, RetryAfter: 2 * time.Second}},
	RobotsUnauthorized: {allowed: allowAll, behaviour: Status{Code: http.StatusUnauthorized}},
	RobotsUnavailable:  {allowed: allowNone, behaviour: Status{Code: http.StatusServiceUnavailable}},
	RobotsWWW:          {allowed: allowPublic, text: disallowText},
	RobotsWildcard:     {allowed: allowWildcard, text: rules(wildcardRules)},
}

// RobotsFiles lists all kinds, in order of name.
func RobotsFiles() []RobotsFile {
	kinds := make([]RobotsFile, 0, len(robotsFiles))
	for kind := range robotsFiles {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

// robotsText returns the n-th response of a site's /robots.txt.
func (s *site) robotsText(n int) string {
	if s.deniesAll(n) {
		return robotsFiles[RobotsDeny].text(s.Site)
	}
	return robotsFiles[s.Robots].text(s.Site)
}

// deniesAll reports whether the n-th response disallows everything, see RobotsTurns.
func (s *site) deniesAll(n int) bool { return s.RobotsTurns > 0 && n > s.RobotsTurns }

// rules returns a text with the site's Crawl-delay in its last group.
func rules(text string) func(Site) string {
	return func(s Site) string { return text + paceLines(s) }
}

// paceLines returns the Crawl-delay and Visit-time lines of a site.
func paceLines(s Site) (lines string) {
	if s.CrawlDelay != 0 {
		lines = "Crawl-delay: " + strconv.FormatFloat(s.CrawlDelay.Seconds(), 'f', -1, 64) + "\n"
	}
	if s.VisitTime != (VisitTime{}) {
		lines += "Visit-time: " + s.VisitTime.String() + "\n"
	}
	return lines
}

func disallowText(s Site) string {
	return "# keep out of /private/\nUser-agent: *\nDisallow: /private/\n" + paceLines(s)
}

func bomText(s Site) string {
	return "\ufeff" + strings.ReplaceAll(disallowText(s), "\n", "\r\n")
}

func tokenText(s Site) string {
	return "User-agent: *\nDisallow: /\n\nUser-agent: Mosey\nDisallow: /private/\n" + paceLines(s)
}

func tokenDenyText(s Site) string {
	return "User-agent: mosey\nDisallow: /\n\nUser-agent: *\nDisallow:\n" + paceLines(s)
}

func binaryText(Site) string {
	text := make([]byte, 4<<10)
	for i := range text {
		text[i] = byte(i * 7)
	}
	return string(text)
}

func htmlText(s Site) string {
	return "<!doctype html><html><head><title>" + s.Host +
		"</title></head><body><p>Welcome.</p></body></html>\n"
}

func hugeText(s Site) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	tail := "Disallow: /private/\n" + paceLines(s)
	for i := 0; b.Len() < robotsLimit-len(tail)-64; i++ {
		fmt.Fprintf(&b, "Disallow: /nothing-here/%d\n", i)
	}
	b.WriteString(tail)
	for b.Len() < robotsLimit+100<<10 {
		b.WriteString("# past what a crawler needs to read\n")
	}
	return b.String()
}
