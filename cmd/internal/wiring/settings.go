package wiring

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

const envPrefix = "MOSEY"

// Flags are those that every program has.
type Flags struct {
	LogFlags

	Version versionFlag `help:"Print the version." env:"-"`
}

// NewParser makes the parser of a command line. A value that no flag gives comes
// from the environment (MOSEY_*), else from files, the last of which wins.
func NewParser(flags any, env Env, files []string, options ...kong.Option) (*kong.Kong, error) {
	load := func(r io.Reader) (kong.Resolver, error) { return loadSettings(r, env) }
	parser, err := kong.New(flags, append([]kong.Option{
		kong.DefaultEnvars(envPrefix),
		kong.ValueFormatter(helpWithEnv),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), kong.MapperFunc(decodeNetwork)),
		kong.KindMapper(reflect.Bool, onOff{}),
		kong.Resolvers(settings{env: env}),
		kong.Configuration(load, files...),
	}, options...)...)
	if err != nil {
		return nil, err
	}
	detachEnv(parser.Model.Node, env)
	return parser, nil
}

// detachEnv keeps kong from reading the environment of the process: settings reads the one of the
// command. Only the flag of a settings file is set here, because settings needs it.
func detachEnv(n *kong.Node, env Env) {
	for _, flag := range n.Flags {
		flag.Tag.Envs = nil
		if flag.Target.Type() != reflect.TypeFor[ConfigFlag]() {
			continue
		}
		for _, name := range flag.Envs {
			if file, set := env.LookupEnv(name); set {
				flag.Default, flag.HasDefault = file, true
			}
		}
	}
	for _, child := range n.Children {
		detachEnv(child, env)
	}
}

func helpWithEnv(v *kong.Value) string {
	if v.Flag == nil || len(v.Flag.Envs) == 0 {
		return v.Help
	}
	help := strings.TrimSuffix(v.Help, ".")
	return help + " ($" + strings.Join(v.Flag.Envs, ", $") + ")" + v.Help[len(help):]
}

// ConfigFlag is a flag that names a settings file.
type ConfigFlag string

// BeforeResolve reads the file; kong calls it.
func (ConfigFlag) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	name, _ := ctx.FlagValue(trace.Flag).(ConfigFlag)
	file, err := k.LoadConfig(string(name))
	if err != nil {
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err // without the name a second time
		}
		return fmt.Errorf("--config %s: %w", name, err)
	}
	ctx.AddResolver(file)
	return nil
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

// settings come from the environment, else from a YAML file. There a key is a flag's name, with
// underscores or dashes. Below the name of a command it is for that command alone.
type settings struct {
	env  Env
	name string // of the file
	file map[string]setting
}

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
		return decodeKeys(n, &s.section)
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

// decodeKeys reads a section. Its keys get the dashes that flags have.
func decodeKeys(n *yaml.Node, into *map[string]setting) error {
	var section map[string]setting
	if err := n.Decode(&section); err != nil {
		return err
	}
	*into = make(map[string]setting, len(section))
	for key, value := range section {
		name := strings.ReplaceAll(key, "_", "-")
		if _, twice := (*into)[name]; twice {
			return fmt.Errorf("line %d: %s is given twice", n.Line, name)
		}
		(*into)[name] = value
	}
	return nil
}

func loadSettings(r io.Reader, env Env) (kong.Resolver, error) {
	s := settings{env: env}
	if file, ok := r.(interface{ Name() string }); ok {
		s.name = file.Name()
	}
	var text yaml.Node
	err := yaml.NewDecoder(r).Decode(&text)
	if errors.Is(err, io.EOF) {
		return s, nil
	}
	if err == nil {
		if root := text.Content[0]; root.Kind != yaml.MappingNode && root.Tag != "!!null" {
			err = fmt.Errorf("line %d: want settings, such as delay: 20s", root.Line)
		} else {
			err = decodeKeys(&text, &s.file)
		}
	}
	if err != nil { // of several faults yaml makes a line each
		return nil, fmt.Errorf("settings file: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return s, nil
}

// Validate refuses keys that no flag has, so that a typing error does not pass for a setting.
func (s settings) Validate(app *kong.Application) error {
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: "+format, append([]any{s.source()}, args...)...))
	}
	everywhere := allFlagNames(app.Node)
	commands := map[string][]string{}
	for _, c := range app.Children {
		commands[c.Name] = flagNames(c)
	}
	for _, key := range slices.Sorted(maps.Keys(s.file)) {
		value := s.file[key]
		known, isCommand := commands[key]
		switch {
		case isCommand && value.section != nil:
			for _, k := range slices.Sorted(maps.Keys(value.section)) {
				if !slices.Contains(known, k) {
					refuse("%s has no setting %q; mosey %s --help lists all", key, k, key)
				}
			}
		case isCommand && !value.given:
			// a section of which all is commented out
		case value.section != nil || !slices.Contains(everywhere, key):
			refuse("there is no setting %q; settings have the names of the flags", key)
		}
	}
	return errors.Join(errs...)
}

func (s settings) source() string { return strings.TrimSpace("settings file " + s.name) }

func allFlagNames(n *kong.Node) []string {
	names := flagNames(n)
	for _, c := range n.Children {
		names = append(names, allFlagNames(c)...)
	}
	return names
}

func flagNames(n *kong.Node) []string {
	names := make([]string, len(n.Flags))
	for i, f := range n.Flags {
		names[i] = f.Name
	}
	return names
}

// Resolve finds the value of a flag that was not given.
func (s settings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if text, set := s.env.LookupEnv(name); set {
			return checked(flag, text, name)
		}
	}
	var v setting
	if len(flag.Envs) > 0 { // another command's setting may have the name of a flag without a variable
		v = s.file[flag.Name]
	}
	if parent.Node().Type == kong.CommandNode {
		if own := s.file[parent.Node().Name].section[flag.Name]; own.given {
			v = own
		}
	}
	if v.given {
		return checked(flag, v.text, s.source())
	}
	return nil, nil //nolint:nilnil // kong's way to say "not here"
}

// checked is a flag's text, read once already: what kong would say of a bad one does
// not tell where it stands.
func checked(flag *kong.Flag, text, source string) (any, error) {
	target := reflect.New(flag.Target.Type()).Elem()
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
	}
	scan := kong.ScanFromTokens(kong.Token{Type: kong.FlagValueToken, Value: text})
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, target); err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return text, nil
}

// onOff reads switches: on, off, or a flag without a value, which is on.
type onOff struct{}

func (onOff) IsBool() bool { return true }

func (onOff) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	text := "on"
	if ctx.Scan.Peek().Type == kong.FlagValueToken {
		text = fmt.Sprint(ctx.Scan.Pop().Value)
	}
	if text != "on" && text != "off" {
		return fmt.Errorf("%q: want on or off", text)
	}
	target.SetBool(text == "on")
	return nil
}

// decodeNetwork reads a network. An address is the network of it alone.
func decodeNetwork(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("network")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	network, ok := parseNetwork(text)
	if !ok {
		return fmt.Errorf("%q is not a network: want an address or a range, such as 192.0.2.7 or 10.0.0.0/8", text)
	}
	target.Set(reflect.ValueOf(network))
	return nil
}

func parseNetwork(text string) (network netip.Prefix, ok bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap() // as connections are compared
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	network, err := netip.ParsePrefix(text)
	return network, err == nil && !network.Addr().Is4In6()
}

// Env is an environment, as os.Environ gives it. Commands get it from their caller, so that a test
// can give each its own. What is set to nothing, as compose files leave it, counts as not set.
type Env []string

// Get is a variable's value; empty if it is not set.
func (e Env) Get(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// LookupEnv is a variable's value, and whether it is set to anything.
func (e Env) LookupEnv(name string) (string, bool) {
	for _, kv := range slices.Backward(e) {
		if key, value, _ := strings.Cut(kv, "="); key == name {
			return value, value != ""
		}
	}
	return "", false
}

// Environ returns all variables, as envconfig wants them.
func (e Env) Environ() []string { return e }
