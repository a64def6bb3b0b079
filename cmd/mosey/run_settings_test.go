package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/settings"
)

// runSettingsOf are the settings that a command line, an environment and a file give.
func runSettingsOf(t *testing.T, env wiring.Env, file string, args ...string) (command.RunSettings, error) {
	t.Helper()
	c := newCLI()
	parser, err := wiring.NewParser(c, env, []string{newHarness(t).WriteFile("config.yaml", file)}, enums)
	if err != nil {
		return command.RunSettings{}, err
	}
	_, err = parser.Parse(append([]string{"crawl"}, args...))
	return c.Crawl.RunSettings, err
}

// Patterns come one by one or with commas, from wherever flags come; empty takes them
// back, and not given leaves them.
func TestPatternsOfURLs(t *testing.T) {
	t.Parallel()
	excluded := func(env wiring.Env, args ...string) *[]string {
		t.Helper()
		r, err := runSettingsOf(t, env, "", args...)
		require.NoError(t, err)
		return r.Settings.Exclude
	}
	require.Nil(t, excluded(nil))
	require.Equal(t, &[]string{"/a", "/b", "/c?d=e"}, excluded(nil, "--exclude", "/a,/b", "--exclude=/c?d=e"))
	require.Equal(t, &[]string{"/a", "/b"}, excluded(wiring.Env{"MOSEY_EXCLUDE=/a,/b"}))
	require.Equal(t, &[]string{"/b"}, excluded(wiring.Env{"MOSEY_EXCLUDE=/a"}, "--exclude=/b"), "flags replace the environment's")
	for _, empty := range []string{"", "none"} {
		require.Empty(t, *excluded(nil, "--exclude="+empty))
		require.NotNil(t, excluded(nil, "--exclude="+empty))
	}
}

func TestRunSettings(t *testing.T) {
	t.Parallel()

	t.Run("WithoutAFlagComeFromSetTheEnvironmentAndAFile", func(t *testing.T) {
		t.Parallel()
		r, err := runSettingsOf(t, wiring.Env{"MOSEY_MAX_REDIRECTS=3", "MOSEY_GRAYLIST=1m"},
			"ip-delay: 2s\ncrawl:\n  max_attempts: 2\n  graylist: 9m\n  sitemaps: off\n", "--set", "feeds=off", "--set=skip=none")
		require.NoError(t, err)
		require.Equal(t, settings.Settings{
			MaxRedirects: new(3), Graylist: new(settings.Duration(time.Minute)), IPDelay: new(settings.Duration(2 * time.Second)),
			MaxAttempts: new(2), Sitemaps: new(false), Feeds: new(false), Skip: &[]string{},
		}, r.Settings)
	})

	t.Run("ThatAreTypedWin", func(t *testing.T) {
		t.Parallel()
		r, err := runSettingsOf(t, wiring.Env{"MOSEY_MAX_DEPTH=3"}, "max-attempts: 2\ndelay: 7s\n", "--set=max-attempts=5", "--set=max_depth=1", "--delay=1s")
		require.NoError(t, err)
		require.Equal(t, settings.Settings{MaxDepth: new(1), MaxAttempts: new(5), Delay: new(settings.Duration(time.Second))}, r.Settings)
	})

	t.Run("AreRefusedAsTheyWereGiven", func(t *testing.T) {
		t.Parallel()
		for want, args := range map[string][]string{
			"--max-redirects is not a flag: use --set max_redirects=5": {"--max-redirects", "5"},
			"--set delay=5s: --delay is given too":                     {"--set", "delay=5s", "--delay", "6s"},
			`max_attempts "many": want a number`:                       {"--set", "max_attempts=many"},
			`setting "delay": want name=value`:                         {"--set", "delay"},
			"setting delay is given twice":                             {"--set", "delay=1s", "--set", "delay=1s"},
			`unknown setting "speed"`:                                  {"--set", "speed=5"},
			`sitemaps "true": want on or off`:                          {"--set", "sitemaps=true"},
			`--max-depth: "deep": want a number`:                       {"--max-depth", "deep"},
		} {
			_, err := runSettingsOf(t, nil, "", args...)
			require.ErrorContains(t, err, want)
		}
		r, err := runSettingsOf(t, wiring.Env{"MOSEY_MAX_PAGES=-7"}, "", "--max-depth=-9", "--set", "max_attempts=0")
		require.NoError(t, err)
		err = r.Validate()
		for _, want := range []string{": --max-depth -9: want -1 to 32767", ": max_attempts 0: want 1 to 20", ": max_pages -7: want -1 or more"} {
			require.ErrorContains(t, err, want)
		}
	})
}
