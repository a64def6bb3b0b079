package wiring_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

// cli is a command line like mosey's.
type cli struct {
	Config  wiring.ConfigFlag
	DataDir string

	Crawl crawlCmd `cmd:""`
	Up    upCmd    `cmd:""`
}

type crawlCmd struct {
	wiring.FetchFlags

	Delay    *time.Duration
	MaxPages *int64
	Standing *bool
	Run      string `default:"default"`
}

type upCmd struct {
	wiring.FetchFlags

	NoWorker bool
}

// parse parses a command line with this settings file.
func parse(t *testing.T, file string, args ...string) (cli, error) {
	t.Helper()
	return parseIn(t, nil, []string{write(t, file)}, args...)
}

func parseIn(t *testing.T, env wiring.Env, files []string, args ...string) (cli, error) {
	t.Helper()
	var c cli
	parser, err := wiring.NewParser(&c, env, files, kong.Name("mosey"),
		kong.Exit(func(int) { t.Error("kong wants to end the process") }))
	if err != nil {
		return c, err
	}
	_, err = parser.Parse(args)
	return c, err
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func TestSettingsFile(t *testing.T) {
	t.Parallel()

	t.Run("GivesWhatNoFlagGives", func(t *testing.T) {
		t.Parallel()
		c, err := parse(t, "# ours\ndata-dir: /srv/mosey\ntimeout: 1m\nmax-fetches: 100000\nrun: small-web\n"+
			"crawl:\n  contact: you@example.org\n  delay: 1h30m\n  max-pages: -1\n  standing: on\n",
			"crawl", "--max-fetches", "7")
		require.NoError(t, err)
		require.Equal(t, "/srv/mosey", c.DataDir)
		require.Equal(t, "you@example.org", c.Crawl.Contact)
		require.Equal(t, time.Minute, c.Crawl.Timeout)
		require.Equal(t, 90*time.Minute, *c.Crawl.Delay)
		require.EqualValues(t, -1, *c.Crawl.MaxPages)
		require.True(t, *c.Crawl.Standing)
		require.Equal(t, "small-web", c.Crawl.Run)
		require.Equal(t, 7, c.Crawl.MaxFetches, "the flag wins")
	})

	t.Run("LeavesAFilesTextAsItStands", func(t *testing.T) {
		t.Parallel()
		c, err := parse(t, "crawl: {run: 1.10}\n", "crawl")
		require.NoError(t, err)
		require.Equal(t, "1.10", c.Crawl.Run)
	})

	t.Run("NeedNotExistNorSayAnything", func(t *testing.T) {
		t.Parallel()
		missing := filepath.Join(t.TempDir(), "missing.yaml")
		for _, name := range []string{missing, write(t, ""), write(t, "# nothing\n"), write(t, "contact:\ncrawl:\n")} {
			c, err := parseIn(t, nil, []string{name}, "crawl")
			require.NoError(t, err)
			require.Empty(t, c.Crawl.Contact)
			require.Equal(t, 30*time.Second, c.Crawl.Timeout)
			require.Equal(t, "default", c.Crawl.Run)
			require.Nil(t, c.Crawl.Delay, "not set is not zero")
		}
	})

	t.Run("TakesLists", func(t *testing.T) {
		t.Parallel()
		a, b := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")
		for file, want := range map[string][]netip.Prefix{
			"allow-network: [10.0.0.0/8, 'fd00::/8']\n":                          {a, b},
			"allow-network:\n  - 10.0.0.0/8\n  - 'fd00::/8'\n":                   {a, b},
			"crawl: {allow-network: 10.0.0.0/8}\n":                               {a},
			"allow-network: []\n":                                                nil,
			"allow-network: 10.0.0.0/8\nup: {no-worker: on}\n":                   {a},
			"allow-network: 10.0.0.0/8\ncrawl: {contact: 'https://a.example'}\n": {a},
		} {
			c, err := parse(t, file, "crawl")
			require.NoError(t, err, file)
			require.ElementsMatch(t, want, c.Crawl.AllowNetwork, file)
		}
		c, err := parse(t, "allow-network: [10.0.0.0/8]\n", "crawl", "--allow-network", "fd00::/8", "--allow-network", "10.1.0.0/16")
		require.NoError(t, err)
		require.Equal(t, []netip.Prefix{b, netip.MustParsePrefix("10.1.0.0/16")}, c.Crawl.AllowNetwork, "flags replace the file's")
	})

	t.Run("HasASectionForEachCommand", func(t *testing.T) {
		t.Parallel()
		const file = "contact: all@a.example\nno-worker: on\nup: {contact: up@a.example}\n"
		c, err := parse(t, file, "up")
		require.NoError(t, err)
		require.Equal(t, "up@a.example", c.Up.Contact)
		require.True(t, c.Up.NoWorker)
		c, err = parse(t, file, "crawl")
		require.NoError(t, err, "what only another command knows is not wrong")
		require.Equal(t, "all@a.example", c.Crawl.Contact)
	})

	t.Run("IsOverriddenByTheNext", func(t *testing.T) {
		t.Parallel()
		system, own := write(t, "contact: system@a.example\nrun: system\ntimeout: 2s\n"), write(t, "contact: own@a.example\nrun: own\n")
		c, err := parseIn(t, nil, []string{system, own}, "--config", write(t, "contact: named@a.example\n"), "crawl")
		require.NoError(t, err)
		require.Equal(t, "named@a.example", c.Crawl.Contact)
		require.Equal(t, "own", c.Crawl.Run)
		require.Equal(t, 2*time.Second, c.Crawl.Timeout)
	})

	t.Run("IsRefusedWithThePlaceAndTheRemedy", func(t *testing.T) {
		t.Parallel()
		const remedy = "want a number and a unit, such as 10s or 1h30m"
		for file, want := range map[string][]string{
			"delay: 10\n":                         {"--delay", `"10" is not a duration`, remedy},
			"crawl: {delay: ten}\n":               {"--delay", `"ten" is not a duration`, remedy},
			"timeout: 10\n":                       {"--timeout", `"10" is not a duration`, remedy},
			"timeout: 1ms\n":                      {"--timeout 1ms", "want 1s to 10m"},
			"max-pages: many\n":                   {"--max-pages", `"many"`},
			"standing: maybe\n":                   {"--standing", `"maybe"`},
			"allow-network: 10.0.0\n":             {"--allow-network", `"10.0.0" is not a network`},
			"dleay: 10s\n":                        {"settings file", `"dleay"`},
			"dleay: 10s\ncontcat: x\n":            {`"dleay"`, `"contcat"`},
			"crawl:\n  dleay: 10s\n":              {"settings file", "crawl", `"dleay"`},
			"up:\n  delay: 10s\n":                 {"settings file", "up", `"delay"`},
			"spider:\n  delay: 10s\n":             {"settings file", `"spider"`},
			"contact:\n  mail: you@example.org\n": {"settings file", `"contact"`},
			"crawl: 3\n":                          {"settings file", `"crawl"`},
			"seed: x\n":                           {"settings file", `"seed"`},
			"contact: [a\n":                       {"config.yaml", "settings file", "line 1"},
			"- contact\n":                         {"config.yaml", "settings file", "line 1"},
			"contact: a\ncontact: b\n":            {"config.yaml", "settings file", "line 2", `"contact"`},
		} {
			_, err := parse(t, file, "crawl")
			for _, part := range want {
				require.ErrorContains(t, err, part, file)
			}
		}
	})

	t.Run("MustExistWhenItIsNamed", func(t *testing.T) {
		t.Parallel()
		_, err := parse(t, "", "--config", filepath.Join(t.TempDir(), "missing.yaml"), "crawl")
		require.ErrorContains(t, err, "missing.yaml")
	})
}

func TestDurationFlags(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"10", "-1", "ten", ""} {
		_, err := parse(t, "", "crawl", "--delay="+bad)
		require.ErrorContains(t, err, "is not a duration: want a number and a unit, such as 10s or 1h30m", bad)
	}
	c, err := parse(t, "delay: 1m\n", "crawl", "--delay", "0")
	require.NoError(t, err)
	require.Zero(t, *c.Crawl.Delay, "none at all is said with a plain 0")
}

func TestSettingsEnvironment(t *testing.T) {
	t.Parallel()

	t.Run("StandsBetweenFlagAndFile", func(t *testing.T) {
		t.Parallel()
		env := wiring.Env{"MOSEY_CONTACT=environment@a.example", "MOSEY_DELAY=2s", "MOSEY_ALLOW_NETWORK=10.0.0.0/8,10.0.0.0/16"}
		file := write(t, "contact: file@a.example\nallow-network: fd00::/8\ncrawl: {delay: 1s, run: file}\n")
		c, err := parseIn(t, env, []string{file}, "crawl")
		require.NoError(t, err)
		require.Equal(t, "environment@a.example", c.Crawl.Contact)
		require.Equal(t, 2*time.Second, *c.Crawl.Delay)
		require.Len(t, c.Crawl.AllowNetwork, 2)
		require.Equal(t, "file", c.Crawl.Run)
		c, err = parseIn(t, env, []string{file}, "crawl", "--contact=flag@a.example", "--delay=3s")
		require.NoError(t, err)
		require.Equal(t, "flag@a.example", c.Crawl.Contact)
		require.Equal(t, 3*time.Second, *c.Crawl.Delay)
	})

	t.Run("NamesAFurtherFile", func(t *testing.T) {
		t.Parallel()
		env := wiring.Env{"MOSEY_CONFIG=" + write(t, "contact: environment@a.example\n")}
		c, err := parseIn(t, env, nil, "crawl")
		require.NoError(t, err)
		require.Equal(t, "environment@a.example", c.Crawl.Contact)
		c, err = parseIn(t, env, nil, "--config", write(t, "contact: flag@a.example\n"), "crawl")
		require.NoError(t, err)
		require.Equal(t, "flag@a.example", c.Crawl.Contact)
	})

	t.Run("IsRefusedByTheVariablesName", func(t *testing.T) {
		t.Parallel()
		for variable, bad := range map[string]string{
			"MOSEY_DELAY": "10", "MOSEY_TIMEOUT": "1", "MOSEY_MAX_PAGES": "many", "MOSEY_ALLOW_NETWORK": "10.0.0",
		} {
			_, err := parseIn(t, wiring.Env{variable + "=" + bad}, nil, "crawl")
			require.ErrorContains(t, err, variable)
			require.ErrorContains(t, err, bad)
			_, err = parseIn(t, wiring.Env{variable + "=" + bad}, nil, "up")
			if variable == "MOSEY_DELAY" || variable == "MOSEY_MAX_PAGES" {
				require.NoError(t, err, "a setting of another command")
			}
		}
	})

	t.Run("CountsAsUnsetWhereEmpty", func(t *testing.T) {
		t.Parallel()
		c, err := parseIn(t, wiring.Env{"MOSEY_CONTACT=", "MOSEY_DELAY="}, []string{write(t, "contact: file@a.example\n")}, "crawl")
		require.NoError(t, err)
		require.Equal(t, "file@a.example", c.Crawl.Contact)
	})

	t.Run("IsNotTheProcesss", func(t *testing.T) {
		t.Parallel()
		_, set := os.LookupEnv("PATH")
		require.True(t, set)
		require.Empty(t, wiring.Env{}.Get("PATH"))
		require.Equal(t, "2", wiring.Env{"A=1", "B=", "A=2"}.Get("A"), "the last one holds")
	})
}
