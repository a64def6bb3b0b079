package placeholders

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/extract"
)

func find(t *testing.T, body string) (reasons.Reason, string) {
	t.Helper()
	base, err := urls.Parse("https://a.example/")
	require.NoError(t, err)
	page, err := extract.HTML([]byte(body), urls.Spelt{URL: base}, extract.Limits{})
	require.NoError(t, err)
	return Find([]byte(body), page.Title, page.Text)
}

// The shapes of real pages, shortened.
var parked = []string{
	`<!DOCTYPE html><html><head><script>window.onload=function(){window.location.href="/lander"}</script></head></html>`,
	`<!doctype html><html lang="en"><head><script>window.LANDER_SYSTEM="PW"</script><script defer="defer" ` +
		`src="https://img1.wsimg.com/parking-lander/static/js/main.3ff36aae.js"></script></head><body><div id="root"></div></body></html>`,
	`<!doctype html><html data-adblockkey="MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBANDrp2lz7" lang="en"><head><title>a.example</title></head>` +
		`<body><div id="target" style='opacity: 0'></div><script>window.park = "eyJ1dWlkIjoiMWZk";</script><script src="/bvQbLXc.js"></script></body></html>`,
	`<html><head><title>a.example</title></head><body><script>window.park = "eyJ1dWlkIjoiMWZk";</script></body></html>`,
	`<html lang="en"><head><title>a.example</title><style>.asset_star0 {background: url('//d38psrni17bvxu.cloudfront.net/themes/assets/star0.gif') no-repeat}</style></head></html>`,
	`<html><head><title>a.example</title><script src="//www.sedoparking.com/frmpark/a.example/x/park.js"></script></head><body></body></html>`,
	`<html><head><title>a.example</title><script>var s=document.createElement("script");s.src="\/\/sedoparking.com\/frmpark\/a.example\/"</script></head></html>`,
	`<html><head><title>a.example - Diese Website steht zum Verkauf!</title><link rel="icon" href="//img.sedoparking.com/templates/logos/sedo_logo.png"></head>` +
		`<body>a.example ist die beste Quelle für alle Informationen.</body></html>`,
	`<html><body><script src="https://sedoparking.com/frmpark.js"></script></body></html>`,
	`<html><head><script src="https://www1.parklogic.com/page/scripts/a.js"></script></head></html>`,
	`<html><head><title>Parked Domain name on Hostinger DNS system</title></head><body><h1>Happy to see your domain with Hostinger!</h1></body></html>`,
}

var defaults = []string{
	`<html><head><title>Apache2 Debian Default Page: It works</title></head><body><p>This is the default welcome page used to test the correct operation ` +
		`of the Apache2 server after installation on Debian systems.</p></body></html>`,
	`<html><head><title>Apache2 Ubuntu Default Page: It works</title></head><body>It works! This is the default welcome page</body></html>`,
	`<!DOCTYPE html><html><head><title>Welcome to nginx!</title></head><body><h1>Welcome to nginx!</h1><p>If you see this page, the nginx web server is ` +
		`successfully installed and working. Further configuration is required.</p></body></html>`,
	`<html><head><title>Test Page for the Nginx HTTP Server on Fedora</title></head><body>This page is used to test the proper operation of the nginx HTTP server</body></html>`,
	`<html><head><title>Test Page for the HTTP Server on Fedora</title></head><body>This page is used to test the proper operation of the HTTP server</body></html>`,
	`<html><head><title>HTTP Server Test Page powered by CentOS</title></head><body>This page is used to test the proper operation</body></html>`,
	`<html><head><title>IIS Windows Server</title></head><body><a href="http://go.microsoft.com/fwlink/?linkid=66138"><img src="iisstart.png" alt="IIS"></a></body></html>`,
	`<html><body><h1>It works!</h1></body></html>`,
	`<html><head><title>Default Web Site Page</title></head><body><p>If you are the owner of this website, please contact your hosting provider. The default page of the server.</p></body></html>`,
}

func TestFind(t *testing.T) {
	t.Parallel()
	for reason, pages := range map[reasons.Reason][]string{reasons.Parked: parked, reasons.DefaultPage: defaults} {
		for _, body := range pages {
			got, evidence := find(t, body)
			require.Equal(t, reason, got, body)
			require.NotEmpty(t, evidence, body)
		}
	}
	for _, s := range parkingSigns {
		require.Contains(t, strings.Join(parked, "\n"), s.text, "no page has it")
	}
}

// Pages about parked domains, default pages or sales are content.
func TestFindNothing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"Words":       `<title>House for sale</title><p>This domain is for sale. Buy this domain!</p>`,
		"Quoted":      `<title>How to find parked domains</title><p>Look for window.park = "ey and //sedoparking.com/ in the page.</p><pre>window.location.href="/lander"</pre>`,
		"ATutorial":   `<title>Welcome to nginx!</title><p>In this chapter you write your first configuration.</p>`,
		"InATitle":    `<title>Fix the "Apache2 Debian Default Page: It works" on your server</title><p>It works!</p>`,
		"ItWorks":     `<p>It works! We have moved to the new office.</p>`,
		"Long":        `<title>Welcome to nginx!</title><p>successfully installed</p>` + strings.Repeat("<p>Much more about servers.</p>", 300),
		"AnEmptyPage": ``,
	} {
		reason, evidence := find(t, body)
		require.Empty(t, reason, "%s: %s", name, evidence)
	}
}
