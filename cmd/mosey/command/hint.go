package command

import (
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

var connectionFlags = []string{"data-dir", "config"}

// hints adds the connection flags of a command line to the commands in texts.
type hints struct {
	// flags is empty if no flag was given.
	flags string
	// commandPattern matches mosey, a command, and a following --help.
	commandPattern *regexp.Regexp
}

// TakeFlags records the flags that hints repeat. It ignores the environment and settings files,
// which hold for the next command as well.
func (e *Env) TakeFlags(ctx *kong.Context) {
	e.Process = ProcessFlags(ctx)
	words := givenFlags(ctx, func(f *kong.Flag) bool { return slices.Contains(connectionFlags, f.Name) })
	flags := strings.Join(words, " ")
	if flags == "" || strings.ContainsAny(flags, "\"\\\n") { // a hint may be part of a JSON text
		return
	}
	var names []string
	for _, c := range ctx.Model.Children {
		names = append(names, c.Name)
	}
	e.hints = hints{flags, regexp.MustCompile(`\bmosey (` + strings.Join(names, "|") + `)\b( --help)?`)}
}

// Hint repeats this command's connection flags, such as --data-dir, in each command of a text.
func (e *Env) Hint(text string) string {
	if e.hints.flags == "" {
		return text
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		if !strings.Contains(line, e.hints.flags) { // such as the line that resumes a crawl
			line = e.hints.commandPattern.ReplaceAllStringFunc(line, func(found string) string {
				if strings.HasSuffix(found, " --help") {
					return found
				}
				return "mosey " + e.hints.flags + strings.TrimPrefix(found, "mosey")
			})
		}
		out.WriteString(line)
	}
	return out.String()
}
