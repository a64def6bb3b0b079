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

// Flags are the flags of every program.
type Flags struct {
	LogFlags

	Version versionFlag `help:"Print the version." env:"-"`
}

// NewParser returns a command line parser. Missing flags get their values from the environment
// (MOSEY_*), else from the last file that has them.
func NewParser(flags any, env Env, files []string, options ...kong.Option) (*kong.Kong, error) {
	load := func(r io.Reader) (kong.Resolver, error) { return loadSettings(r, env) }
	parser, err := kong.New(flags, append([]kong.Option{
		kong.DefaultEnvars(envPrefix),
		kong.ValueFormatter(helpWithEnv),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(decodeDuration)),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), kong.MapperFunc(decodeNetwork)),
		kong.KindMapper(reflect.Bool, switchMapper{}),
		kong.Resolvers(settings{env: env}),
		kong.Configuration(load, files...),
	}, options...)...)
	if err != nil {
		return nil, err
	}
	detachEnv(parser.Model.Node, env)
	return parser, nil
}

// detachEnv keeps kong from reading the process's environment: settings reads the command's. Only
// the flag of a settings file is set here, because settings needs it.
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

// ConfigFlag is the name of a settings file.
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

// decodeDuration parses a duration. It refuses a bare number, which kong takes for nanoseconds.
func decodeDuration(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	text := fmt.Sprint(token.Value)
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration: want a number and a unit, such as 10s or 1h30m", text)
	}
	target.SetInt(int64(d))
	return nil
}

// settings resolves flags from the environment, else from a YAML file. A key is a flag's name, with
// underscores or dashes. A section named like a command applies to that command alone.
type settings struct {
	env  Env
	name string // the file's name
	file map[string]setting
}

// setting is a value as on the command line, or a section.
type setting struct {
	text    string
	section map[string]setting
	// isSet is false for a key without a value
	isSet bool
}

// UnmarshalYAML keeps values as written: a run named 1.10 is not 1.1.
func (s *setting) UnmarshalYAML(n *yaml.Node) error {
	s.isSet = true
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
	if err != nil { // yaml formats several faults as a line each
		return nil, fmt.Errorf("settings file: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return s, nil
}

// Validate refuses unknown keys, so that a typing error is not ignored.
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
					refuse("%s has no setting %q: mosey %s --help lists all", key, k, key)
				}
			}
		case isCommand && !value.isSet:
			// a section with all its lines commented out
		case value.section != nil || !slices.Contains(everywhere, key):
			refuse("unknown setting %q: settings have the names of the flags", key)
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
			return parseFlagText(flag, text, name)
		}
	}
	var v setting
	if len(flag.Envs) > 0 { // another command's setting may share the name of a flag without a variable
		v = s.file[flag.Name]
	}
	if parent.Node().Type == kong.CommandNode {
		if commandSetting := s.file[parent.Node().Name].section[flag.Name]; commandSetting.isSet {
			v = commandSetting
		}
	}
	if v.isSet {
		return parseFlagText(flag, v.text, s.source())
	}
	return nil, nil //nolint:nilnil // kong's way to say "not here"
}

// parseFlagText parses a flag's text early, because kong's error would not name the source.
func parseFlagText(flag *kong.Flag, text, source string) (any, error) {
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

// switchMapper parses switches: on, off, or a flag without a value, which means on.
type switchMapper struct{}

func (switchMapper) IsBool() bool { return true }

func (switchMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
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

// decodeNetwork parses a network, or an address as a network of one.
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

// Env is an environment in the format of os.Environ. Callers pass it to commands, so that each test
// can use its own. An empty variable, as compose files leave it, counts as unset.
type Env []string

// Get returns a variable's value, or "" if it is not set.
func (e Env) Get(name string) string {
	value, _ := e.LookupEnv(name)
	return value
}

// LookupEnv returns a variable's value and reports whether it is not empty.
func (e Env) LookupEnv(name string) (string, bool) {
	for _, kv := range slices.Backward(e) {
		if key, value, _ := strings.Cut(kv, "="); key == name {
			return value, value != ""
		}
	}
	return "", false
}

// Environ returns all variables, for envconfig.
func (e Env) Environ() []string { return e }
