package main

import (
	"slices"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/crawl/settings"
)

// TestCommandsPrintJSON checks that every command has --json, except commands that serve or that
// print a file or lines of JSON only.
func TestCommandsPrintJSON(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(newCLI(), kong.Name("mosey"), enums)
	require.NoError(t, err)
	var without []string
	for _, leaf := range parser.Model.Leaves(true) {
		if !slices.ContainsFunc(leaf.Flags, func(f *kong.Flag) bool { return f.Name == "json" }) {
			without = append(without, leaf.FullPath())
		}
	}
	require.Equal(t, []string{
		"mosey up", "mosey serve", "mosey export", "mosey feed", "mosey archive cdxj", "mosey identity serve", "mosey identity directory",
	}, without)
}

func TestChangesAsJSON(t *testing.T) {
	t.Parallel()
	r := newRows(t, settings.Settings{})
	says := func(want command.Change, args ...string) {
		t.Helper()
		var got command.Change
		r.Decode(&got, append(args, "--json")...)
		require.NotContains(t, got.Message, "\n")
		want.Message = got.Message
		if !want.Until.IsZero() {
			require.WithinDuration(t, want.Until, got.Until, time.Minute)
			want.Until = got.Until
		}
		require.Equal(t, want, got)
	}
	run := r.run.Name
	says(command.Change{Action: "paused", Domain: aDomain, Until: time.Now().Add(time.Hour)}, "pause", aDomain, "--reason", "x", "--until", "1h")
	says(command.Change{Action: "blocked", Domain: aDomain}, "block", aDomain, "--reason", "x")
	says(command.Change{Action: "lifted", Domain: aDomain, RemainingReason: reasons.Blocked}, "resume", aDomain)
	says(command.Change{Action: "lifted", Domain: aDomain}, "unblock", aDomain)
	says(command.Change{Action: "stopped", Domain: aDomain}, "stop", aDomain)
	says(command.Change{Action: "set", Domain: aDomain}, "set", aDomain, "--delay", "5s")
	says(command.Change{Action: "paused", Run: run}, "pause", "run:"+run, "--reason", "x")
	says(command.Change{Action: "set", Run: run}, "set", "run:"+run, "delay=5s")
	says(command.Change{Action: "resumed", Run: run}, "resume", "run:"+run)
	says(command.Change{Action: "stopped", Run: run}, "stop", "run:"+run)
	says(command.Change{Action: "added", List: "allow", Count: new(int64(1))}, "list", "add", "allow", "b.example")
	says(command.Change{Action: "removed", List: "allow", Count: new(int64(1))}, "list", "remove", "allow", "--all")
	says(command.Change{Action: "pending", Run: run, Count: new(int64(0))}, "recrawl", "--run", run, "--older-than", "30d")
	says(command.Change{Action: "migrated", Count: new(int64(0))}, "migrate")
}
