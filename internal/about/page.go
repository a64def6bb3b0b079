package about

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/usage"
)

// Crawler is the subject of a page. Empty fields are unknown.
type Crawler struct {
	Token, UserAgent string
	Purpose          settings.Purpose
	About            string        // in the operator's own words
	Delay            time.Duration // the minimum between two requests to a domain
	Contact          string        // a mail address or a URL
	// Ranges is the URL of the list of addresses, and Keys the URL of SignatureAgent's keys.
	// ReverseDNS is the domain of the addresses' names.
	Ranges, ReverseDNS   string
	Keys, SignatureAgent string
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Page returns the page as HTML. The same Crawler has the same page.
func (c Crawler) Page() ([]byte, error) {
	view := struct {
		Crawler
		Why, Delay, ContactLink                                string
		MetaName, HeaderName, Directives, Effect, ContentUsage string
		// One is set if there is one way to identify the crawler.
		One bool
	}{Crawler: c, Delay: formatDuration(c.Delay), MetaName: "robots"}
	view.Contact = strings.TrimPrefix(c.Contact, "mailto:")
	view.ContactLink = view.Contact
	if !strings.Contains(view.Contact, "://") {
		view.ContactLink = "mailto:" + view.Contact
	}
	if c.Token == usage.Token { // only this name is read there
		view.MetaName, view.HeaderName = c.Token, c.Token+": "
	}
	switch c.Purpose {
	case settings.PurposeAITrain:
		view.Why = "It collects text to train AI models."
		view.Directives, view.ContentUsage = "noai", "train-ai=n"
		view.Effect = "The crawler then does not use the page, and does not follow its links."
	case settings.PurposeArchive:
		view.Why = "It stores copies of pages."
		view.Directives = "noarchive"
		view.Effect = "The crawler then stores no copy of the page, and does not follow its links."
	default: // settings.PurposeSearch
		view.Why = "It reads pages so that people can find them in a search."
		view.Directives, view.ContentUsage = "noindex, nofollow", "search=n"
		view.Effect = "The search then does not find the page, and the crawler does not follow its links."
	}
	identitySources := slices.DeleteFunc([]string{c.Ranges, c.ReverseDNS, c.Keys}, func(way string) bool {
		return way == ""
	})
	view.One = len(identitySources) == 1
	var page bytes.Buffer
	if err := pageTemplate.Execute(&page, view); err != nil {
		return nil, fmt.Errorf("write the page about the crawler: %w", err)
	}
	return page.Bytes(), nil
}

// formatDuration formats a duration for people.
func formatDuration(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		if n := d / unit.of; n > 0 && d%unit.of == 0 {
			if n == 1 {
				return "1 " + unit.name
			}
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return d.String()
}
