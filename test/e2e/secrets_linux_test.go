package e2e_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
	"github.com/mosey-web/mosey/manners/web"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/up"
	"github.com/mosey-web/mosey/test/wait"
)

// sitePages is how many ordinary pages each site of these tests has, beside odd ones.
const sitePages = 3

// secrets are what nobody is to see, by how Mosey was told.
type secrets map[string]string

// secret makes one. No other text has it in it.
func secret(way string) string {
	return "hush" + strings.ToLower(strings.ReplaceAll(way, "_", "")) + "hush"
}

// in names the secrets that a text has.
func (s secrets) in(text []byte) (found []string) {
	for way, value := range s {
		if bytes.Contains(text, []byte(value)) {
			found = append(found, way)
		}
	}
	slices.Sort(found)
	return found
}

// given are secrets of the environment, and the environment that has them.
func given() (s secrets, env []string) {
	s = secrets{}
	for name, value := range map[string]string{
		"MOSEY_WEB_TOKEN":            "%",
		"AWS_ACCESS_KEY_ID":          "%",
		"AWS_SECRET_ACCESS_KEY":      "%",
		"AWS_SESSION_TOKEN":          "%",
		"TEMPORAL_API_KEY":           "%",
		"OTEL_EXPORTER_OTLP_HEADERS": "authorization=%",
		// nothing listens there, which is reported
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://me:%@127.0.0.1:1",
		"HTTP_PROXY":                  "http://me:%@127.0.0.1:1",
		"HTTPS_PROXY":                 "http://me:%@127.0.0.1:1",
	} {
		s[name] = secret(name)
		env = append(env, name+"="+strings.ReplaceAll(value, "%", s[name]))
	}
	return s, environ(env...)
}

// waiting starts a crawl of a site's pages that waits for more, and waits until it has fetched
// all there are. An empty database is that of the data directory.
func waiting(t *testing.T, s site, dir, database string, env []string) (p *process, info datadir.Info) {
	t.Helper()
	args := append([]string{
		"--data-dir", dir, "--log-level", "debug", "crawl", s.seeds, "--delay", delay.String(), "--set", "ip_delay=0s",
		"--when-done", "wait", "--images", "store",
	}, s.workerFlags()...)
	p = start(t, env, moseyBin, args...)
	wait.Until(t, func() (ready bool) {
		var err error
		info, ready, err = datadir.Running(dir)
		return err == nil && ready && info.Ready
	}, crawlLimit, 50*time.Millisecond, "%s", p.out)
	if database != "" {
		info.DatabaseURL = database
	}
	rows := pool(t, info.DatabaseURL)
	wait.Until(t, func() bool {
		var fetched, open int
		err := rows.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pages WHERE kind = 'page' AND status = 'fetched'),
			(SELECT count(*) FROM page_crawls WHERE outcome IS NULL)`).Scan(&fetched, &open)
		return err == nil && fetched >= len(s.Seeds())*sitePages && open == 0
	}, crawlLimit, 100*time.Millisecond, "%s", p.out)
	return p, info
}

// histories are all there is in Temporal of all workflows.
func histories(t *testing.T, address string) (all []byte) {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: address})
	require.NoError(t, err)
	defer c.Close()
	list, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{PageSize: 1000})
	require.NoError(t, err)
	require.NotEmpty(t, list.GetExecutions())
	for _, e := range list.GetExecutions() {
		described, err := e.Marshal()
		require.NoError(t, err)
		all = append(all, described...)
		events := c.GetWorkflowHistory(t.Context(), e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId(), false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(t, err)
			data, err := event.Marshal()
			require.NoError(t, err)
			all = append(all, data...)
		}
	}
	return all
}

// rowsOf is the text of all rows of all tables.
func rowsOf(t *testing.T, database string) (all []byte) {
	t.Helper()
	p := pool(t, database)
	rows, err := p.Query(t.Context(), "SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	for _, table := range tables {
		all = append(all, textOf(t, p, table)...)
	}
	return all
}

func textOf(t *testing.T, p *pgxpool.Pool, table string) (all []byte) {
	t.Helper()
	rows, err := p.Query(t.Context(), "SELECT x::text FROM "+table+" AS x")
	require.NoError(t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return []byte(strings.Join(lines, "\n"))
}

// tree is a process and all that it has started.
func tree(t *testing.T, pid int) (pids []int) {
	t.Helper()
	pids = []int{pid}
	for i := 0; i < len(pids); i++ {
		children, err := filepath.Glob("/proc/" + strconv.Itoa(pids[i]) + "/task/*/children")
		require.NoError(t, err)
		for _, path := range children {
			list, err := os.ReadFile(path)
			if err != nil {
				continue // a thread has ended
			}
			for child := range strings.FieldsSeq(string(list)) {
				n, err := strconv.Atoi(child)
				require.NoError(t, err)
				pids = append(pids, n)
			}
		}
	}
	return pids
}

// absentBelow asserts that no file below a directory has a secret, but for those that match.
func (s secrets) absentBelow(t *testing.T, dir string, but *regexp.Regexp) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || but != nil && but.MatchString(path) {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		require.Empty(t, s.in(content), path)
		return err
	}))
	require.Greater(t, files, 3)
}

// What Mosey was told in confidence is in none of its outputs, logs, rows, command lines, and
// histories of Temporal.
func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()
	s := newSite(t, web.Options{Sites: web.Uniform(2, web.Site{Pages: sitePages})})
	f, err := os.OpenFile(s.seeds, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString("https://me:" + secret("seed") + "@example.org/\n")
	require.NoError(t, err)
	require.NoError(t, f.Close())

	t.Run("Embedded", func(t *testing.T) {
		t.Parallel()
		beside(t)
		told, env := given()
		told["seed"] = secret("seed")
		dir := up.Dir(t)
		p, info := waiting(t, s, dir, "", env)
		password, err := os.ReadFile(filepath.Join(dir, "postgres", "password"))
		require.NoError(t, err)
		told["password"] = strings.TrimSpace(string(password))

		require.Empty(t, told.in(histories(t, info.TemporalAddress)), "in Temporal")
		require.Empty(t, told.in(rowsOf(t, info.DatabaseURL)), "in Postgres")
		pids := tree(t, p.cmd.Process.Pid)
		require.Greater(t, len(pids), 3, "Postgres is one of many processes")
		for _, pid := range pids {
			line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
			if err == nil {
				require.Empty(t, told.in(line), "%q", line)
			}
			if environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ"); err == nil && pid != p.cmd.Process.Pid {
				require.Empty(t, told.in(environment), "the environment of %q", line)
			}
		}
		othersSeeNothing(t, dir, info.DatabaseURL)
		p.end()
		require.Empty(t, told.in([]byte(p.out.String())), "%s", p.out)
		require.Contains(t, p.out.String(), "127.0.0.1:1", "the receiver of traces was tried")
		told.absentBelow(t, dir, regexp.MustCompile(`/postgres/(password|pgpass)$`))
	})

	t.Run("DatabaseURL", func(t *testing.T) {
		form.Long(t)
		t.Parallel()
		beside(t)
		told, env := given()
		told["seed"] = secret("seed")
		database, password := withPassword(t)
		told["password"] = password
		dir := up.Dir(t)
		p, info := waiting(t, s, dir, database, append(env, "DATABASE_URL="+database))
		require.Empty(t, told.in(histories(t, info.TemporalAddress)), "in Temporal")
		require.Empty(t, told.in(rowsOf(t, database)), "in Postgres")
		for _, pid := range tree(t, p.cmd.Process.Pid) {
			if line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
				require.Empty(t, told.in(line), "%q", line)
			}
		}
		p.end()
		require.Empty(t, told.in([]byte(p.out.String())), "%s", p.out)
		told.absentBelow(t, dir, nil)
	})
}

// withPassword is a database of a user who has a password, in a Postgres of its own.
func withPassword(t *testing.T) (url, password string) {
	t.Helper()
	server, err := postgres.Start(t.Context(), postgres.Config{Dir: up.Dir(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(t.Context())) })
	password = secret("database")
	_, err = pool(t, server.URL()).Exec(t.Context(), "CREATE ROLE somebody SUPERUSER LOGIN PASSWORD '"+password+"'")
	require.NoError(t, err)
	url = strings.Replace(server.URL(), "mosey@", "somebody:"+password+"@", 1)
	return regexp.MustCompile(`passfile=[^&]*&`).ReplaceAllString(url, ""), password
}

// othersSeeNothing asserts that another user of the machine reads no file of a data directory
// that was made for all to enter, and cannot connect to its Postgres.
func othersSeeNothing(t *testing.T, dir, database string) {
	t.Helper()
	other, err := user.Lookup("nobody")
	if os.Geteuid() != 0 || err != nil {
		t.Log("only root can be another user: that others see nothing is not tested")
		return
	}
	uid, err := strconv.ParseUint(other.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(other.Gid, 10, 32)
	require.NoError(t, err)
	asOther := func(name string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	var files []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	}))
	for _, name := range []string{"stack.json", "postgres.log", "postgres/password", "temporal/temporal.db", "temporal/temporal.log"} {
		require.Contains(t, files, filepath.Join(dir, name))
	}
	const script = `for f; do if [ -r "$f" ] || [ -w "$f" ]; then echo "$f"; fi; done; echo looked`
	seen, err := asOther("sh", append([]string{"-c", script, "sh", "/etc/passwd"}, files...)...)
	require.NoError(t, err, seen)
	require.Equal(t, "/etc/passwd\nlooked\n", seen)

	if _, err := exec.LookPath("psql"); err != nil {
		t.Log("there is no psql: that others cannot connect to Postgres is not tested")
		return
	}
	said, err := asOther("psql", "--no-password", database, "-c", "SELECT 1")
	require.Error(t, err)
	require.Contains(t, said, "Permission denied")
}

// What a command that fails says has no secret in it.
func TestErrorsTellNoSecrets(t *testing.T) {
	t.Parallel()
	database, password := withPassword(t)
	wrong := strings.Replace(database, password, secret("wrong"), 1)
	told, env := given()
	told["password"], told["wrong"], told["url"] = password, secret("wrong"), secret("url")
	withURL := func(text string) string { return strings.ReplaceAll(text, "%", secret("url")) }

	for name, c := range map[string]struct {
		env  []string
		args []string
	}{
		"a wrong password":               {[]string{"DATABASE_URL=" + wrong}, []string{"status"}},
		"a wrong password, to migrate":   {[]string{"DATABASE_URL=" + wrong}, []string{"migrate"}},
		"a host that is not reached":     {[]string{"DATABASE_URL=" + withURL("postgres://me:%@127.0.0.1:1/mosey")}, []string{"status"}},
		"a host that is not known":       {[]string{"DATABASE_URL=" + withURL("postgres://me:%@no.host.invalid/mosey")}, []string{"search", "x"}},
		"a malformed URL":                {[]string{"DATABASE_URL=" + withURL("postgres://me:%/#@db/mosey")}, []string{"status"}},
		"a malformed port":               {[]string{"DATABASE_URL=" + withURL("postgres://me:%@db:port/mosey")}, []string{"status"}},
		"pairs":                          {[]string{"DATABASE_URL=" + withURL("host=127.0.0.1 port=1 password=%")}, []string{"export", "pages", "--out", "-"}},
		"malformed pairs":                {[]string{"DATABASE_URL=" + withURL("host=127.0.0.1 password='%")}, []string{"status"}},
		"a password parameter":           {[]string{"DATABASE_URL=" + withURL("postgres://db:x/mosey?password=%")}, []string{"serve"}},
		"a Temporal that is not reached": {[]string{"DATABASE_URL=" + database, "TEMPORAL_ADDRESS=127.0.0.1:1"}, []string{"schedule", "list"}},
		"a malformed key of Temporal": {
			[]string{"DATABASE_URL=" + database, "TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_TLS_CLIENT_CERT_DATA=x", withURL("TEMPORAL_TLS_CLIENT_KEY_DATA=%")},
			[]string{"schedule", "list"},
		},
		"a bucket with credentials": {nil, []string{"maintain", "--image-store", withURL("s3://me:%@bucket")}},
		"a bucket that is not reached": {
			[]string{"DATABASE_URL=" + database}, []string{"maintain", "--image-store", "s3://bucket?endpoint=http://127.0.0.1:1&region=us-east-1"},
		},
		"a bucket behind the proxy": {
			[]string{"DATABASE_URL=" + database}, []string{"maintain", "--image-store", "s3://bucket?endpoint=https://s3.example.invalid&region=us-east-1"},
		},
		"a seed":               {nil, []string{"crawl", withURL("https://me:%@example.org/")}},
		"a seed without https": {nil, []string{"crawl", withURL("me:%@example.org/")}},
		"a seed of a list":     {[]string{"DATABASE_URL=" + database}, []string{"seed", withURL("https://me:%@example.org/")}},
		"a list":               {[]string{"DATABASE_URL=" + database}, []string{"seed", "--source", "tranco", "--url", withURL("https://me:%@127.0.0.1:1/list.zip")}},
		"a list by a query":    {[]string{"DATABASE_URL=" + database}, []string{"seed", "--source", "csv", "--url", withURL("http://me:%@127.0.0.1:1/list.csv")}},
		"a page":               {[]string{"DATABASE_URL=" + database}, []string{"page", withURL("https://me:%@example.org/")}},
		"a page to explain":    {[]string{"DATABASE_URL=" + database}, []string{"why", withURL("https://me:%@example.org/")}},
		"a domain":             {[]string{"DATABASE_URL=" + database}, []string{"domain", withURL("https://me:%@exam ple.org/")}},
		"a contact":            {nil, []string{"crawl", "https://example.org/", "--contact", withURL("https://me:%@example.org/")}},
		"a short token":        {[]string{"DATABASE_URL=" + database, "MOSEY_WEB_TOKEN=hushwronghush"}, []string{"serve"}},
		"a receiver of traces": {
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + withURL("http://me:%@exam ple:1")}, []string{"crawl", "https://example.org/"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beside(t)
			p := start(t, append(slices.Clone(env), c.env...), moseyBin, append([]string{"--data-dir", up.Dir(t), "--log-level", "debug"}, c.args...)...)
			require.NotZero(t, p.wait(t, time.Minute), "%s", p.out)
			require.Contains(t, p.out.String(), "mosey: ")
			require.Empty(t, told.in([]byte(p.out.String())), "%s", p.out)
		})
	}
}
