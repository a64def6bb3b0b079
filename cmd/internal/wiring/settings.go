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

// KongOptions are the options that both commands share: settings come from flags,
// else from the environment (MOSEY_*), else from files.
func KongOptions(files ...string) []kong.Option {
	duration := kong.MapperFunc(decodeDuration)
	return []kong.Option{
		kong.DefaultEnvars("MOSEY"),
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
type fileSettings map[string]any

func loadSettings(r io.Reader) (kong.Resolver, error) {
	// of the plain type, which the decoder then also uses for what is nested
	var s map[string]any
	if err := yaml.NewDecoder(r).Decode(&s); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	return fileSettings(s), nil
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
		section, isSection := value.(map[string]any)
		switch {
		case isCommand && isSection:
			for k := range section {
				if !slices.Contains(known, k) {
					errs = append(errs, fmt.Errorf("settings file: %s has no setting %q", key, k))
				}
			}
		case isCommand && value == nil:
			// a section of which all is commented out
		case isCommand || isSection || !slices.Contains(everywhere, key):
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
	if section, ok := s[parent.Node().Name].(map[string]any); ok && parent.Node().Type == kong.CommandNode {
		if v := section[flag.Name]; v != nil {
			return settingText(v), nil
		}
	}
	if v := s[flag.Name]; v != nil {
		return settingText(v), nil
	}
	return nil, nil //nolint:nilnil // see above
}

// settingText gives kong the value as it would stand on the command line; lists
// are repeated flags.
func settingText(v any) any {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = fmt.Sprint(p)
		}
		return strings.Join(parts, ",")
	case bool:
		return v
	default:
		return fmt.Sprint(v)
	}
}
