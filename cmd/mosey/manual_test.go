package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for words, want := range map[string]string{
		"st":                        "status stop",
		"status --js":               "--json",
		"--data-dir /tmp sta":       "status", // the value of a flag is no command
		"--log-level ":              "debug error info warn",
		"status --log-level d":      "debug", // flags of all commands, too
		"crawl --delay ":            "",      // any text will do: the shell offers files
		"crawl https://a.example/ ": "",      //
		"crawl --user":              "",      // for experts
		"up --user":                 "--user-agent",
		"list ":                     "add import remove show",
		"list add --rea":            "--reason",
		"completion ":               "bash fish zsh",
		"nothing --js":              "",
		"__":                        "", // what the scripts ask is no word for people
	} {
		args := append([]string{"__complete", "--"}, strings.Split(words, " ")...)
		require.Equal(t, strings.Fields(want), strings.Fields(h.Print(args...)), words)
	}
	require.Contains(t, strings.Fields(h.Print("__complete")), "crawl")

	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := h.Print("completion", shell)
		require.Contains(t, script, "mosey __complete -- ")
		if path, err := exec.LookPath(shell); err == nil {
			out, err := exec.CommandContext(t.Context(), path, "-n", h.WriteFile("completion", script)).CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
	h.Refuse([]string{"completion", "tcsh"}, "bash", "tcsh")
}

func TestManPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	page := h.Print("man")
	parser, err := kong.New(newCLI())
	require.NoError(t, err)
	escape := strings.NewReplacer("-", `\-`).Replace
	for _, leaf := range parser.Model.Leaves(true) {
		require.Contains(t, page, `.SS "mosey `+escape(strings.ReplaceAll(leaf.Path(), "mosey ", "")))
		for _, f := range leaf.Flags {
			if !f.Hidden && !f.Tag.Has("expert") {
				require.Contains(t, page, "\n.B "+escape("--"+f.Name), leaf.Path())
			}
		}
	}
	require.Contains(t, page, escape("--data-dir=DIR"))
	require.NotContains(t, page, "__complete")
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	show := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Tutf8")
	show.Stdin = strings.NewReader(page)
	var complaints strings.Builder
	show.Stderr = &complaints
	shown, err := show.Output()
	require.NoError(t, err)
	require.Empty(t, complaints.String(), "it has nothing that man does not understand")
	require.Contains(t, string(shown), "mosey crawl https://example.org/ --delay 10s")
}
