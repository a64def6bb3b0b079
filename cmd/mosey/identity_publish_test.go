package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/netip"
	"net/textproto"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/cmd/mosey/identity"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/internal/botauth"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/signatures"
	"github.com/mosey-web/mosey/test/zone"
)

// publisher is an operator with a folder for a web server, and a key.
type publisher struct {
	*commandHarness
	folder, key string
}

func newPublisher(t *testing.T) publisher {
	t.Helper()
	dir := t.TempDir()
	p := publisher{newHarness(t), filepath.Join(dir, "www"), filepath.Join(dir, "crawler.jwk")}
	p.Print("identity", "keygen", p.key)
	return p
}

// init is the command with all that there is to say.
func (p publisher) init(more ...string) []string {
	return append([]string{
		"identity", "init", p.folder, "--contact", "https://crawler.test/", "--mail", "you@crawler.test", "--addresses", "192.0.2.7,2001:db8::/64",
		"--reverse-dns", "crawl.test", "--sign", p.key, "--signature-agent", "https://crawler.test", "--about", "We index <the> small web.",
	}, more...)
}

func (p publisher) file(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.folder, name))
	require.NoError(p.t, err)
	return string(text)
}

// did runs init, and is what was done with each file.
func (p publisher) did(more ...string) (did []string) {
	p.t.Helper()
	var doc identity.InitDoc
	p.Decode(&doc, p.init(append(more, "--json")...)...)
	for _, f := range doc.Files {
		name, err := filepath.Rel(p.folder, f.File)
		require.NoError(p.t, err)
		did = append(did, f.Action+" "+filepath.ToSlash(name))
	}
	return did
}

const wellKnown = ".well-known/http-message-signatures-directory"

func TestWhatIsPublished(t *testing.T) {
	t.Parallel()

	t.Run("IsAPageAListAndADirectory", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t)
		out := p.Print(p.init("--delay", "20s", "--user-agent", "smallweb/2.1 (+https://crawler.test/)")...)
		output.ContainsOnSameLine(t, out, "written", "index.html")
		require.Contains(t, out, "https://crawler.test,")
		page := p.file("index.html")
		for _, want := range []string{
			"User-agent: smallweb\n", "smallweb/2.1 (&#43;https://crawler.test/)", "At least 20 seconds", "mailto:you@crawler.test", "&lt;the&gt; small web",
			`<link rel="client-ranges" type="application/jafar+json" href="/addresses.json">`, ".crawl.test",
			`href="https://crawler.test/` + wellKnown + `"`,
		} {
			require.Contains(t, page, want)
		}
		list, err := about.ReadRanges([]byte(p.file("addresses.json")))
		require.NoError(t, err)
		require.Len(t, list.Prefixes, 2)
		require.WithinDuration(t, time.Now(), list.Created, time.Minute)
		header, err := textproto.NewReader(bufio.NewReader(strings.NewReader(p.file(wellKnown+".headers") + "\n"))).ReadMIMEHeader()
		require.NoError(t, err)
		_, err = signatures.VerifyDirectory(http.Header(header), []byte(p.file(wellKnown)), "crawler.test", time.Now())
		require.NoError(t, err)
		require.NoError(t, filepath.WalkDir(p.folder, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, secret := range secretOf(t, p.key) {
				require.NotContains(t, string(text), secret, path)
			}
			stat, statErr := os.Stat(path)
			require.NoError(t, statErr)
			require.Equal(t, os.FileMode(0o644), stat.Mode().Perm(), path)
			return err
		}))
	})

	t.Run("FollowsTheSettingsOfRuns", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t)
		p.settings = append(p.settings, p.WriteFile("config.yaml", "delay: 90s\npurpose: ai-train\ncontact: you@crawler.test\nabout: We are three.\n"))
		p.Print("identity", "init", p.folder)
		page := p.file("index.html")
		require.Contains(t, page, "At least 90 seconds")
		require.Contains(t, page, "train AI models")
		require.Contains(t, page, "We are three.")
		require.Contains(t, page, "Content-Usage: train-ai=n")
		require.NoFileExists(t, filepath.Join(p.folder, "addresses.json"))
		require.NoDirExists(t, filepath.Join(p.folder, ".well-known"))
		p.Refuse([]string{"identity", "init", p.folder, "--purpose", "fun"}, `--purpose "fun": want search, ai-train or archive`)
	})

	t.Run("PrintsRulesForTheOwnersOfSites", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t)
		args := []string{
			"identity", "--contact", "https://crawler.test/it's", "--mail", "you@crawler.test", "--addresses", "192.0.2.7,2001:db8::/64",
			"--reverse-dns", "crawl.test", "--sign", p.key, "--signature-agent", "https://crawler.test",
		}
		var doc identity.AllowDoc
		p.Decode(&doc, append(args, "--json")...)
		require.Equal(t, "https://crawler.test/addresses.json", doc.AddressList)
		require.Equal(t, "https://crawler.test/"+wellKnown, doc.Keys)
		require.Equal(t, "crawl.test", doc.ReverseDNS)
		require.Equal(t, `(http.user_agent contains "https://crawler.test/it's" and ip.src in {192.0.2.7/32 2001:db8::/64})`, doc.Cloudflare)
		var bots []struct {
			Name      string
			Action    string
			Agent     string         `yaml:"user_agent_regex"`
			Addresses []netip.Prefix `yaml:"remote_addresses"`
		}
		require.NoError(t, yaml.Unmarshal([]byte(doc.Anubis), &bots))
		require.Len(t, bots, 1)
		require.Equal(t, []string{"mosey", "ALLOW"}, []string{bots[0].Name, bots[0].Action})
		require.Regexp(t, bots[0].Agent, doc.UserAgent)
		require.NotRegexp(t, bots[0].Agent, strings.ReplaceAll(doc.UserAgent, ".", "x"))
		require.Equal(t, doc.Addresses, bots[0].Addresses)
		text := p.Print(args...)
		require.Contains(t, text, doc.Anubis)
		require.Contains(t, text, doc.Cloudflare)
		require.Contains(t, text, "verification by Web Bot Auth with "+doc.Keys)

		text = p.Print("identity", "--contact", "you@crawler.test")
		require.Contains(t, text, "unknown: give --addresses, because anybody can send this User-Agent")
		require.Contains(t, text, `(http.user_agent contains "you@crawler.test")`)
		p.Refuse([]string{"identity", "--signature-agent", "http://crawler.test"}, "--signature-agent")
	})

	t.Run("IsNeverOverwrittenUnasked", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t)
		require.Equal(t, []string{
			"written index.html", "written addresses.json", "written " + wellKnown, "written " + wellKnown + ".headers",
		}, p.did())
		list := filepath.Join(p.folder, "addresses.json")
		year := time.Now().UTC().Format("2006-")
		require.NoError(t, os.WriteFile(list, []byte(strings.Replace(p.file("addresses.json"), year, "2025-", 1)), 0o644))
		did := p.did()
		require.Equal(t, []string{"unchanged index.html", "renewed addresses.json", "unchanged " + wellKnown}, did[:3])
		require.Contains(t, p.file("addresses.json"), year)

		page := filepath.Join(p.folder, "index.html")
		require.NoError(t, os.WriteFile(page, []byte("mine"), 0o644))
		p.Refuse(p.init("--addresses", "192.0.2.8"), "index.html", "addresses.json", "--replace", "another folder")
		require.Equal(t, "mine", p.file("index.html"))
		require.NotContains(t, p.file("addresses.json"), "192.0.2.8", "all or nothing")
		require.Equal(t, []string{"replaced index.html", "replaced addresses.json"}, p.did("--addresses", "192.0.2.8", "--replace")[:2])
		require.Contains(t, p.file("addresses.json"), "192.0.2.8")

		require.NoError(t, os.Remove(page))
		require.NoError(t, os.Mkdir(page, 0o755))
		p.Refuse(p.init("--replace"), "index.html: not a regular file")
	})

	t.Run("IsWhereThePageIs", func(t *testing.T) {
		t.Parallel()
		for url, name := range map[string]string{
			"https://crawler.test/bot.html": "bot.html", "https://crawler.test/about/bot": "about/bot/index.html", "https://crawler.test/bot/": "bot/index.html",
		} {
			p := newPublisher(t)
			require.Equal(t, "written "+name, p.did("--page", url)[0])
		}
		p := newPublisher(t)
		p.Print(p.init("--sign-form", string(botauth.FormProtocol01), "--signature-agent", "https://crawler.test/keys/all.json")...)
		require.Contains(t, p.file("keys/all.json"), `"keys"`)
	})

	t.Run("MistakesNameTheRemedy", func(t *testing.T) {
		t.Parallel()
		p := newPublisher(t)
		init := func(args ...string) []string { return append([]string{"identity", "init", p.folder}, args...) }
		p.Refuse(init(), "--mail", "is missing", "reach you")
		p.Refuse(init("--contact", "https://crawler.test/"), "--mail", "is missing")
		p.Refuse(init("--contact", "nobody"), `--contact "nobody"`)
		p.Refuse(init("--mail", "you@crawler.test", "--addresses", "192.0.2"), `--addresses "192.0.2"`, "192.0.2.7")
		p.Refuse(init("--mail", "you@crawler.test", "--sign", p.key), "--signature-agent", "is missing")
		p.Refuse(init("--mail", "you@crawler.test", "--signature-agent", "https://crawler.test"), "needs --sign")
		p.Refuse(init("--mail", "you@crawler.test", "--page", "https://crawler.test/?q=1"), "--page", "valid file name")
		p.Refuse(init("--mail", "you@crawler.test", "--about", strings.Repeat("a", 4001)), "--about", "4001 bytes")
		p.Refuse(init("--mail", "you@crawler.test", "--user-agent", "1"), "--user-agent")
		p.Refuse([]string{"identity", "serve", p.folder}, p.folder, "no such file", "mosey identity init")
		p.Refuse([]string{"identity", "check", "--contact", "you@crawler.test"}, "--page", "is missing")
		require.NoDirExists(t, p.folder)
		p.Print(p.init()...)
		p.Refuse([]string{"identity", "serve", p.folder, "--listen", "8471"}, `--listen "8471"`)
	})
}

// serve serves the folder, and returns its port.
func (p publisher) serve() (port string) {
	p.t.Helper()
	address := p.Start("identity", "serve", p.folder, "--listen", "127.0.0.1:0").Field("Identity")
	return strings.TrimSuffix(address[strings.LastIndex(address, ":")+1:], "/")
}

func TestThePublishedIsServed(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	p.Print(p.init("--page", "https://crawler.test/bot/")...)
	for name, text := range map[string]string{"key.json": "secret", "crawler.jwk": "secret", "other.html": "other"} {
		require.NoError(t, os.WriteFile(filepath.Join(p.folder, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink(p.key, filepath.Join(p.folder, "out.html")))
	base := "http://127.0.0.1:" + p.serve()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	type head struct {
		StatusCode int
		Header     http.Header
	}
	get := func(method, path string) (head, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		require.NoError(t, err)
		answer, err := client.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		var body strings.Builder
		_, err = bufio.NewReader(answer.Body).WriteTo(&body)
		require.NoError(t, err)
		return head{answer.StatusCode, answer.Header}, body.String()
	}
	for path, kind := range map[string]string{"/bot/": "text/html; charset=utf-8", "/addresses.json": about.RangesType, "/" + wellKnown: botauth.DirectoryType} {
		answer, body := get(http.MethodGet, path)
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Equal(t, kind, answer.Header.Get("Content-Type"))
		require.Equal(t, "max-age=3600", answer.Header.Get("Cache-Control"))
		require.NotEmpty(t, body)
		answer, body = get(http.MethodHead, path)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Empty(t, body)
	}
	answer, body := get(http.MethodGet, "/"+wellKnown)
	_, err := signatures.VerifyDirectory(answer.Header, []byte(body), "crawler.test", time.Now())
	require.NoError(t, err)
	answer, _ = get(http.MethodGet, "/bot")
	require.Equal(t, http.StatusMovedPermanently, answer.StatusCode)
	require.Equal(t, "/bot/", answer.Header.Get("Location"))
	for _, path := range []string{
		"/", "/.well-known/", "/" + wellKnown + ".headers", "/key.json", "/crawler.jwk", "/nothing.html", "/out.html", "/../crawler.jwk", "/%2e%2e/crawler.jwk",
		"/robots.txt",
	} {
		answer, body := get(http.MethodGet, path)
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
		require.NotContains(t, body, "secret")
	}
	answer, _ = get(http.MethodPost, "/bot/")
	require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)
}

// TestThePublishedIsChecked checks that the files that init writes and serve serves pass the
// checks. A mistake in them fails the checks.
func TestThePublishedIsChecked(t *testing.T) {
	t.Parallel()
	p := newPublisher(t)
	p.Print("identity", "init", p.folder, "--contact", "https://crawler.test/", "--mail", "you@crawler.test", "--addresses", "192.0.2.7",
		"--reverse-dns", "crawl.test")
	page := "http://crawler.test:" + p.serve() + "/"
	names := zone.Serve(t, "crawler.test. 60 IN A 127.0.0.1", zone.Pointer(t, "192.0.2.7", "one.crawl.test."), "one.crawl.test. 60 IN A 192.0.2.7")
	guarded := func(more ...string) []string {
		return append([]string{"identity", "check", "--contact", page, "--mail", "you@crawler.test", "--reverse-dns", "crawl.test", "--dns-server", names.Addr}, more...)
	}
	check := func(more ...string) []string { return guarded(append(more, "--allow-network", "127.0.0.0/8")...) }

	out := p.Print(check("--addresses", "192.0.2.7")...)
	for _, name := range []string{"page", "ranges", "reverse", "signature"} {
		output.ContainsOnSameLine(t, out, "ok ", name)
	}
	require.Contains(t, out, "All checks passed.")
	require.NotContains(t, out, "skipped")
	out = p.Print(check()...)
	output.ContainsOnSameLine(t, out, "skipped", "reverse")

	r := p.Execute(check("--address", "192.0.2.8", "--json")...)
	require.Equal(t, 1, r.Code)
	var found []doctor.Finding
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &found))
	wrong := map[string]string{}
	for _, f := range found {
		if f.Severity == doctor.Fault {
			wrong[f.Check] = f.Found
			require.NotEmpty(t, f.Remedy)
		}
	}
	require.Len(t, wrong, 2)
	require.Contains(t, wrong["ranges"], "192.0.2.8")
	require.Contains(t, wrong["reverse"], "192.0.2.8")

	r = p.Execute(guarded()...)
	require.Equal(t, 1, r.Code)
	require.Contains(t, strings.Join(strings.Fields(r.Stdout), " "), "127.0.0.1 is not a public address")
	require.Contains(t, r.Stderr, "1 fault")

	// the same checks are the doctor's, where somebody says what is published
	out = p.Print("doctor", "--only", "page", "--page", page, "--mail", "you@crawler.test", "--dns-server", names.Addr, "--allow-network", "127.0.0.0/8")
	output.ContainsOnSameLine(t, out, "ok ", "page")
	p.Refuse([]string{"doctor", "--page", "nowhere"}, `--page "nowhere"`)
}

// Everybody can use the page, on a telephone too.
func TestThePageAboutTheCrawlerInABrowser(t *testing.T) {
	t.Parallel()
	b := newTab(t)
	p := newPublisher(t)
	p.Print(p.init()...)
	address := "http://127.0.0.1:" + p.serve() + "/"
	for _, width := range []int64{1280, 375} {
		for _, theme := range []string{"light", "dark"} {
			b.look(t, address, theme, width, "identity")
		}
	}
}
