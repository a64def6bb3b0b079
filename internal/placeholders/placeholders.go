// Package placeholders recognizes pages in place of a site: those of parked domains, and the
// default pages of servers and hosting companies.
//
// A sign proves a placeholder: no page about such services, or about a domain that is for sale, has
// it. Words alone, such as "this domain is for sale", prove nothing.
package placeholders

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/mosey-web/mosey/crawl/reasons"
)

// parkingSigns are texts in the source of a page of a parking service. Services write them into
// each of their pages. In the visible text they prove nothing.
var parkingSigns = []struct{ service, text string }{
	{"Bodis", `window.park = "ey`},
	{"GoDaddy", `window.location.href="/lander"`},
	{"GoDaddy", `="https://img1.wsimg.com/parking-lander/`},
	{"Google AdSense for domains", `<html data-adblockkey="`}, // Bodis, ParkingCrew, Sedo and others show its advertisements
	{"ParkingCrew", `//d38psrni17bvxu.cloudfront.net/themes/`},
	{"ParkLogic", `.parklogic.com/`},
	{"Sedo", `//sedoparking.com/`},
	{"Sedo", `//www.sedoparking.com/`},
	{"Sedo", `//img.sedoparking.com/`},
	{"Sedo", `\/\/sedoparking.com\/`},
}

// parkedTitle is the title of the pages that Hostinger shows for parked domains.
const parkedTitle = "Parked Domain name on Hostinger DNS system"

// defaultTitles match whole titles of default pages. Their texts match defaultTexts or are empty.
var (
	defaultTitles = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
		`Apache2 \w+ Default Page: It works`,                                   // Debian, Ubuntu
		`(Apache )?HTTP Server Test Page( powered by .*)?`,                     // Fedora, RHEL, CentOS
		`Test Page for the (Apache |Nginx )?HTTP Server( on .*)?`,              // the same
		`Test Page for the SSL/TLS-aware Apache Installation on Web Site`,      // Apache 2.0
		`Welcome to (nginx|OpenResty|CentOS|XAMPP|tengine)( on .*)?!?`,         // nginx of Debian and Fedora, too
		`IIS7|IIS Windows( Server)?|Microsoft Internet Information Services 8`, // images alone
		`Caddy works!`,
		`(Default Web Site|Default PLESK|Web Server's Default|Domain Default) Page`, // cPanel, Plesk
	}, "|") + `)$`)
	defaultTexts = regexp.MustCompile(`(?i)successfully|\btest the\b|it works|default (web ?)?(page|site)|website (is|was) `)
)

// itWorks is the whole text of the default page of Apache as its authors ship it. Its title is
// empty, or "It works! Apache httpd".
const itWorks = "It works!"

// maxText caps the visible text of a placeholder, in bytes. Debian's default page of Apache has
// about 3,000 bytes.
const maxText = 5000

// Find returns the placeholder that a page is, reasons.Parked or reasons.DefaultPage, and the
// evidence. It returns an empty reason for other pages. text is the visible text without the title.
func Find(source []byte, title, text string) (reason reasons.Reason, evidence string) {
	if len(text) > maxText {
		return "", ""
	}
	for _, s := range parkingSigns {
		if bytes.Contains(source, []byte(s.text)) && !strings.Contains(text, s.text) {
			return reasons.Parked, s.service + ": its source has " + s.text
		}
	}
	switch title = strings.TrimSpace(title); {
	case title == parkedTitle:
		return reasons.Parked, "its title is " + title
	case defaultTitles.MatchString(title) && (text == "" || defaultTexts.MatchString(text)):
		return reasons.DefaultPage, "its title is " + title
	case strings.TrimSpace(text) == itWorks && (title == "" || strings.HasPrefix(title, itWorks)):
		return reasons.DefaultPage, "its text is " + itWorks
	}
	return "", ""
}
