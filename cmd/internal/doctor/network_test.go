package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/manners/web"
)

func TestContact(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/good":
			fmt.Fprintf(w, "<p>Here is what Mosey does. You are %s.", r.UserAgent())
		case "/mute":
			fmt.Fprint(w, "<p>Welcome to our site.")
		case "/moved":
			http.Redirect(w, r, "/good", http.StatusMovedPermanently)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/late":
			w.Header().Set("Date", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
			fmt.Fprint(w, "mosey")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	patient := func(contact string) *Target {
		f := wiring.FetchFlags{AgentFlags: wiring.AgentFlags{Contact: contact}, AllowNetwork: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Timeout: 5 * time.Second}
		return &Target{Fetch: f}
	}
	requireFinding(t, patient("").look(t, "contact"), Warning, "no contact is given", "--contact")
	requireFinding(t, patient("you@example.org").look(t, "contact"), OK, "you@example.org")
	requireFine(t, patient(server.URL+"/good").look(t, "contact"))
	requireFinding(t, patient(server.URL+"/moved").look(t, "contact"), OK, "names mosey")
	requireFinding(t, patient(server.URL+"/moved").look(t, "contact"), OK, "the clock of 127.0.0.1 is")
	requireFinding(t, patient(server.URL+"/mute").look(t, "contact"), Warning, "does not name mosey", "User-agent: mosey")
	requireFinding(t, patient(server.URL+"/nothing").look(t, "contact"), Fault, "404")
	requireFinding(t, patient(server.URL+"/loop").look(t, "contact"), Fault, "redirects more than")
	requireFinding(t, patient(server.URL+"/late").look(t, "contact"), Fault, "1h0m", "NTP")
	closed := patient(server.URL + "/good")
	closed.Fetch.AllowNetwork = nil
	requireFinding(t, closed.look(t, "contact"), Fault, "not a public address")
	requireFinding(t, patient("http://127.0.0.1:9/").look(t, "contact"), Fault, "cannot be reached", "curl")
}

func TestNameServers(t *testing.T) {
	t.Parallel()
	w := web.StartT(t, web.Options{Sites: web.Uniform(1, web.Site{Pages: 1, Plain: true})})
	good, bad := w.DNSAddr(), "127.0.0.1:9"
	p := &Target{Fetch: wiring.FetchFlags{DNSServer: []string{good, bad}, Timeout: 5 * time.Second, AgentFlags: wiring.AgentFlags{Contact: w.Seeds()[0]}}}
	found := p.look(t, "dns")
	requireFinding(t, found, OK, good)
	requireFinding(t, found, Fault, bad, "--dns-server")
	require.Len(t, p.look(t, "ipv6"), 1)
}
