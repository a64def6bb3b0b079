package manual

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/cmd/mosey/command"
)

//go:embed completion
var scripts embed.FS

// CompletionCmd prints what has a shell complete Mosey's words.
type CompletionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help says where the output belongs.
func (*CompletionCmd) Help() string {
	return "bash: add 'source <(mosey completion bash)' to ~/.bashrc. zsh: add 'source <(mosey completion zsh)' to ~/.zshrc, " +
		"after compinit. fish: mosey completion fish > ~/.config/fish/completions/mosey.fish"
}

// Run prints the script.
func (c *CompletionCmd) Run(e *command.Env) error {
	script, err := scripts.ReadFile("completion/mosey." + c.Shell)
	if err != nil {
		return fmt.Errorf("read the script for %s: %w", c.Shell, err)
	}
	_, err = e.Stdout.Write(script)
	return err
}

// CompleteCmd is what the scripts ask.
type CompleteCmd struct {
	Words []string `arg:"" optional:"" passthrough:""`
}

// Run prints what the last word may be completed to, one a line.
func (c *CompleteCmd) Run(e *command.Env, app *kong.Application) error {
	for _, word := range Complete(app, c.Words) {
		fmt.Fprintln(e.Stdout, word)
	}
	return nil
}

// Complete lists what the last of words may be completed to: commands, flags, and values of
// flags that have few. It is empty where a shell should offer files.
func Complete(app *kong.Application, words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	node, flags, awaited := read(app, words[:len(words)-1])
	var all []string
	switch {
	case awaited != nil:
		all = values(awaited)
	case strings.HasPrefix(last, "-"):
		for _, f := range flags {
			if !f.Hidden {
				all = append(all, "--"+f.Name)
			}
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				all = append(all, child.Name)
			}
		}
		if len(all) == 0 && len(node.Positional) > 0 {
			all = enum(node.Positional[0])
		}
	}
	all = slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, last) || word == "" })
	slices.Sort(all)
	return all
}

// read goes along the words to the command that they name. It returns its flags, with those
// of the commands above, and the flag whose value comes next, if one does.
func read(app *kong.Application, words []string) (node *kong.Node, flags []*kong.Flag, awaited *kong.Flag) {
	node, flags = app.Node, slices.Clone(app.Flags)
	for i := 0; i < len(words); i++ {
		if command.TakesNext(flags, words[i]) {
			if i == len(words)-1 {
				at := slices.IndexFunc(flags, func(f *kong.Flag) bool { return "--"+f.Name == words[i] })
				return node, flags, flags[at]
			}
			i++
			continue
		}
		if at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == words[i] }); at >= 0 {
			node = node.Children[at]
			flags = append(flags, node.Flags...)
		}
	}
	return node, flags, nil
}

// values are those of a flag that has few; none where any text will do.
func values(f *kong.Flag) []string {
	if f.IsBool() {
		return []string{"on", "off"}
	}
	return enum(f.Value)
}

func enum(v *kong.Value) []string {
	if v.Enum == "" {
		return nil
	}
	return strings.Split(v.Enum, ",")
}
