package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
)

func TestResumeCommand(t *testing.T) {
	t.Parallel()
	flags := func(t *testing.T, environ wiring.Env, args ...string) string {
		t.Helper()
		parser, err := wiring.NewParser(newCLI(), environ, nil, kong.Name("mosey"), enums)
		require.NoError(t, err)
		ctx, err := parser.Parse(args)
		require.NoError(t, err)
		return strings.Join(command.ProcessFlags(ctx), " ")
	}

	t.Run("HasTheFlagsOfTheProcess", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "--data-dir '/a dir' --allow-network 10.0.0.0/8 --allow-network fd00::/8"+
			" --dns-server 127.0.0.1:53 --user-agent 'mosey (it'\\''s me)' --timeout 5s --malformed-robots allow --json",
			flags(t, nil, "--data-dir", "/a dir", "crawl", "https://example.org/", "--run", "x", "--allow-network", "10.0.0.0/8",
				"--delay", "20s", "--dns-server", "127.0.0.1:53", "--allow-network", "fd00::/8", "--user-agent", "mosey (it's me)",
				"--timeout", "5s", "--malformed-robots", "allow", "--json", "--for", "1h", "--scope", "web"))
	})

	t.Run("LeavesOutWhatTheEnvironmentSays", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "--contact a@example.org", flags(t, wiring.Env{"MOSEY_TIMEOUT=7s"}, "crawl", "--contact", "a@example.org"))
	})

	t.Run("TellsNoSecret", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "--web-token '…' --timeout 7s", flags(t, nil, "crawl", "--web-token", "0123456789abcdef", "--timeout", "7s"))
	})

	t.Run("LeavesOutNoFlagOfTheRequests", func(t *testing.T) {
		t.Parallel()
		parser, err := kong.New(&wiring.FetchFlags{})
		require.NoError(t, err)
		var all []string
		for _, f := range parser.Model.Flags {
			if f.Name != "help" {
				require.False(t, command.IsRunFlag(f), f.Name)
				all = append(all, f.Name)
			}
		}
		fields := reflect.VisibleFields(reflect.TypeFor[wiring.FetchFlags]())
		fields = slices.DeleteFunc(fields, func(f reflect.StructField) bool { return f.Anonymous })
		require.Len(t, all, len(fields))
	})

	t.Run("LeavesOutEverySettingOfARun", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, flags(t, nil, "crawl", "--delay", "20s", "--set", "max_attempts=2", "--exclude", "/a,/b", "--exclude", "/c"))
	})
}
