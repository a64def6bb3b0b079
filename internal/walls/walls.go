// Package walls recognizes the responses that a protection against bots sends in place of a page: a
// challenge for browsers, a captcha, or a notice that the client is blocked.
//
// A sign proves a wall: no other response of a protected site has it. Headers and cookies that such
// products add to every response, such as x-iinfo, x-datadome: protected or __cf_bm, prove nothing.
package walls

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl/reasons"
)

// headerSign is a header that proves a wall.
type headerSign struct {
	wall reasons.Reason
	name string // canonical
	// values are the values that prove it, in lower case. Nil means any value.
	values []string
	// status is the only status with which it proves a wall. Zero means any status.
	status int
}

var headerSigns = []headerSign{
	{reasons.WallAkamai, "Server", []string{"akamaighost"}, http.StatusForbidden}, // written by the edge, not by the site
	{reasons.WallAWS, "X-Amzn-Waf-Action", []string{"challenge", "captcha"}, 0},
	{reasons.WallCloudflare, "Cf-Mitigated", []string{"challenge"}, 0},
	{reasons.WallDataDome, "X-Dd-B", []string{"1", "2"}, 0},
	{reasons.WallKasada, "X-Kpsdk-Ct", nil, http.StatusTooManyRequests},
	{reasons.WallSucuri, "X-Sucuri-Block", nil, 0},
	{reasons.WallVercel, "X-Vercel-Mitigated", []string{"challenge", "deny"}, 0},
}

// cookieSigns are the beginnings of the names of cookies that are set by a wall alone.
var cookieSigns = []struct {
	wall   reasons.Reason
	prefix string
}{
	{reasons.WallAnubis, "techaro.lol-anubis"}, // by a challenge or a refusal
}

// sourceSigns are texts in the source of a page. In the visible text they prove nothing, because
// the page may be about the product.
var sourceSigns = []struct {
	wall reasons.Reason
	text string
}{
	{reasons.WallAkamai, `id="sec-if-cpt-container"`},
	{reasons.WallAkamai, "?bm-verify="},
	{reasons.WallAnubis, `<script id="anubis_challenge"`},
	{reasons.WallAnubis, `="/.within.website/x/cmd/anubis/`},
	{reasons.WallAWS, "window.gokuProps"},
	{reasons.WallCloudflare, "window._cf_chl_opt"},
	{reasons.WallCloudflare, `id="cf-error-details"`},
	{reasons.WallDataDome, `src="https://ct.captcha-delivery.com/`},
	{reasons.WallDataDome, `src="https://geo.captcha-delivery.com/`},
	{reasons.WallFastly, `src="/_fs-ch-`},
	{reasons.WallHUMAN, `id="px-captcha"`},
	{reasons.WallImperva, `id="main-iframe" src="/_Incapsula_Resource`},
	{reasons.WallImperva, "<title>Pardon Our Interruption"},
	{reasons.WallSucuri, "sucuri_cloudproxy_js"},
	{reasons.WallVercel, "<title>Vercel Security Checkpoint"},
}

const (
	// maxWallText caps the visible text of a wall, in bytes. Anubis writes most, about 1,200 bytes.
	maxWallText = 2000
	// maxNoticeText caps the visible text of a page that only asks for a captcha or for JavaScript.
	maxNoticeText = 400
)

// InHeader returns the wall that a response is by its header, and the evidence. It returns an empty
// reason for other responses.
func InHeader(status int, header http.Header) (wall reasons.Reason, evidence string) {
	for _, s := range headerSigns {
		if s.status != 0 && s.status != status {
			continue
		}
		value := strings.ToLower(header.Get(s.name))
		if value != "" && (s.values == nil || slices.Contains(s.values, value)) {
			return s.wall, "header " + s.name + ": " + value
		}
	}
	for _, cookie := range header["Set-Cookie"] {
		for _, s := range cookieSigns {
			if strings.HasPrefix(cookie, s.prefix) {
				return s.wall, "cookie " + s.prefix
			}
		}
	}
	return "", ""
}

// InPage returns the wall that a page is, and the evidence. It returns an empty reason for other
// pages. text is the visible text without the title.
func InPage(source []byte, title, text string) (wall reasons.Reason, evidence string) {
	if len(text) > maxWallText {
		return "", ""
	}
	for _, s := range sourceSigns {
		if bytes.Contains(source, []byte(s.text)) && !strings.Contains(text, s.text) {
			return s.wall, "its source has " + s.text
		}
	}
	if len(text) > maxNoticeText || !captchaNotice.MatchString(title+"\n"+text) {
		return "", ""
	}
	for _, widget := range captchaWidgets {
		if bytes.Contains(source, []byte(widget)) {
			return reasons.WallCaptcha, "it has little more than " + widget
		}
	}
	return "", ""
}

// captchaWidgets are elements in which a captcha is shown. Forms have them, too, so that the page
// must also have a captchaNotice.
var captchaWidgets = []string{`class="g-recaptcha`, `class="h-captcha`, `class="cf-turnstile`, `class="frc-captcha`, "<altcha-widget"}

var captchaNotice = regexp.MustCompile(`(?i)robot|\bhuman|unusual traffic|security check|automated`)

// AsksForScript reports whether the visible text of a page only asks for JavaScript.
func AsksForScript(text string) bool {
	return len(text) <= maxNoticeText && scriptNotice.MatchString(text)
}

// scriptNotice matches such notices in a few languages.
var scriptNotice = regexp.MustCompile(`(?i)` +
	`\b(enable|requires?|need|turn on|aktivieren|activez|activer|active|habilite?|abilita(re)?)\b[^.]{0,40}\bjavascript\b` +
	`|\bjavascript\b[^.]{0,40}\b(enabled?|disabled|required?|needed|aktivieren|aktiviert|activ\w+|habilit\w+|abilit\w+)\b`)
