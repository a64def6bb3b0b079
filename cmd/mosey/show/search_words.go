package show

import (
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/mosey/command"
)

// SearchWords puts the words of a search after "--" if one begins with a minus, so that
// "mosey search foo -bar" excludes pages with bar: kong would take it for a flag. Flags may
// stand before, between and after the words. Other commands are left as they are.
func SearchWords(app *kong.Application, args []string) []string {
	begin, cmd := commandOf(app, args)
	if cmd == nil || cmd.Target.Type() != reflect.TypeFor[SearchCmd]() {
		return args
	}
	var flags, words []string
	minus := false
	known := slices.Concat(app.Flags, cmd.Flags)
	for i := begin + 1; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			words, minus = append(words, args[i+1:]...), true
			i = len(args)
		case strings.HasPrefix(arg, "--") || isShort(known, arg):
			flags = append(flags, arg)
			if command.TakesNext(known, arg) && i+1 < len(args) {
				i++
				flags = append(flags, args[i])
			}
		default:
			minus = minus || len(arg) > 1 && arg[0] == '-'
			words = append(words, arg)
		}
	}
	if !minus {
		return args
	}
	return slices.Concat(args[:begin+1], flags, []string{"--"}, words)
}

// commandOf finds the word that names the command, and the command.
func commandOf(app *kong.Application, args []string) (at int, cmd *kong.Node) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case command.TakesNext(app.Flags, arg):
			i++
		case !strings.HasPrefix(arg, "-"):
			found := slices.IndexFunc(app.Children, func(n *kong.Node) bool { return n.Name == arg })
			if found < 0 {
				return 0, nil
			}
			return i, app.Children[found]
		}
	}
	return 0, nil
}

// isShort reports whether an argument is a short flag, such as -h.
func isShort(flags []*kong.Flag, arg string) bool {
	return slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Short != 0 && arg == "-"+string(f.Short) })
}
