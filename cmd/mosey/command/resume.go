package command

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// ProcessFlags are the given flags that belong to the process, not to a run. A command
// that goes on with the run has to give them again. What the environment or a settings
// file says holds for that command too.
func ProcessFlags(ctx *kong.Context) (words []string) {
	var seen []*kong.Flag
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Resolved || slices.Contains(seen, p.Flag) || StoredWithRun(p.Flag) {
			continue
		}
		seen = append(seen, p.Flag)
		words = append(words, flagWords(p.Flag)...)
	}
	return words
}

// StoredWithRun reports whether a flag of crawl is not to be repeated: it is a setting of
// the run, which is stored, or is about this call alone.
func StoredWithRun(f *kong.Flag) bool {
	return f.Target.Type() == reflect.TypeFor[settingFlag]() || slices.Contains([]string{"run", "set", "for", "detach"}, f.Name)
}

// flagWords are a flag and its value as a shell reads them.
func flagWords(f *kong.Flag) []string {
	name := "--" + f.Name
	if f.Tag.Has("secret") {
		return []string{name, "'…'"} // what is printed ends up in logs
	}
	switch f.Target.Kind() {
	case reflect.Bool:
		if f.Target.Bool() {
			return []string{name}
		}
		return []string{name + "=off"}
	case reflect.Slice:
		var words []string
		for i := range f.Target.Len() {
			words = append(words, name, shellQuote(fmt.Sprint(f.Target.Index(i))))
		}
		return words
	default:
		return []string{name, shellQuote(fmt.Sprint(f.Target))}
	}
}

// plainWord needs no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellQuote is a word as a POSIX shell reads it.
func shellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
