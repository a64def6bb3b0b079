package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	// a command that fails at once, and says what settings it was given
	queue := []string{"queue", "--run", "a"}

	t.Run("ComeFromAFileThatIsNamed", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		file := h.WriteFile("mine.yaml", "queue: {run: from-file}\n")
		h.Refuse([]string{"--config", file, "queue"}, `run "from-file" does not exist`)
		h.Setenv("MOSEY_CONFIG", file)
		h.Refuse([]string{"queue"}, `run "from-file" does not exist`)
		h.Refuse(queue, `run "a" does not exist`)
	})

	t.Run("ComeFromTheUsualFiles", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.settings = []string{h.WriteFile("system.yaml", "run: of-all\n"), h.WriteFile("own.yaml", "run: own\n")}
		h.Refuse([]string{"queue"}, `run "own" does not exist`)
	})

	t.Run("ComeFromTheEnvironment", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.settings = []string{h.WriteFile("own.yaml", "run: from-file\n")}
		h.Setenv("MOSEY_RUN", "from-environment")
		h.Refuse([]string{"queue"}, `run "from-environment" does not exist`)
		h.Refuse(queue, `run "a" does not exist`)
	})

	t.Run("OfTheEnvironmentThatAreEmptyAreNotGiven", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.settings = []string{h.WriteFile("own.yaml", "run: from-file\n")}
		h.Setenv("MOSEY_RUN", "")
		h.Setenv("MOSEY_DELAY", "")
		h.Setenv("MOSEY_CONFIG", "")
		h.Refuse([]string{"queue"}, `run "from-file" does not exist`)
		h.Setenv("DATABASE_URL", "")
		h.settings = nil
		h.Fail([]string{"queue"}, h.dir, "nothing has been crawled yet")
	})

	t.Run("OfRunsDoNotChangeADomain", func(t *testing.T) {
		t.Parallel()
		h, _ := newHarnessWithDatabase(t)
		h.settings = []string{h.WriteFile("own.yaml", "delay: 20s\nmax-pages: 7\n")}
		h.Setenv("MOSEY_WINDOW", "Mon-Fri 22:00-06:00 UTC")
		h.Refuse([]string{"set", aDomain}, "give --delay, --max-pages, --window or --reset-traps")
	})

	t.Run("ThatAreBadAreRefusedByTheirPlace", func(t *testing.T) {
		t.Parallel()
		for variable, c := range map[string]struct{ value, want string }{
			"MOSEY_DELAY":         {"10", `--delay: MOSEY_DELAY: "10": want a number and a unit`},
			"MOSEY_TIMEOUT":       {"1", `--timeout: MOSEY_TIMEOUT: "1" is not a duration`},
			"MOSEY_MAX_PAGES":     {"many", `--max-pages: MOSEY_MAX_PAGES: `},
			"MOSEY_ALLOW_NETWORK": {"10.0.0", "--allow-network: MOSEY_ALLOW_NETWORK: "},
			"MOSEY_JSON":          {"perhaps", `--json: MOSEY_JSON: "perhaps": want on or off`},
		} {
			h := newHarness(t)
			h.Setenv("DATABASE_URL", "postgres://127.0.0.1:1/none")
			h.Setenv(variable, c.value)
			h.Refuse([]string{"crawl", aPage}, c.want)
		}
	})

	t.Run("OfAFileThatAreBadAreRefusedByTheirPlace", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string][]string{
			"delay: 10\n":            {"--delay: settings file NAME: ", `"10": want a number and a unit`},
			"crawl: {timeout: 1}\n":  {"--timeout: settings file NAME: ", `"1" is not a duration`},
			"max-pages: many\n":      {"--max-pages: settings file NAME: ", `"many"`},
			"dleay: 10s\n":           {"settings file NAME: ", `unknown setting "dleay"`},
			"crawl: {dleay: 10s}\n":  {"settings file NAME: ", `crawl has no setting "dleay": mosey crawl --help lists`},
			"spider: {delay: 10s}\n": {"settings file NAME: ", `unknown setting "spider"`},
			"contact: [a\n":          {"NAME: ", "settings file: ", "line 1"},
			"- contact\n":            {"NAME: ", "settings file: ", "line 1"},
		} {
			h := newHarness(t)
			file := h.WriteFile("config.yaml", text)
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "NAME", file)
			}
			h.Refuse([]string{"--config", file, "crawl", aPage}, want...)
			h.settings = []string{file}
			h.Refuse([]string{"crawl", aPage}, want...)
		}
	})

	t.Run("AreLookedForInTheUsersDirectory", func(t *testing.T) {
		t.Parallel()
		files := settingsFiles()
		require.Equal(t, "/etc/mosey/config.yaml", files[0])
		if dir, err := os.UserConfigDir(); err == nil {
			require.Equal(t, filepath.Join(dir, "mosey", "config.yaml"), files[1])
		}
	})
}

func TestDatabase(t *testing.T) {
	t.Parallel()

	t.Run("IsRefusedWhereItsURLIsNone", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", "http//nowhere")
		for _, command := range []string{"status", "audit", "migrate"} {
			h.Refuse([]string{command}, "database URL: ", "want a URL such as postgres://mosey@localhost:5432/mosey")
		}
	})

	t.Run("IsRefusedWithoutItsPassword", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, url := range []string{
			"postgres://mosey:SEC/RET@127.0.0.1/mosey", "postgres://mosey:SEC%RET@127.0.0.1/mosey",
			"postgres://mosey:SEC@RET@127.0.0.1:port/mosey", "host=127.0.0.1 port=none password='SEC RET'",
		} {
			h.Setenv("DATABASE_URL", url)
			for _, args := range [][]string{{"status"}, {"migrate"}, {"up"}, {"crawl", aPage}} {
				h.Refuse(args, "database URL: ", "want a URL such as postgres://mosey@localhost:5432/mosey")
				require.NotRegexp(t, "SEC|RET", h.Execute(args...).Stderr)
			}
		}
	})

	t.Run("IsNamedInOneLineWhereItDoesNotAnswer", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Setenv("DATABASE_URL", "postgres://mosey:secret@127.0.0.1:1/mosey")
		h.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		for _, args := range [][]string{{"status"}, {"migrate"}, {"why", aDomain}, {"up"}, {"crawl", aPage}} {
			h.Fail(args, "reach the database: ", "127.0.0.1:1", "refused", "check that Postgres runs at DATABASE_URL")
			r := h.Execute(args...)
			require.Equal(t, 1, strings.Count(r.Stderr, "\n"), r.Stderr)
			require.NotContains(t, r.Stderr, "secret")
		}
	})

	t.Run("IsNotThereBeforeTheFirstCrawl", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, args := range [][]string{
			{"status"},
			{"domain", aDomain},
			{"page", aPage},
			{"why", aPage},
			{"audit"},
			{"pause", aDomain, "--reason", "x"},
			{"resume", aDomain},
			{"block", aDomain, "--reason", "x"},
			{"unblock", aDomain},
			{"set", aDomain, "--delay", "1m"},
		} {
			h.Fail(args, h.dir+": nothing has been crawled yet: start with mosey crawl https://example.org/")
		}
	})
}
