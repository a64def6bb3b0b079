package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/output"
)

// commands are all there are.
func commands(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(newCLI(), enums)
	require.NoError(t, err)
	for _, c := range parser.Model.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestHelp(t *testing.T) {
	t.Parallel()

	t.Run("ListsEveryCommand", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.dir = "" // help is the first word
		names := commands(t)
		require.Len(t, names, 39)
		out := h.Print("help", "all")
		for _, name := range names {
			output.ContainsOnSameLine(t, out, "  "+name+" ")
		}
		short := h.Print("--help")
		require.LessOrEqual(t, strings.Count(short, "\n"), 50, "it fits on a screen")
		require.NotContains(t, short, "  replay ")
		require.Equal(t, short, h.Print("help"))
		require.Equal(t, h.Print("replay", "--help"), h.Print("help", "replay"))
		output.ContainsOnSameLine(t, out, "Example: mosey crawl https://example.org/")
	})

	t.Run("TellsTheVersion", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		out := h.Print("--version")
		require.Contains(t, out, "mosey "+wiring.Version()+"\n")
		require.Regexp(t, `\Amosey [0-9]+\.[0-9]+\.[0-9]+\S*\n`, out)
		output.ContainsOnSameLine(t, out, "built with go1", "/")
		h.Setenv("MOSEY_VERSION", "1")
		require.Contains(t, h.Print("status", "--help"), "--version ")
	})

	t.Run("OfEachCommandNamesItsFlagsAndTheirVariables", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, name := range commands(t) {
			out := h.Print(name, "--help")
			require.Contains(t, out, "Usage: mosey "+name, name)
			output.ContainsOnSameLine(t, out, "--data-dir=DIR", "Data directory, with the")
			require.NotContains(t, out, "%!", name)
		}
		out := strings.Join(strings.Fields(h.Print("crawl", "--help")), " ")
		require.Contains(t, out, "robots.txt can raise it. Default: 10s ($MOSEY_DELAY).")
		require.NotContains(t, out, "$MOSEY_HELP")
	})

	t.Run("OfCrawlIsShort", func(t *testing.T) {
		t.Parallel()
		parser, err := kong.New(newCLI(), enums)
		require.NoError(t, err)
		command.HideExpert(parser.Model)
		own := 0
		for _, flag := range parser.Model.Children[0].Flags {
			if !flag.Hidden {
				own++
			}
		}
		require.Equal(t, "crawl", parser.Model.Children[0].Name)
		require.LessOrEqual(t, own, 18)
		h := newHarness(t)
		require.NotContains(t, h.Print("crawl", "--help"), "--user-agent=")
		require.Contains(t, h.Print("crawl", "--help"), "mosey up --help")
		require.Contains(t, h.Print("up", "--help"), "--user-agent=")
		for _, s := range settings.All() {
			require.Contains(t, h.Print("set", "--help"), "    "+s.Name+"="+s.Default+"\n")
		}
	})

	t.Run("NeedsNothingThatACommandNeeds", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		require.Contains(t, h.Print("pause", "--help"), "--reason=TEXT")
	})
}

func TestUsage(t *testing.T) {
	t.Parallel()

	t.Run("AMistakeIsOneLineThatNamesTheInput", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, c := range []struct {
			args []string
			want []string
		}{
			{[]string{"fly"}, []string{"unexpected argument fly"}},
			{[]string{"statsu"}, []string{"unexpected argument statsu", `did you mean "status"`}},
			{[]string{"crawl", aPage, "--speed", "9"}, []string{"unknown flag --speed"}},
			{[]string{"crawl", aPage, "--dealy", "9s"}, []string{"unknown flag --dealy", "--delay"}},
			{[]string{"crawl", aPage, "--delay"}, []string{"--delay", "expected delay value"}},
			{[]string{"status", "one", "extra"}, []string{"unexpected argument extra"}},
			{[]string{"domain"}, []string{`expected "<name>"`}},
			{[]string{"page"}, []string{`expected "<url>"`}},
			{[]string{"why"}, []string{`expected "<url|domain>"`}},
			{[]string{"pause", aDomain}, []string{"missing flags: --reason=TEXT"}},
			{[]string{"block", aDomain}, []string{"missing flags: --reason=TEXT"}},
			{[]string{"set", aDomain, "--max-pages", "many"}, []string{"--max-pages", `"many"`}},
			{[]string{"up", "--no-worker=perhaps"}, []string{"--no-worker", `"perhaps"`}},
		} {
			h.Refuse(c.args, c.want...)
			command := "mosey "
			if len(c.args) > 0 && slices.Contains(commands(t), c.args[0]) {
				command += c.args[0] + " "
			}
			require.Contains(t, h.Execute(c.args...).Stderr, "Try: "+command+"--help\n")
		}
		require.Contains(t, h.Execute("list", "add", "--nowhere").Stderr, "Try: mosey list add --help\n", "the help that has the flag")
	})

	t.Run("AnErrorIsJSONWhereThatIsAskedFor", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		for _, args := range [][]string{
			{"domains", "--json", "--status", "loud"},       // of the command
			{"domains", "--json", "--statuss", "exhausted"}, // of the command line
		} {
			r := h.Execute(args...)
			require.Equal(t, wiring.ExitUsage, r.Code)
			require.Empty(t, r.Stdout)
			var failed struct {
				Error    string `json:"error"`
				ExitCode int    `json:"exit_code"`
			}
			require.NoError(t, json.Unmarshal([]byte(r.Stderr), &failed), r.Stderr)
			require.Equal(t, wiring.ExitUsage, failed.ExitCode)
			require.Contains(t, failed.Error, "--status")
		}
		r := h.Execute("status", "--json")
		require.Equal(t, wiring.ExitFailed, r.Code)
		require.Contains(t, r.Stderr, `"exit_code":1}`)
	})

	t.Run("SeveralMistakesAreALineEach", func(t *testing.T) {
		t.Parallel()
		r := newHarness(t).Execute("crawl", aPage, "--delay=-1s", "--set", "max_attempts=0", "--run", "a/b")
		require.Equal(t, wiring.ExitUsage, r.Code)
		output.ContainsOnSameLine(t, r.Stderr, `mosey: invalid input: run "a/b"`)
		output.ContainsOnSameLine(t, r.Stderr, "mosey: invalid input: --delay -1s: want 0s to ")
		output.ContainsOnSameLine(t, r.Stderr, "mosey: invalid input: max_attempts 0: want 1 to 20")
	})

	t.Run("IsFoundBeforeAnythingStarts", func(t *testing.T) {
		t.Parallel()
		h := newHarness(t)
		h.Refuse([]string{"crawl", "ftp://a.example/"}, "ftp://a.example/")
		h.Refuse([]string{"up", "--timeout", "1ms"}, "--timeout 1ms: want 1s to 10m")
		h.Refuse([]string{"up", "--ui-port", "99999"}, "--ui-port", "99999")
		h.Refuse([]string{"crawl", aPage, "--detach", "--ui-port", "9000"}, "--ui-port", "--detach")
		h.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1")
		h.Refuse([]string{"up", "--temporal-port", "9000"}, "--temporal-port", "TEMPORAL_ADDRESS")
		require.NoDirExists(t, h.dir+"/postgres")
	})
}

// Each wrong value of a flag: what was given, what is wrong with it, what is wanted.
func TestFlagValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 101)
	for flag, want := range map[string][]string{
		"--delay=ten":                   {"--delay: ", `"ten": want a number and a unit, such as 10s or 1h30m`},
		"--delay=10":                    {"--delay: ", `"10": want a number and a unit`},
		"--delay=-1s":                   {"--delay -1s: want 0s to "},
		"--set=ip_delay=-1s":            {"ip_delay -1s: want 0s to "},
		"--set=subnet_delay=-1s":        {"subnet_delay -1s: want 0s to "},
		"--set=defer_after=-1s":         {"defer_after -1s: want 0s to "},
		"--set=min_refetch=-1s":         {"min_refetch -1s: want 0s to "},
		"--set=graylist=-1s":            {"graylist -1s: want 0s to "},
		"--set=latency_factor=-1":       {"latency_factor -1: want 0 to "},
		"--set=latency_factor=much":     {"latency_factor", `"much"`},
		"--set=max_graylistings=0":      {"max_graylistings 0: want 1 to "},
		"--window=always":               {`--window "always": want days, times and optionally a time zone, such as Mon-Fri 22:00-06:00 Europe/Berlin`},
		"--window=Mon 1:00-2:00 Moon":   {`--window "Mon 1:00-2:00 Moon": time zone "Moon" is unknown: want an IANA name, such as Europe/Berlin or UTC`},
		"--max-pages=-2":                {"--max-pages -2: want -1 or more"},
		"--max-pages-per-domain=-2":     {"--max-pages-per-domain -2: want -1 or more"},
		"--max-depth=-2":                {"--max-depth -2: want -1 to 32767"},
		"--set=max_attempts=21":         {"max_attempts 21: want 1 to 20"},
		"--set=max_redirects=-1":        {"max_redirects -1: want "},
		"--include=wiki/":               {`--include "wiki/": want the beginning of a path or a URL`},
		"--exclude=/a b":                {`--exclude "/a b": want the beginning of a path or a URL`},
		"--set=skip=some":               {`skip "some": want some of extensions, variants; or none`},
		"--scope=moon":                  {`--scope "moon": want seeds or web`},
		"--purpose=fun":                 {`--purpose "fun": want search, ai-train or archive`},
		"--set=feeds=perhaps":           {"feeds", `"perhaps"`},
		"--set=max_active_domains=0":    {"max_active_domains 0: want 1 to "},
		"--set=pages_per_activity=0":    {"pages_per_activity", `"0": want auto or 1 to 1000`},
		"--set=pages_per_activity=many": {"pages_per_activity", `"many": want auto or 1 to 1000`},
		"--when-done=stay":              {`--when-done "stay": want end, wait or recrawl`},
		"--for=-1s":                     {"--for -1s: want a positive duration"},
		"--for=1":                       {"--for: ", `"1" is not a duration`},
		"--run=a/b":                     {`run "a/b": only letters, digits, '.', '_' and '-' are allowed, a letter or digit first`},
		"--run=" + long:                 {`run "aaaaaaaaaaaaaaaaaaaa…": 101 bytes long, at most 100 allowed`},
		"--run=":                        {"run: a name is needed, such as small-web"},
		"--user-agent=123":              {`--user-agent: invalid input: user agent "123": must begin with a product token`},
		"--contact=foo":                 {`--contact "foo": want a URL or mail address at which site owners reach you`, "such as https://"},
		"--contact=a\nb":                {`--contact "a\nb": want a URL or mail address`},
		"--dns-server=1.1.1.1":          {"--dns-server: ", "1.1.1.1"},
		"--allow-network=10.0.0":        {"--allow-network", `"10.0.0" is not a network: want an address or a range, such as 192.0.2.7 or 10.0.0.0/8`},
		"--malformed-robots=ignore":     {`--malformed-robots must be one of "disallow","allow" but got "ignore"`},
		"--timeout=999ms":               {"--timeout 999ms: want 1s to 10m"},
		"--timeout=11m":                 {"--timeout 11m0s: want 1s to 10m"},
		"--max-fetches=0":               {"--max-fetches 0: want 1 to 100000"},
		"--max-fetches=1000000":         {"--max-fetches 1000000: want 1 to 100000"},
		"--config=/nowhere/config.yaml": {"--config /nowhere/config.yaml: no such file or directory"},
	} {
		t.Run(strings.ToValidUTF8(flag, ""), func(t *testing.T) {
			t.Parallel()
			newHarness(t).Refuse([]string{"crawl", aPage, flag}, want...)
		})
	}
}
