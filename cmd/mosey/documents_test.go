package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/show"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/test/document"
)

// parseLine parses a command line of mosey as main does, without running it.
func parseLine(t *testing.T, args []string) error {
	t.Helper()
	if len(args) == 0 || slices.ContainsFunc(args, func(a string) bool { return a == "--help" || a == "--version" || a == "help" }) {
		return nil
	}
	parser, err := wiring.NewParser(newCLI(), nil, nil, kong.Name("mosey"), enums, kong.Exit(func(int) {}))
	require.NoError(t, err)
	_, err = parser.Parse(show.SearchWords(parser.Model, args))
	return err
}

// words splits a shell's line into words, until a pipe, a redirection or a comment.
func words(line string) (all []string) {
	word := regexp.MustCompile(`^\s*((?:'[^']*'|"[^"]*"|[^\s'"])+)`)
	for {
		match := word.FindStringSubmatch(line)
		if match == nil || slices.Contains([]string{"|", ">", "&&", "#", "--"}, match[1]) {
			return all
		}
		all = append(all, strings.NewReplacer("'", "", `"`, "").Replace(match[1]))
		line = line[len(match[0]):]
	}
}

// moseyLine finds a command line of mosey, after variables and in a pipe.
var moseyLine = regexp.MustCompile(`(?m)(?:^|\| |run --rm |go run \./cmd/|bin/)(?:[A-Z_]+=\S* )*(?:exec )?mosey (.*)$`)

// Every command line of mosey in README.md and docs/*.md is one that mosey takes. What stands in a
// sentence may leave out arguments.
func TestCommandLinesInDocuments(t *testing.T) {
	t.Parallel()
	lines, spans := 0, 0
	for _, b := range document.Blocks(t, "../..") {
		if b.Language != "sh" {
			continue
		}
		for _, match := range moseyLine.FindAllStringSubmatch(strings.ReplaceAll(b.Text, "\\\n", " "), -1) {
			if err := parseLine(t, words(match[1])); !errors.Is(err, fs.ErrNotExist) { // a key of the reader's
				require.NoError(t, err, "%s: mosey %s", b.Document, match[1])
			}
			requireSettings(t, words(match[1]), b.Document)
			lines++
		}
	}
	incomplete := regexp.MustCompile(`^(missing flags: |expected |want |.*: missing )`)
	for name, text := range documentTexts(t) {
		for _, match := range regexp.MustCompile("`mosey ([^`]+)`").FindAllStringSubmatch(text, -1) {
			args := slices.DeleteFunc(words(match[1]), func(w string) bool { return strings.Contains(w, "…") || strings.HasPrefix(w, "[") })
			if err := parseLine(t, args); err != nil {
				if !strings.HasPrefix(err.Error(), "--") || !strings.Contains(err.Error(), ": expected ") {
					require.Regexp(t, incomplete, err.Error(), "%s: mosey %s", name, match[1])
				}
			}
			requireSettings(t, args, name)
			spans++
		}
	}
	require.Greater(t, lines, 100)
	require.Greater(t, spans, 100)
}

// documentTexts are README.md and docs/*.md.
func documentTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, name := range document.Documents(t, "../..") {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		texts[name] = strings.Join(strings.Fields(string(data)), " ")
	}
	return texts
}

// requireSettings requires that each NAME=VALUE that sets something of a run is a setting, with a
// value in its bounds.
func requireSettings(t *testing.T, args []string, document string) {
	t.Helper()
	isSet := len(args) > 1 && args[0] == "set" && strings.HasPrefix(args[1], "run:")
	for i, arg := range args {
		name, value, found := strings.Cut(arg, "=")
		if found && !strings.HasPrefix(arg, "-") && name != "key" && (isSet || i > 0 && args[i-1] == "--set") {
			_, err := settings.Parse([]string{name + "=" + value})
			require.NoError(t, err, "%s: mosey %s", document, strings.Join(args, " "))
		}
	}
}

// Every variable of Mosey that a document names is that of a flag, or another that a file of
// Docker, a benchmark or a test reads.
func TestVariablesInDocuments(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	var add func(n *kong.Node)
	add = func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, name := range f.Envs {
				known[name] = true
			}
		}
		for _, c := range n.Children {
			add(c)
		}
	}
	for _, flags := range []any{newCLI(), new(wiring.ServeFlags)} { // those of the worker alone
		parser, err := wiring.NewParser(flags, nil, nil, enums)
		require.NoError(t, err)
		add(parser.Model.Node)
	}
	for _, s := range settings.All() {
		known["MOSEY_"+strings.ToUpper(s.Name)] = true
	}
	variable := regexp.MustCompile(`\bMOSEY_[A-Z_]+\b`)
	for _, pattern := range []string{"docker/compose.yaml", "docker/.env.example", "test/plans/*.go", "cmd/*/*.go", "cmd/*/*/*.go"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, name := range variable.FindAllString(string(data), -1) {
				known[name] = true
			}
		}
	}
	for document, text := range documentTexts(t) {
		for _, name := range variable.FindAllString(text, -1) {
			require.True(t, known[name], "%s names %s, which nothing reads", document, name)
		}
	}
}
