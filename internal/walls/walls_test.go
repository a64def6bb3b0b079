package walls

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

type response struct {
	status int
	header string
	body   string
}

// find returns the wall of a response and the evidence, as the crawler does.
func (r response) find(t *testing.T) (reasons.Reason, string) {
	t.Helper()
	header := http.Header{}
	for line := range strings.Lines(r.header) {
		name, value, found := strings.Cut(line, ":")
		require.True(t, found, line)
		header.Add(name, strings.TrimSpace(value))
	}
	wall, evidence := InHeader(r.status, header)
	if wall != "" || r.status >= 300 {
		return wall, evidence
	}
	base, err := urls.Parse("https://a.example/page")
	require.NoError(t, err)
	page, err := extract.HTML([]byte(r.body), urls.Spelt{URL: base}, extract.Limits{})
	require.NoError(t, err)
	return InPage([]byte(r.body), page.Title, page.Text)
}

// The shapes of real responses, shortened.
var walled = map[reasons.Reason][]response{
	reasons.WallAkamai: {
		{status: 403, header: "Server: AkamaiGHost\nMime-Version: 1.0\nContent-Type: text/html"},
		{status: 200, body: `<html><head><title></title><script src="/WRRbg0dYh8/g7tJQB"></script></head><body>` +
			`<div id="sec-if-cpt-container" data-duration=5><p>Powered and protected by Akamai</p></div></body></html>`},
		{status: 200, body: `<html><head><meta http-equiv="refresh" content="5; URL='/a?bm-verify=AAQAAAAJ'" /></head><body></body></html>`},
	},
	reasons.WallAnubis: {
		{status: 401, header: "Set-Cookie: techaro.lol-anubis-auth=; Path=/; Max-Age=0; Secure; SameSite=Lax\n" +
			"Set-Cookie: techaro.lol-anubis-cookie-verification=019d61d3; Path=/; Secure; SameSite=Lax"},
		{status: 200, header: "Content-Type: text/html; charset=utf-8", body: `<!doctype html><html lang="en"><head><title>Making sure you&#39;re not a bot!</title>` +
			`<meta name="robots" content="noindex,nofollow"><script id="anubis_version" type="application/json">"v1.21.3"</script>` +
			`<script id="anubis_challenge" type="application/json">{"rules":{"algorithm":"fast","difficulty":4}}</script></head>` +
			`<body id="top"><main><h1 id="title">Making sure you&#39;re not a bot!</h1><p id="status">Loading...</p></main></body></html>`},
		{status: 200, body: `<!doctype html><html><head><title>Oh noes!</title></head><body><main><img id="image" alt="Sad Anubis" ` +
			`src="/.within.website/x/cmd/anubis/static/img/reject.webp?cacheBuster=v1.21.3"><p>Access Denied: error code 1a2b.</p></main></body></html>`},
	},
	reasons.WallAWS: {
		{status: 202, header: "X-Amzn-Waf-Action: challenge\nContent-Length: 0"},
		{status: 405, header: "x-amzn-waf-action: captcha\nContent-Type: text/html"},
		{status: 200, body: `<html><head><script>window.awsWafCookieDomainList=[];window.gokuProps={"key":"AQ","iv":"CA","context":"x"};</script></head>` +
			`<body><div id="challenge-container"></div><noscript><h1>JavaScript is disabled</h1>In order to continue, we need to verify that you're not a robot.</noscript></body></html>`},
	},
	reasons.WallCaptcha: {
		{status: 200, body: `<title>Security check</title><p>Our systems have detected unusual traffic from your network.</p>` +
			`<form action="/verify"><div id="recaptcha" class="g-recaptcha" data-sitekey="6L"></div></form>`},
		{status: 200, body: `<title>shop.example</title><h1>Verify that you are human</h1><div class="cf-turnstile" data-sitekey="0x"></div>`},
	},
	reasons.WallCloudflare: {
		{status: 403, header: "cf-mitigated: challenge\nServer: cloudflare\nCF-RAY: 8a\nContent-Type: text/html; charset=UTF-8"},
		{status: 200, body: `<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body><noscript>` +
			`<span id="challenge-error-text">Enable JavaScript and cookies to continue</span></noscript><script>(function(){window._cf_chl_opt={cvId:'3'};}());</script></body></html>`},
		{status: 200, body: `<title>Attention Required! | Cloudflare</title><div id="cf-wrapper"><div id="cf-error-details"><h1>Sorry, you have been blocked</h1></div></div>`},
	},
	reasons.WallDataDome: {
		{status: 403, header: "X-DataDome: protected\nX-DD-B: 1\nSet-Cookie: datadome=x; Max-Age=31536000"},
		{status: 200, body: `<html lang="en"><head><title>a.example</title></head><body><p id="cmsg">Please enable JS and disable any ad blocker</p>` +
			`<script data-cfasync="false">var dd={'rt':'c','cid':'AH'}</script><script data-cfasync="false" src="https://ct.captcha-delivery.com/c.js"></script></body></html>`},
		{status: 200, body: `<html><body><iframe src="https://geo.captcha-delivery.com/captcha/?initialCid=AH" title="DataDome CAPTCHA"></iframe></body></html>`},
	},
	reasons.WallFastly: {
		{status: 200, body: `<html><head><title>Client Challenge</title></head><body><div id="loading-error">A required part of this site couldn’t load.</div>` +
			`<noscript>JavaScript is disabled in your browser. Please enable JavaScript to proceed.</noscript><script src="/_fs-ch-1T1wmsGaOgGaSxcX/script.js"></script></body></html>`},
	},
	reasons.WallHUMAN: {
		{status: 200, body: `<title>Access to this page has been denied</title><script>window._pxAppId = 'PXa1b2';</script><div id="px-captcha"></div>`},
	},
	reasons.WallImperva: {
		{status: 200, header: "X-Iinfo: 1-2-3 NNNY CT\nX-CDN: Incapsula", body: `<html style="height:100%"><head><META NAME="ROBOTS" CONTENT="NOINDEX, NOFOLLOW">` +
			`<script src="/_Incapsula_Resource?SWJIYLWA=719d"></script></head><body style="margin:0px;height:100%"><iframe id="main-iframe" src="/_Incapsula_Resource?SWUDNSAI=31&xinfo=1" ` +
			`frameborder=0 width="100%">Request unsuccessful. Incapsula incident ID: 1-2</iframe></body></html>`},
		{status: 200, body: `<html><head><title>Pardon Our Interruption</title></head><body><h1>Pardon Our Interruption</h1><p>As you were browsing something made us think you were a bot.</p></body></html>`},
	},
	reasons.WallKasada: {{status: 429, header: "x-kpsdk-ct: 0a1b2c\nx-kpsdk-r: 1-x"}},
	reasons.WallSucuri: {
		{status: 403, header: "Server: Sucuri/Cloudproxy\nX-Sucuri-ID: 15015\nX-Sucuri-Block: CLIBL"},
		{status: 200, body: `<html><title>You are being redirected...</title><noscript>Javascript is required. Please enable javascript before you are allowed to see this page.</noscript>` +
			`<script>var s={},u,c,U,r,i,l=0,a,e=eval,w=String.fromCharCode,sucuri_cloudproxy_js='',S='cz0';</script></html>`},
	},
	reasons.WallVercel: {
		{status: 429, header: "x-vercel-mitigated: challenge\nx-vercel-challenge-token: 2.1"},
		{status: 403, header: "x-vercel-mitigated: deny"},
		{status: 200, body: `<html><head><title>Vercel Security Checkpoint</title></head><body><p>We're verifying your browser</p></body></html>`},
	},
}

func TestFind(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for wall, responses := range walled {
		require.True(t, wall.Row().IsWall, wall)
		for _, r := range responses {
			found, evidence := r.find(t)
			require.Equal(t, wall, found, "%+v", r)
			all.WriteString(evidence + "\n")
			if wall != reasons.WallCaptcha && r.body != "" { // a site's own page about the product
				r.body = "<title>About</title><pre>" + strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(r.body) + "</pre>"
				r.header, r.status = "", 200
				found, evidence = r.find(t)
				require.Empty(t, found, "%s: %s", evidence, r.body)
			}
		}
	}
	for _, s := range headerSigns {
		for _, value := range s.values {
			require.Contains(t, all.String()+"X-Dd-B: 2", s.name+": "+value, "a sign without a response")
		}
	}
	for _, s := range sourceSigns {
		require.Contains(t, all.String(), s.text, "a sign without a response")
	}
}

// Ordinary responses of sites with such a protection, and pages about it.
func TestFindsNoWall(t *testing.T) {
	t.Parallel()
	article := "<p>" + strings.Repeat("The crawler asks for a page and reads it. ", 60)
	for name, r := range map[string]response{
		"Imperva": {
			status: 200, header: "X-Iinfo: 1-2-3 NNNN CT\nX-CDN: Incapsula\nSet-Cookie: visid_incap_1=x",
			body: `<script src="/_Incapsula_Resource?SWJIYLWA=719d&ns=1" async></script><p>Welcome.`,
		},
		"DataDome":        {status: 200, header: "X-DataDome: protected\nSet-Cookie: datadome=x", body: `<script src="https://js.datadome.co/tags.js"></script><p>Welcome.`},
		"Cloudflare":      {status: 403, header: "Server: cloudflare\nCF-RAY: 8a\nSet-Cookie: __cf_bm=x"},
		"CloudflareBeats": {status: 200, header: "Server: cloudflare", body: `<p>Welcome.<script>window.__CF$cv$params={r:'8a'};a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js';</script>`},
		"AkamaiMissing":   {status: 404, header: "Server: AkamaiGHost"},
		"AkamaiMoved":     {status: 301, header: "Server: AkamaiGHost\nLocation: https://www.a.example/"},
		"Kasada":          {status: 200, header: "x-kpsdk-ct: 0a1b2c", body: "<p>Welcome."},
		"HUMAN":           {status: 200, header: "Set-Cookie: _pxhd=x", body: "<script>window._pxAppId = 'PXa1b2';</script><p>Welcome."},
		"Sucuri":          {status: 403, header: "Server: Sucuri/Cloudproxy\nX-Sucuri-ID: 15015"},
		"Form":            {status: 200, body: `<title>Contact</title><form>Name <input name=n> Message <textarea></textarea><div class="g-recaptcha"></div><button>Send</button></form>`},
		"Article":         {status: 200, body: `<title>Robots and captchas</title><div class="h-captcha"></div>` + article},
		"Long":            {status: 200, body: `<script>window._cf_chl_opt={}</script>` + article},
	} {
		found, evidence := r.find(t)
		require.Empty(t, found, "%s: %s", name, evidence)
	}
}

func TestAsksForScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"You need to enable JavaScript to run this app.":                                                          true,
		"We're sorry but shop doesn't work properly without JavaScript enabled. Please enable it to continue.":    true,
		"This site requires Javascript.":                                                                          true,
		"Bitte aktivieren Sie JavaScript in Ihrem Browser.":                                                       true,
		"Veuillez activer JavaScript pour continuer.":                                                             true,
		"Por favor, active JavaScript.":                                                                           true,
		"Abilita JavaScript nel browser.":                                                                         true,
		"JavaScript is a programming language.":                                                                   false,
		"Learn JavaScript in ten days. An active community, with reviews and the ability to ask.":                 false,
		"Java and scripts need no introduction.":                                                                  false,
		"Enable JavaScript to see the map. " + strings.Repeat("Our shops are open from Monday to Saturday. ", 10): false,
	} {
		require.Equal(t, want, AsksForScript(text), text)
	}
}
