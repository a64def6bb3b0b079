// Package docker_test checks the images and scripts, as far as that can be done
// without Docker.
package docker_test

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/form"
)

func TestMain(m *testing.M) {
	code := dbtest.Main(m)
	if program, err := checker(); err == nil {
		_ = os.RemoveAll(filepath.Dir(program)) // it is of no use any more
	}
	os.Exit(code)
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(data)
}

// An image's tag is to name one version, so that tomorrow's build is today's.
func TestImagesArePinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`^[\w./-]+:v?\d+\.\d+[\w.-]*(@sha256:[0-9a-f]{64})?$`)

	dockerfile := read(t, "Dockerfile")
	require.NotRegexp(t, `(?m)^#\s*syntax=`, dockerfile, "its image has a floating tag")
	stages := []string{"scratch"}
	from := regexp.MustCompile(`(?m)^FROM (\S+) AS (\S+)$`).FindAllStringSubmatch(dockerfile, -1)
	require.Len(t, from, strings.Count(dockerfile, "\nFROM "))
	for _, line := range from {
		if image := line[1]; !strings.Contains(strings.Join(stages, " "), image) {
			require.Regexp(t, pinned, image)
		}
		stages = append(stages, line[2])
	}

	var compose struct {
		Services map[string]struct {
			Image string
			Build any
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "compose.yaml")), &compose))
	require.Len(t, compose.Services, 11)
	for name, service := range compose.Services {
		if !strings.HasSuffix(service.Image, ":local") {
			require.Regexp(t, pinned, service.Image, name)
		}
	}
}

// The linker ignores a variable that is not there.
func TestVersionIsStamped(t *testing.T) {
	form.Long(t)
	t.Parallel()
	flags := regexp.MustCompile(`-ldflags="(.*)"`).FindAllStringSubmatch(read(t, "Dockerfile"), -1)
	require.Len(t, flags, 3)
	require.Equal(t, flags[0][1], flags[1][1])
	version := func(program, flags string) string {
		binary := filepath.Join(t.TempDir(), program)
		// without -trimpath, for which all would have to be compiled once more
		build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", strings.ReplaceAll(flags, "$VERSION", "1.2.3"), "-o", binary, "../cmd/"+program)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)
		out, err = exec.CommandContext(t.Context(), binary, "--version").CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	require.Regexp(t, `\Aworker 1\.2\.3\n`, version("worker", flags[0][1]))
	require.Equal(t, "1.2.3\n", version("manners", flags[2][1]))
}

func TestPasswordsMayHoldAnyCharacters(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("psql"); err != nil {
		t.Skip("there is no psql, which the image of Postgres has")
	}
	admin, err := url.Parse(dbtest.URL(t))
	require.NoError(t, err)
	query := admin.Query()
	for i, password := range []string{"plain", "\"a\" 'b'\\c:d %41+@/?#&=$HOME `id` $(id) {{.}} ü🙂"} {
		prefix := fmt.Sprintf("docker_test_%d_", i)
		// as in the container, but for names that are used here
		script := strings.NewReplacer("--username postgres", "", "ROLE ", "ROLE "+prefix, "OWNER ", "OWNER "+prefix,
			"DATABASE mosey, temporal, ", "DATABASE "+prefix+"mosey, "+prefix+"temporal, "+prefix, "DATABASE ", "DATABASE "+prefix,
		).Replace(read(t, "postgres/init.sh"))
		run(t, script, "PGHOST="+query.Get("host"), "PGPORT="+query.Get("port"), "PGPASSFILE="+query.Get("passfile"),
			"PGUSER="+admin.User.Username(), "PGDATABASE=postgres", "MOSEY_DB_PASSWORD="+password, "TEMPORAL_DB_PASSWORD="+password)

		// as Temporal connects
		passfile := filepath.Join(t.TempDir(), "pgpass")
		run(t, strings.ReplaceAll(read(t, "temporal/pgpass.sh"), "/tmp/pgpass", passfile), "TEMPORAL_DB_PASSWORD="+password)
		user := *admin
		user.User = url.UserPassword(prefix+"temporal", "")
		user.Path = "/" + prefix + "temporal"
		query.Set("passfile", passfile)
		user.RawQuery = query.Encode()
		query.Set("passfile", admin.Query().Get("passfile"))
		conn, err := pgx.Connect(t.Context(), user.String())
		require.NoError(t, err, "%q", password)
		require.NoError(t, conn.Close(t.Context()))
	}
}

// run runs a script of the shell, with nothing but these variables and the path.
func run(t *testing.T, script string, environ ...string) {
	t.Helper()
	sh := exec.CommandContext(t.Context(), "sh", "-eu")
	sh.Stdin = strings.NewReader(script)
	sh.Env = append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
	out, err := sh.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
