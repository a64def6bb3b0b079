package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Setting holds the declarations in the tags of a field of [Settings].
type Setting struct {
	// Name is the name in JSON, such as max_depth.
	Name  string
	Group string
	Help  string
	// Default is the default in the form that operators write.
	Default string
	// Values lists the allowed values; nil means no such list.
	Values []string
	Unit   string
	// Flag is set if mosey crawl has a flag for it, Expert if hardly anybody changes it.
	Flag, Expert bool

	index        int
	kind         reflect.Type // of the value
	low, high    reflect.Value
	keyword      string
	keywordValue reflect.Value
	check        func(name string, value any) error
}

// All returns the settings in the order of their declaration.
func All() []Setting { return slices.Clone(table) }

// Lookup returns the setting with a name.
func Lookup(name string) (Setting, bool) {
	d, known := byName[name]
	return d, known
}

// List reports whether the setting is a list.
func (d Setting) List() bool { return d.kind.Kind() == reflect.Slice }

// table and byName hold the declarations.
var (
	table  = declarations()
	byName = names(table)
)

// declarations reads the tags. It panics on an invalid tag: tests detect that.
func declarations() (all []Setting) {
	for field := range reflect.TypeFor[Settings]().Fields() {
		if field.IsExported() {
			all = append(all, newSetting(field))
		}
	}
	return all
}

func newSetting(field reflect.StructField) Setting {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	d := Setting{
		Name: name, Group: field.Tag.Get("group"), Help: field.Tag.Get("help"), Default: field.Tag.Get("default"),
		Unit: field.Tag.Get("unit"), index: field.Index[0], kind: field.Type.Elem(),
	}
	_, d.Flag = field.Tag.Lookup("flag")
	_, d.Expert = field.Tag.Lookup("expert")
	if values := field.Tag.Get("values"); values != "" {
		d.Values = strings.Split(values, ",")
	}
	bound := func(tag string) (v reflect.Value) {
		if text := field.Tag.Get(tag); text != "" {
			v = must(scalar(text, d.kind))
		}
		return v
	}
	d.low, d.high = bound("min"), bound("max")
	if keyword, text, found := strings.Cut(field.Tag.Get("word"), ":"); found {
		d.keyword, d.keywordValue = keyword, must(scalar(text, d.kind))
	}
	if check, found := field.Tag.Lookup("check"); found {
		if d.check = checks[check]; d.check == nil {
			panic("there is no check " + check)
		}
	}
	if d.Name == "" || d.Group == "" || d.Help == "" {
		panic("a setting needs a name, a group and help: " + field.Name)
	}
	return d
}

func must(v reflect.Value, ok bool) reflect.Value {
	if !ok {
		panic("a setting's tag cannot be read")
	}
	return v
}

func names(all []Setting) map[string]Setting {
	known := make(map[string]Setting, len(all))
	for _, d := range all {
		if _, isDuplicate := known[d.Name]; isDuplicate {
			panic("two settings have the name " + d.Name)
		}
		known[d.Name] = d
	}
	return known
}

func (d Setting) fieldIn(s *Settings) reflect.Value { return reflect.ValueOf(s).Elem().Field(d.index) }

func pointer(value reflect.Value) reflect.Value {
	p := reflect.New(value.Type())
	p.Elem().Set(value)
	return p
}

// WithDefaults returns a copy in which every field is set.
func (s Settings) WithDefaults() Settings {
	for _, d := range table {
		if field := d.fieldIn(&s); field.IsNil() {
			value, _ := d.parse(d.Default) // a test parses them all
			field.Set(pointer(value))
		}
	}
	return s
}

// durationType is the type of durations, which are numbers to package reflect.
var durationType = reflect.TypeFor[Duration]()

// Bounds describes the allowed values.
func (d Setting) Bounds() string {
	switch {
	case d.kind.Kind() == reflect.Bool:
		return "on or off"
	case d.List() && d.Values != nil:
		return "some of " + strings.Join(d.Values, ", ") + "; or none"
	case d.Values != nil:
		return orList(d.Values)
	case d.low.IsValid():
		return d.rangeText()
	}
	return ""
}

func (d Setting) rangeText() string {
	text := numberText(d.low)
	if d.keyword != "" {
		text = d.keyword + " or " + text
	}
	if !d.high.IsValid() {
		return text + " or more"
	}
	return text + " to " + numberText(d.high)
}

// numberText writes whole hours as such.
func numberText(v reflect.Value) string { return strings.Replace(fmt.Sprint(v), "h0m0s", "h", 1) }

func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Duration reports whether the setting is a duration.
func (d Setting) Duration() bool { return d.kind == durationType }
