package e2e_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/document"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/output"
	"github.com/mosey-web/mosey/test/programs"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

// Every block of commands or SQL in README.md and docs/*.md runs against the synthetic web, or is
// listed with the reason why it cannot. Each document has a Temporal and a database of its own, and
// its blocks run in their order.
//
//nolint:paralleltest,tparallel // the documents share a site, one after the other
func TestBlocksOfDocuments(t *testing.T) {
	t.Parallel()
	beside(t)
	of := map[string][]document.Block{}
	listed := map[string]bool{}
	for _, b := range document.Blocks(t, "../..") {
		if b.Language == "sh" || b.Language == "sql" {
			if entry := listedAs(b); entry != "" {
				listed[entry] = true
			} else {
				of[b.Document] = append(of[b.Document], b)
			}
		}
	}
	for name := range notRun {
		require.True(t, listed[name], "%s: no document has this block", name)
	}
	form.Long(t)
	s := newBlockSite(t)
	client, err := programs.Temporal(t.TempDir())
	require.NoError(t, err)
	for name, blocks := range of {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".md"), func(t *testing.T) {
			newBlockWorld(t, s, client).run(t, blocks)
		})
	}
}

// A person starts a seed with Temporal's own command, as docs/temporal.md has it, and it is
// crawled. The older command, which Go's module proxy does not have, is given the same.
func TestSeedByTemporalCommand(t *testing.T) {
	t.Parallel()
	beside(t)
	var commands []string
	for _, b := range document.Blocks(t, "../..") {
		if b.Document == "docs/temporal.md" {
			commands = append(commands, b.Text)
		}
	}
	require.GreaterOrEqual(t, len(commands), 2)
	older := strings.NewReplacer("tctl ", "temporal ", "--taskqueue", "--task-queue", "--workflow_type", "--type", "--workflow_id", "--workflow-id")
	require.Equal(t, commands[0], older.Replace(commands[1]))

	client, err := programs.Temporal(t.TempDir())
	require.NoError(t, err)
	w := newBlockWorld(t, newBlockSite(t), client)
	w.shell(t, w.here(commands[0]))
	wait.Until(t, func() bool {
		return slices.ContainsFunc(w.site.Log().Pages(), func(r web.Record) bool { return strings.HasPrefix(r.Host, "example.org") && r.Target == "/" })
	}, 2*time.Minute, 100*time.Millisecond, "the seed is not crawled")
}

// blockHosts are the hosts that the documents' commands crawl.
var blockHosts = []string{"example.org", "example.net"}

// newBlockSite serves the hosts of the documents by TLS.
func newBlockSite(t *testing.T) *web.Web {
	t.Helper()
	picture := image.NewGray(image.Rect(0, 0, 900, 600))
	for i := range picture.Pix {
		x, y := float64(i%900)/900, float64(i/900)/600
		picture.Pix[i] = uint8(127 + 42*(math.Sin(4*x)+math.Cos(6*y-2*x)+math.Sin(7*(x+y)+1)))
	}
	var body strings.Builder
	require.NoError(t, jpeg.Encode(&body, picture, nil))
	sites := make([]web.Site, 0, len(blockHosts))
	for _, host := range blockHosts {
		paths := map[string]web.Behaviour{"/img/p0.jpg": web.Content{Type: "image/jpeg", Body: body.String()}}
		for _, path := range []string{"/", "/about", "/blog", "/news", "/new"} {
			paths[path] = web.Content{Type: "text/html", Body: `<!doctype html><html lang="en"><title>Of durable politeness</title>` +
				`<p>A search engine and a crawler of durable politeness. <a href="/about">About</a><img src="/img/p0.jpg" alt="A harbour">`}
		}
		sites = append(sites, web.Site{Host: host, TLS: web.TLSValid, Pages: -1, Plain: true, Paths: paths})
	}
	return web.StartT(t, web.Options{Sites: sites, CrossLinks: -1})
}

// blockPrograms makes a directory of commands: the programs, with a server in the background.
func blockPrograms(t *testing.T, client, temporal string) (dir string) {
	t.Helper()
	require.NoError(t, programs.Depend())
	dir = t.TempDir()
	for name, script := range map[string]string{
		// Servers run in the background, and a crawl that waits for the next visit of a page ends after a
		// while, as does a feed that is followed.
		"mosey": `case " $* " in
*" up "* | *" serve "*) serve 'Ctrl-C stops' '` + moseyBin + `' "$@" ;;
" pause run:"*) awake; exec '` + moseyBin + `' "$@" ;;
" crawl "*) exec '` + moseyBin + `' "$@" --for 10s ;;
*" --follow "*) exec timeout --preserve-status --signal INT 5 '` + moseyBin + `' "$@" ;;
*) exec '` + moseyBin + `' "$@" ;;
esac`,
		"worker": `serve 'Started Worker' '` + workerBin + `' "$@"`,
		"serve": `text=$1; shift
nohup "$@" >server.log 2>&1 &
until grep -q "$text" server.log; do kill -0 $! || { cat server.log; exit 1; }; sleep 0.1; done`,
		"temporal": `case " $* " in *" update execute "*) awake ;; esac
exec '` + client + `' "$@" --address ` + temporal,
		// A run can be paused, and the workflow of a domain takes updates, while there are pages to wait
		// for.
		"awake": `mosey set run:small-web delay=3s >/dev/null
mosey resume example.org >/dev/null 2>&1 || true
mosey set example.org --delay 0s --window '' --max-pages=-1 >/dev/null
while
	mosey seed $(for n in 1 2 3; do echo "$WEB/$(date +%s%N)"; done) --run small-web --start >/dev/null
	sleep 1
	! '` + client + `' workflow describe --address ` + temporal + ` --workflow-id domain/example.org --output json 2>&1 |
		grep -q STATUS_RUNNING
do :; done`,
		"jq":      `case $* in "-r .cursor") sed 's/^{"cursor":"\([^"]*\)".*/\1/' ;; *) cat ;; esac`, // is not on every machine
		"refused": `text=$1; shift; ! said=$("$@" 2>&1) && case $said in *"$text"*) ;; *) echo "$said"; exit 1 ;; esac`,
	} {
		programs.Write(t, filepath.Join(dir, name), []byte("#!/bin/sh -e\n"+script+"\n"))
	}
	return dir
}

// blockWorld is where the blocks of one document run.
type blockWorld struct {
	cluster

	t    *testing.T
	dir  string
	vars []string
	site *web.Web
}

func newBlockWorld(t *testing.T, s *web.Web, client string) *blockWorld {
	t.Helper()
	w := &blockWorld{cluster: newCluster(t), t: t, dir: up.Dir(t), site: s}
	addr, _ := s.Addr("example.org")
	w.vars = w.environ("PATH="+blockPrograms(t, client, w.temporal)+":"+os.Getenv("PATH"), "HOME="+w.dir,
		"SSL_CERT_FILE="+w.write(t, "root.pem", string(s.RootCA())), "MOSEY_CONTACT=test@example.org",
		"MOSEY_DNS_SERVER="+s.DNSAddr(), "MOSEY_ALLOW_NETWORK="+s.Network().String(), "MOSEY_DELAY=10ms", "MOSEY_IP_DELAY=0", "MOSEY_LATENCY_FACTOR=0",
		"MOSEY_IMAGE_STORE="+w.dir+"/images", "WEB="+strings.TrimSuffix(s.URL("example.org", "/"), "/"),
		fmt.Sprintf("EXAMPLE=example.org:%d:%s", s.Port(), addr))
	w.write(t, "seeds.txt", w.here("https://example.org/\nhttps://example.org/about\nhttps://example.org/new\n"))
	w.write(t, "sites.txt", w.here("https://example.org/\n"))
	w.write(t, "ads.hosts", "0.0.0.0 ads.example.org\n")
	f, err := os.Create(filepath.Join(w.dir, "seeds.gz"))
	require.NoError(t, err)
	z := gzip.NewWriter(f)
	_, err = io.WriteString(z, w.here("https://example.net/\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	w.shell(t, "worker")
	return w
}

// worldBegin prepares what the blocks of a document find.
const worldBegin = `mosey crawl https://example.org/ https://example.org/about https://example.org/news --images store
mosey crawl https://example.org/new --run small-web --images store
curl -sS --fail --cacert root.pem --resolve "$EXAMPLE" https://example.org/img/p0.jpg --output picture.jpg
`

// worldBetween takes back what a block may leave that holds up the next.
const worldBetween = `mosey unblock example.org || true
mosey resume example.org || true
mosey resume run:small-web || true
mosey set example.org --delay 0s --window '' --max-pages=-1
`

func (w *blockWorld) write(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(w.dir, name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// here names the hosts with the port that the web listens at, and shortens delays.
func (w *blockWorld) here(text string) string {
	for _, host := range blockHosts {
		text = strings.ReplaceAll(text, "https://"+host, strings.TrimSuffix(w.site.URL(host, "/"), "/"))
	}
	return text
}

// shell runs commands until one fails.
func (w *blockWorld) shell(t *testing.T, script string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-eux", "-c", script)
	cmd.Dir, cmd.Env = w.dir, w.vars
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out output.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	end := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.Cancel = end
	err := cmd.Run()
	w.t.Cleanup(func() { _ = end() }) // servers in the background
	require.NoError(t, err, "%s", &out)
}

func (w *blockWorld) run(t *testing.T, blocks []document.Block) {
	t.Helper()
	w.shell(t, w.here(worldBegin))
	for _, b := range blocks {
		t.Run(b.Name(), func(t *testing.T) {
			if b.Language == "sql" {
				_, err := w.pool.Exec(t.Context(), b.Text)
				require.NoError(t, err)
				return
			}
			text := w.here(b.Text)
			for line, why := range refusedLines {
				text = strings.ReplaceAll("\n"+text, "\n"+line, "\nrefused '"+why+"' "+line)
			}
			w.shell(t, text)
			w.shell(t, worldBetween)
		})
	}
}

// refusedLines maps the beginning of a line that must fail in this world to a part of its error.
var refusedLines = map[string]string{
	"mosey retry example.org":            "is not abandoned",
	"mosey identity check":               "give the URL of the page",
	"mosey images similar d8ae7209ff6d…": "want an image file",
}

// notRun are the blocks that are not run, by the beginning of their names without the document or
// by their whole names, and why.
var notRun = map[string]string{
	"go ":      "a build, a test or a benchmark, and some need an hour",
	"git ":     "changes a repository",
	"docker ":  "needs a daemon; docker/ has tests of what the files say",
	"kubectl ": "needs a cluster; docker/ has tests of what the files say",
	"tctl ":    "cannot be had from Go's module proxy; TestSeedByTemporalCommand compares it",

	"README.md: export DATABASE_URL=postgres://mosey@db/mosey TEMPORAL_ADDRESS=temporal:7233":                                                     "names hosts of a cluster",
	"README.md: MOSEY_CONTACT=https://crawler.example.com/":                                                                                       "needs Docker",
	"docs/archive.md: mosey crawl https://example.org/ --archive 's3://BUCKET?region=REGION'":                                                     "names a bucket; TestArchiveInABucket does the same",
	"docs/backups.md: mosey backup /backups --keep 7":                                                                                             "names a bucket; TestBackup does the same",
	"docs/backups.md: DATABASE_URL=… mosey restore --database 2h":                                                                                 "leaves the address to the reader",
	"docs/benchmarks.md: GOGC=400 go test -tags stackbench -run '^$' -bench . -benchtime 1000x ./internal/stack/temporal":                         "a benchmark",
	"docs/export.md: SELECT completed_at, run, outcome, status_code, duration_ms":                                                                 "is for DuckDB",
	"docs/export.md: SELECT p.title, l.anchor, l.from_url":                                                                                        "is for DuckDB",
	"docs/feed.md: curl \"http://127.0.0.1:8470/api/feed?after=$CURSOR&wait=30s\"":                                                                "another Mosey may have the port; TestFeed does the same",
	"docs/identity.md: mosey identity directory --sign keys --signature-agent https://crawler.example.org --headers headers.txt > directory.json": "needs a directory of keys",
	"docs/moving.md: mosey up --no-worker":                                                                                                        "moves to a cluster by hand, in steps",
	"docs/moving.md: mosey --data-dir ./home up --no-worker":                                                                                      "the same",
	"docs/moving.md: DATABASE_URL=… mosey restore --database 2h":                                                                                  "leaves the address to the reader",
	"docs/operations.md: DATABASE_URL=postgres://ann@db/mosey mosey search 'durable politeness'":                                                  "names a host of a cluster; TestReadersLogin does the same",
	"docs/seeds.md: mosey seed example.org https://example.net/blog --run small-web":                                                              "downloads the list of Tranco",
	"docs/seeds.md: temporal workflow start --task-queue mosey --type SeedWorkflow --workflow-id seed/top/1":                                      "the same",
	"docs/upgrades.md: TEMPORAL_WORKER_BUILD_ID=v0.2.0 worker":                                                                                    "needs two releases; TestUpgrade does the same",
	"docs/web.md: mosey serve": "names a host of a cluster",
}

// listedAs returns the entry of notRun that a block has, or "".
func listedAs(b document.Block) (entry string) {
	_, first, _ := strings.Cut(b.Name(), ": ")
	for entry := range notRun {
		if b.Name() == entry || strings.HasSuffix(entry, " ") && strings.HasPrefix(first, entry) {
			return entry
		}
	}
	return ""
}
