package e2e_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/up"
)

// mosey runs a command to its end and returns what it prints.
func mosey(t *testing.T, env []string, args ...string) string {
	t.Helper()
	p := start(t, env, moseyBin, args...)
	require.Zero(t, p.wait(t, time.Minute), "mosey %v:\n%s", args, p.out)
	return p.out.String()
}

// refuses runs a command that has to fail and to say why.
func refuses(t *testing.T, why string, args ...string) {
	t.Helper()
	p := start(t, environ(), moseyBin, args...)
	require.NotZero(t, p.wait(t, time.Minute), "mosey %v:\n%s", args, p.out)
	require.Contains(t, p.out.String(), why, "mosey %v", args)
}

// files are those below a directory, with what is in them.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(data)
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// moved is a crawl that is moved.
type moved struct {
	site

	sites, pages int
}

// up runs the crawl in a data directory.
func (m moved) up(t *testing.T, dir string) (*process, *pgxpool.Pool) {
	t.Helper()
	p := start(t, environ(), moseyBin, append([]string{"--data-dir", dir, "up"}, m.workerFlags()...)...)
	p.field(t, "Ready.")
	return p, pool(t, p.field(t, "Database"))
}

// fetched waits until so many pages more have been asked for.
func (m moved) fetched(t *testing.T, more int) {
	t.Helper()
	want := len(m.Log().Pages()) + more
	require.Eventually(t, func() bool { return len(m.Log().Pages()) >= want }, time.Minute, 10*time.Millisecond)
	require.Less(t, want, m.sites*m.pages, "the crawl is to be moved in the middle of it")
}

// TestMove moves a crawl to a cluster in the middle of it, and back.
func TestMove(t *testing.T) {
	t.Parallel()
	beside(t)
	const sites, pages = 4, 60
	m := moved{
		newSite(t, web.Options{Sites: web.Uniform(sites, web.Site{Pages: pages, Plain: true, Images: 1, Image: photograph(t)})}), sites, pages,
	}
	home, back, images := up.Dir(t), up.Dir(t), t.TempDir()
	m.begin(t, home)
	c := newCluster(t)
	m.there(t, home, c, images)
	w := c.worker(t, m.site, "--image-store", images)
	m.fetched(t, 20)
	m.back(t, back, c, images, w)

	_, p := m.up(t, back)
	require.Eventually(t, func() bool {
		return queryInt(t, p, "SELECT count(*) FROM crawl_runs WHERE name = 'moved' AND status = 'done'") == 1
	}, 2*time.Minute, 100*time.Millisecond)
	r := m.judge(t, web.Expectations{Delay: delay, UserAgent: "mosey/"})
	t.Log(strings.TrimSpace(r.String()))
	require.Zero(t, queryInt(t, p, "SELECT count(*) FROM page_crawls WHERE outcome IS NULL"))
	require.Contains(t, mosey(t, environ(), "--data-dir", back, "schedule", "list"), "weekly")
	require.Equal(t, 1, queryInt(t, p, "SELECT count(*) FROM domain_controls WHERE domain = 'paused.example'"))
	requireImages(t, back, sites*(pages+1))
}

// begin begins the crawl in a data directory, which is left in the middle of it.
func (m moved) begin(t *testing.T, home string) {
	t.Helper()
	run, p := m.up(t, home)
	start(t, environ(), moseyBin, "--data-dir", home, "crawl", "--detach", "--run", "moved", "--delay", delay.String(), "--set", "ip_delay=0s",
		"--images", "store", m.seeds)
	m.fetched(t, 1)
	mosey(t, environ(), "--data-dir", home, "schedule", "add", "weekly", "--run", "moved", "--every", "168h", m.Seeds()[0])
	require.Eventually(t, func() bool {
		return queryInt(t, p, "SELECT count(*) FROM image_contents WHERE stored_at IS NOT NULL") == 1
	}, time.Minute, 10*time.Millisecond)
	m.fetched(t, 4)
	run.signal(syscall.SIGTERM)
	require.Zero(t, run.wait(t, time.Minute))
}

// there moves the crawl to a cluster: after a look, a move that is killed, and one that is taken
// back.
func (m moved) there(t *testing.T, home string, c cluster, images string) {
	t.Helper()
	pause := []string{"--data-dir", home, "pause", "paused.example", "--reason", "for the move"}
	to := []string{"--data-dir", home, "move", "--to-database", c.database, "--temporal", c.temporal, "--image-store", images}
	would := mosey(t, environ(), append(to, "--dry-run")...)
	require.Contains(t, would, "Would move the data directory "+home)
	require.Contains(t, would, "Images    1 (")

	half := start(t, environ(), moseyBin, to...)
	half.field(t, "Copying the rows")
	half.kill(t)
	refuses(t, "this database is being moved to ", pause...)
	require.Contains(t, mosey(t, environ(), append(to, "--undo")...), "is open again")
	mosey(t, environ(), pause...)
	refuses(t, "there is nothing to undo", append(to, "--undo")...)

	out := mosey(t, environ(), to...)
	require.Contains(t, out, "Moved the data directory "+home)
	require.Contains(t, out, "1 schedule moved: weekly.")
	require.Equal(t, files(t, filepath.Join(home, "images")), files(t, images))
	refuses(t, "this database was moved to ", "--data-dir", home, "up")
	refuses(t, "this database was moved to ", pause...)
	require.Contains(t, mosey(t, environ(), to...), "Moved", "twice is no harm")
	refuses(t, "may have worked since", append(to, "--undo")...)
	require.Contains(t, mosey(t, c.environ(), "schedule", "list"), "weekly")
	require.Equal(t, 1, queryInt(t, c.pool, "SELECT count(*) FROM domain_controls WHERE domain = 'paused.example'"))
}

// back moves the crawl into a data directory, while a worker of the cluster works. The first try
// is killed.
func (m moved) back(t *testing.T, back string, c cluster, images string, w *process) {
	t.Helper()
	from := []string{"--data-dir", back, "move", "--from-database", c.database, "--temporal", c.temporal, "--image-store", images}
	half := start(t, environ(), moseyBin, from...)
	half.field(t, "Closing ")
	half.kill(t)
	out := mosey(t, environ(), from...)
	require.Contains(t, out, "1 schedule moved: weekly.")
	require.Equal(t, files(t, images), files(t, filepath.Join(back, "images")))
	require.NotZero(t, w.wait(t, time.Minute), "the worker stops by itself")
	require.Contains(t, w.out.String(), "moved to the data directory "+back)
}
