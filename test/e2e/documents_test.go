package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/test/up"
)

// manuals are where packages of Debian have manuals in many languages, a directory each:
// installation-guide-amd64 and aptitude-doc-*.
var manuals = []string{"/usr/share/doc/installation-guide-amd64", "/usr/share/doc/aptitude/html"}

var documentsFlag = flag.Bool("documents", false, "crawl the manuals of Debian that are installed: minutes")

// manual is one of them in one language, and who serves it.
type manual struct {
	dir, lang string
	origin    string
}

// manualsLeast is how many pages tell anything.
const manualsLeast = 500

// serveManuals serves those that are installed, each as a site of its own.
func serveManuals(t *testing.T) (all []manual) {
	t.Helper()
	pages := 0
	for _, root := range manuals {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			m := manual{dir: filepath.Join(root, e.Name()), lang: e.Name()}
			files, err := filepath.Glob(filepath.Join(m.dir, "*.html"))
			require.NoError(t, err)
			if !e.IsDir() || len(files) == 0 {
				continue
			}
			pages += len(files)
			l, err := net.Listen("tcp4", fmt.Sprintf("127.0.70.%d:0", len(all)+1))
			if err != nil {
				t.Skipf("no more than one loopback address can be listened on: %v", err)
			}
			m.origin = "http://" + l.Addr().String()
			s := &http.Server{Handler: http.FileServer(http.Dir(m.dir)), ReadHeaderTimeout: time.Minute}
			go func() { _ = s.Serve(l) }()
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			all = append(all, m)
		}
	}
	if pages < manualsLeast {
		t.Skipf("only %d pages in %s: install installation-guide-amd64 and aptitude-doc-*", pages, strings.Join(manuals, ", "))
	}
	return all
}

// exported is what an export says of a page.
type exported struct {
	URL      string `json:"url"`
	Kind     string `json:"kind"`
	Status   string `json:"status"`
	Language string `json:"language"`
	Title    string `json:"title"`
}

var (
	titlePattern = regexp.MustCompile(`(?is)<title>(.*?)</title>`)
	tagPattern   = regexp.MustCompile(`(?s)<[^>]*>`)
)

// truth returns the title and the languages of a file of a manual, by simple rules; no
// language if it has next to no paragraphs. A paragraph counts as untranslated if most of
// its words are in the English version of the file. If more than a fifth of a page is
// untranslated, it may be in either language; if most of it is, it is English.
func (m manual) truth(t *testing.T, name string) (title string, langs []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	require.NoError(t, err)
	if found := titlePattern.FindSubmatch(text); found != nil {
		title = strings.Join(strings.Fields(html.UnescapeString(string(found[1]))), " ")
	}
	own, _, _ := strings.Cut(m.lang, "_")
	if len(strings.Join(paragraphs(text), "")) < paragraphsLeast {
		return title, nil
	}
	english, err := os.ReadFile(filepath.Join(filepath.Dir(m.dir), "en", name))
	if err != nil {
		return title, []string{own}
	}
	known := map[string]bool{}
	for _, p := range paragraphs(english) {
		for w := range strings.FieldsSeq(p) {
			known[w] = true
		}
	}
	var all, same int
	for _, p := range paragraphs(text) {
		all += len(p)
		if words := strings.Fields(p); englishWords(words, known)*4 > len(words)*3 {
			same += len(p)
		}
	}
	switch {
	case 5*same > 4*all:
		return title, []string{"en"}
	case 5*same > all:
		return title, []string{own, "en"}
	}
	return title, []string{own}
}

// paragraphsLeast is how much of a page tells its language, in bytes.
const paragraphsLeast = 300

func englishWords(words []string, known map[string]bool) (n int) {
	for _, w := range words {
		if known[w] {
			n++
		}
	}
	return n
}

var paragraphPattern = regexp.MustCompile(`(?is)<(p|li|dd|dt|td|h[1-6])\b[^>]*>(.*?)</(?:p|li|dd|dt|td|h[1-6])>`)

// paragraphs are the texts of a page's blocks.
func paragraphs(page []byte) (texts []string) {
	for _, m := range paragraphPattern.FindAllSubmatch(page, -1) {
		if text := bytes.Join(bytes.Fields(tagPattern.ReplaceAll(m[2], []byte(" "))), []byte(" ")); len(text) > 0 {
			texts = append(texts, string(text))
		}
	}
	return texts
}

// A crawl of real manuals tells the language and the title of each page, and finds them.
func TestDocuments(t *testing.T) {
	t.Parallel()
	if !*documentsFlag {
		t.Skip("takes minutes and manuals of Debian: -documents")
	}
	beside(t)
	sites := serveManuals(t)
	dir := up.Dir(t)
	seeds := filepath.Join(dir, "seeds")
	var list strings.Builder
	byOrigin := map[string]manual{}
	for _, m := range sites {
		fmt.Fprintln(&list, m.origin+"/")
		byOrigin[m.origin] = m
	}
	require.NoError(t, os.WriteFile(seeds, []byte(list.String()), 0o600))
	p := start(t, environ(), moseyBin, "--data-dir", dir, "crawl", seeds, "--delay", "0s", "--set", "ip_delay=0s",
		"--set", "latency_factor=0", "--allow-network", "127.0.0.0/8", "--json")
	require.Zero(t, p.wait(t, 2*crawlLimit), p.out)

	var pages, titled, named, silent, bare int
	for _, line := range printed(t, dir, "export", "pages", "--format", "jsonl", "--out", "-") {
		var e exported
		require.NoError(t, json.Unmarshal(line, &e))
		u, err := url.Parse(e.URL)
		require.NoError(t, err)
		m := byOrigin[u.Scheme+"://"+u.Host]
		name := filepath.Base(u.Path)
		if u.Path == "/" {
			name = "index.html" // to which it redirects
		} else if name == "index.html" {
			continue
		}
		if e.Kind != "page" || e.Status != "fetched" || !strings.HasSuffix(name, ".html") {
			continue
		}
		title, langs := m.truth(t, name)
		got, _, _ := strings.Cut(e.Language, "-")
		pages++
		if e.Title == title {
			titled++
		} else {
			t.Logf("%s/%s: title %q, want %q", m.dir, name, e.Title, title)
		}
		switch {
		case langs == nil:
			bare++
		case slices.Contains(langs, got):
			named++
		case got == "":
			silent++
		default:
			t.Logf("%s/%s: language %q, want %q", m.dir, name, e.Language, langs)
		}
	}
	share := func(n, of int) float64 { return 100 * float64(n) / float64(of) }
	t.Logf("%d pages in %d manuals: %.1f %% of the titles; %.1f %% of the languages, and none told of %d pages; %d more have next to no text",
		pages, len(sites), share(titled, pages), share(named, pages-silent-bare), silent, bare)
	require.Greater(t, pages, manualsLeast)
	require.GreaterOrEqual(t, share(titled, pages), 98.0)
	require.GreaterOrEqual(t, share(named, pages-silent-bare), 98.0)
	require.Less(t, share(silent, pages), 20.0)
	searchDocuments(t, dir, sites)
}

// searchDocuments looks for things that the manuals are known to be about.
func searchDocuments(t *testing.T, dir string, sites []manual) {
	t.Helper()
	missed := 0
	queries := map[string]string{
		"preseed": `preseed`, "partition disk": `Partitioning Programs`, `"boot loader"`: `Individual Components`,
		"serial console": `Boot Parameters`, "network configuration": ` en "`, "Festplatte partitionieren": ` de "3\.5`,
		"clavier": ` fr "Personnaliser`, "teclado idioma": ` es "`, "Installationsmedium": ` de "`, "サーバ インストール": ` ja "`,
		"загрузчик": ` ru "`, "安装": ` zh-Hans "`, "wireless firmware": `Supported Hardware`,
		"encrypted volume": `Mounting encrypted volumes`, "aptitude search patterns": `"Search patterns"`,
		"mark package automatic": `automatically installed`, "resolver dependencies": `Resolving Dependencies`,
		"paquetes rotos": ` es "`, "USB stick": `USB Memory Stick`,
	}
	if slices.ContainsFunc(sites, func(m manual) bool { return strings.HasSuffix(m.dir, "aptitude/html/cs") }) {
		queries["vyhledávání balíků"] = ` cs "Hledání`
	}
	for query, want := range queries {
		var hits []string
		for _, line := range printed(t, dir, "search", query, "--limit", "5", "--json") {
			var hit struct{ URL, Title, Language string }
			require.NoError(t, json.Unmarshal(line, &hit))
			hits = append(hits, fmt.Sprintf("%s %s %q", filepath.Base(hit.URL), hit.Language, hit.Title))
		}
		t.Logf("%s:\n\t%s", query, strings.Join(hits, "\n\t"))
		if !regexp.MustCompile(want).MatchString(strings.Join(hits, " ")) {
			missed++
			t.Logf("\tnone is %s", want)
		}
	}
	require.LessOrEqual(t, missed, 1)
}

// printed is what a command prints, line by line.
func printed(t *testing.T, dir string, args ...string) (lines [][]byte) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), moseyBin, append([]string{"--data-dir", dir}, args...)...)
	cmd.Env = environ()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, "%s: %s", args, &errs)
	scan := bufio.NewScanner(bytes.NewReader(out))
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		lines = append(lines, bytes.Clone(scan.Bytes()))
	}
	require.NoError(t, scan.Err())
	return lines
}
