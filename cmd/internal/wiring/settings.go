package wiring

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// envPrefix is that of the environment variables that flags have.
const envPrefix = "MOSEY"

// KongOptions are the options that both commands share: settings come from flags,
// else from the environment (MOSEY_*), else from files.
func KongOptions(files ...string) []kong.Option {
	duration := kong.MapperFunc(decodeDuration)
	return []kong.Option{
		kong.DefaultEnvars(envPrefix),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), duration),
		kong.Configuration(loadSettings, files...),
	}
}

// decodeDuration reads a duration. A bare number, which kong would take for
// nanoseconds, is refused: a delay of 10 must not come out as none at all.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is no duration: want a number and a unit, such as 10s or 1h30m", text)
	}
	target.SetInt(int64(d))
	return nil
}

// fileSettings are the settings of a YAML file. A key is a flag's name without the
// dashes; below a command's name it is for that command alone.
type fileSettings map[string]setting

// setting is a value as it would stand on the command line, or a section.
type setting struct {
	text    string
	section map[string]setting
	// given is false for a key without a value
	given bool
}

// UnmarshalYAML takes values as they were written: a run named 1.10 is not 1.1.
func (s *setting) UnmarshalYAML(n *yaml.Node) error {
	s.given = true
	switch n.Kind {
	case yaml.MappingNode:
		return n.Decode(&s.section)
	case yaml.SequenceNode:
		// lists are repeated flags
		var parts []setting
		if err := n.Decode(&parts); err != nil {
			return err
		}
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.text
		}
		s.text = strings.Join(texts, ",")
	case yaml.AliasNode:
		return s.UnmarshalYAML(n.Alias)
	default:
		s.text = n.Value
	}
	return nil
}

func loadSettings(r io.Reader) (kong.Resolver, error) {
	s := fileSettings{}
	if err := yaml.NewDecoder(r).Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	return s, nil
}

// Validate refuses keys that no flag has, so that a typing error does not pass for
// a setting.
func (s fileSettings) Validate(app *kong.Application) error {
	var errs []error
	everywhere := flagNames(app.Node)
	commands := map[string][]string{}
	for _, c := range app.Children {
		commands[c.Name] = flagNames(c)
		everywhere = append(everywhere, commands[c.Name]...)
	}
	for key, value := range s {
		known, isCommand := commands[key]
		switch {
		case isCommand && value.section != nil:
			for k := range value.section {
				if !slices.Contains(known, k) {
					errs = append(errs, fmt.Errorf("settings file: %s has no setting %q", key, k))
				}
			}
		case isCommand && !value.given:
			// a section of which all is commented out
		case isCommand || value.section != nil || !slices.Contains(everywhere, key):
			errs = append(errs, fmt.Errorf("settings file: there is no setting %q", key))
		}
	}
	return errors.Join(errs...)
}

func flagNames(n *kong.Node) []string {
	names := make([]string, len(n.Flags))
	for i, f := range n.Flags {
		names[i] = f.Name
	}
	return names
}

// Resolve finds the file's value for a flag that was not given.
func (s fileSettings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil //nolint:nilnil // kong's way to say "not here"
		}
	}
	if parent.Node().Type == kong.CommandNode {
		if v, ok := s[parent.Node().Name].section[flag.Name]; ok && v.given {
			return v.text, nil
		}
	}
	if v, ok := s[flag.Name]; ok && v.given {
		return v.text, nil
	}
	return nil, nil //nolint:nilnil // see above
}

// IgnoreEmptyEnv unsets variables of Mosey that are set to nothing, as compose
// files leave them: they mean "not given".
func IgnoreEmptyEnv() error {
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); value == "" && strings.HasPrefix(name, envPrefix+"_") {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("unset %s: %w", name, err)
			}
		}
	}
	return nil
}
