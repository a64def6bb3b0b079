package command

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
)

// RunSettings are a run's settings from the command line, the environment and settings files.
type RunSettings struct {
	// Plugins has a flag for each setting (see SettingFlags).
	kong.Plugins

	Set []string `help:"Setting without a flag. Repeatable. mosey set --help lists all." placeholder:"NAME=VALUE" sep:"none" env:"-"`

	Settings settings.Settings `kong:"-"`
	// typed are the settings with flags on the command line.
	typed []string
}

// settingFlag is the flag of a setting. Each setting has one for the environment and settings
// files; the command line takes only the flags that the table allows.
type settingFlag struct{ text *string }

// SettingFlags creates the flags of settings from their table; no names means all.
func SettingFlags(names ...string) kong.Plugins {
	var fields []reflect.StructField
	for i, s := range settings.All() {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		hidden := ""
		if !s.Flag {
			hidden = ` hidden:""`
		}
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprintf("Setting%d", i), Type: reflect.TypeFor[settingFlag](),
			Tag: reflect.StructTag(fmt.Sprintf(`name:%q help:%q placeholder:%q%s`, flagName(s.Name), settingHelp(s), placeholder(s), hidden)),
		})
	}
	return kong.Plugins{reflect.New(reflect.StructOf(fields)).Interface()}
}

// HideExpert hides expert flags in the help of all commands but up.
func HideExpert(app *kong.Application) {
	for _, command := range app.Children {
		for _, flag := range command.Flags {
			flag.Hidden = flag.Hidden || command.Name != "up" && flag.Tag.Has("expert")
		}
	}
}

// TakesValue reports whether an argument is a flag whose value is the next argument.
func TakesValue(flags []*kong.Flag, arg string) bool {
	name, long := strings.CutPrefix(arg, "--")
	return long && slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == name && !f.IsBool() })
}

func flagName(setting string) string { return strings.ReplaceAll(setting, "_", "-") }

func settingHelp(s settings.Setting) string {
	text := s.Help
	if s.List() && s.Flag {
		text += " Repeatable, or separated by commas."
	}
	switch s.Default {
	case "", "-1", "0s":
		return text // the help explains it
	}
	return text + " Default: " + s.Default + "."
}

func placeholder(s settings.Setting) string {
	switch {
	case s.List():
		return "PATTERN"
	case s.Values != nil:
		return strings.Join(s.Values, "|")
	case s.Duration():
		return "DURATION"
	case s.Unit != "":
		return "N"
	}
	return "DAYS TIMES ZONE"
}

// Decode parses a value; kong calls it.
func (f *settingFlag) Decode(ctx *kong.DecodeContext) error {
	var text string
	s := settingOf(ctx.Value)
	if err := ctx.Scan.PopValueInto(s.Name, &text); err != nil {
		return err
	}
	if _, err := settings.Parse([]string{s.Name + "=" + text}); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), crawl.ErrInvalid.Error()+": "+s.Name+" "))
	}
	if f.text != nil && s.List() {
		text = *f.text + "," + text
	}
	f.text = &text
	return nil
}

func settingOf(v *kong.Value) settings.Setting {
	s, _ := settings.Lookup(strings.ReplaceAll(v.Name, "-", "_"))
	return s
}

// givenSettings returns the texts of settings from all sources by name, and the command line's
// names.
func givenSettings(ctx *kong.Context) (given map[string]string, typed []string, err error) {
	given = map[string]string{}
	for _, p := range ctx.Path {
		if p.Flag == nil {
			continue
		}
		flag, is := reflect.TypeAssert[settingFlag](p.Flag.Target)
		if !is {
			continue
		}
		s := settingOf(p.Flag.Value)
		given[s.Name] = *flag.text
		switch {
		case p.Resolved:
		case !s.Flag:
			return nil, nil, fmt.Errorf("--%s is not a flag: use --set %s=%s", p.Flag.Name, s.Name, *flag.text)
		default:
			typed = append(typed, s.Name)
		}
	}
	return given, typed, nil
}

// SettingsForOtherRuns are settings for a command that creates no run, but configures runs.
type SettingsForOtherRuns struct {
	// Plugins has a flag for each setting (see SettingFlags).
	kong.Plugins

	Settings settings.Settings `kong:"-"`
}

// AfterApply combines the settings; kong calls it.
func (r *SettingsForOtherRuns) AfterApply(ctx *kong.Context) error {
	var given RunSettings
	if err := given.AfterApply(ctx); err != nil {
		return err
	}
	r.Settings = given.Settings
	return AsFlag(politeness.ValidateSettings(r.Settings), nil)
}

// AfterApply combines the settings; kong calls it.
func (r *RunSettings) AfterApply(ctx *kong.Context) error {
	given, typed, err := givenSettings(ctx)
	if err != nil {
		return err
	}
	r.typed = typed
	pairs := slices.Clone(r.Set)
	for _, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		name = strings.ReplaceAll(name, "-", "_")
		if slices.Contains(r.typed, name) {
			return fmt.Errorf("--set %s: --%s is given too", pair, flagName(name))
		}
		delete(given, name) // the command line wins
	}
	for name, text := range given {
		pairs = append(pairs, name+"="+text)
	}
	r.Settings, err = settings.Parse(pairs)
	return err
}

// TypedFlags returns the settings of the command line, as flags.
func (r *RunSettings) TypedFlags() []string {
	typed := make([]string, 0, len(r.typed)+len(r.Set))
	for _, name := range r.typed {
		typed = append(typed, "--"+flagName(name))
	}
	for _, pair := range r.Set {
		typed = append(typed, "--set "+pair)
	}
	return typed
}

// Validate checks the settings; an error names the flag if it was typed.
func (r *RunSettings) Validate() error {
	return AsFlag(politeness.ValidateSettings(r.Settings), func(name string) bool { return slices.Contains(r.typed, name) })
}

// AsFlag names each fault's setting as a flag, such as --max-depth, if isFlag returns true or is
// nil.
func AsFlag(err error, isFlag func(name string) bool) error {
	if err == nil {
		return nil
	}
	return errors.New(invalidSetting.ReplaceAllStringFunc(err.Error(), func(text string) string {
		prefix := crawl.ErrInvalid.Error() + ": "
		name := strings.TrimPrefix(text, prefix)
		if isFlag != nil && !isFlag(name) {
			return text
		}
		return prefix + "--" + flagName(name)
	}))
}

var invalidSetting = regexp.MustCompile(crawl.ErrInvalid.Error() + `: [a-z_]+`)

// ProcessFlags returns the given flags that belong to the process and not to a run, for the command
// that resumes the run. It skips the environment and settings files.
func ProcessFlags(ctx *kong.Context) []string {
	return givenFlags(ctx, func(f *kong.Flag) bool { return !IsRunFlag(f) })
}

func givenFlags(ctx *kong.Context, filter func(*kong.Flag) bool) (words []string) {
	var seen []*kong.Flag
	for _, p := range ctx.Path {
		if p.Flag == nil || p.Resolved || slices.Contains(seen, p.Flag) || !filter(p.Flag) {
			continue
		}
		seen = append(seen, p.Flag)
		words = append(words, flagWords(p.Flag)...)
	}
	return words
}

// IsRunFlag reports whether a flag of crawl is stored with the run, or is for one call only.
func IsRunFlag(f *kong.Flag) bool {
	return f.Target.Type() == reflect.TypeFor[settingFlag]() || slices.Contains([]string{"run", "set", "for", "detach"}, f.Name)
}

func flagWords(f *kong.Flag) []string {
	name := "--" + f.Name
	if f.Tag.Has("secret") {
		return []string{name, "'…'"} // the output ends up in logs
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

// plainWord matches words that need no quotes in any shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

func shellQuote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
