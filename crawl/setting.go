package crawl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// ParseSettings reads settings as people give them one by one: name=value, by the names
// that JSON has. A list is divided by commas. Errors wrap ErrInvalid.
func ParseSettings(pairs []string) (Settings, error) {
	object := make(map[string]json.RawMessage, len(pairs))
	for _, pair := range pairs {
		name, text, found := strings.Cut(pair, "=")
		if !found {
			return Settings{}, fmt.Errorf("%w: setting %q: want name=value, such as delay=5s", ErrInvalid, pair)
		}
		value, err := settingValue(name, text)
		if err != nil {
			return Settings{}, err
		}
		if _, twice := object[name]; twice {
			return Settings{}, fmt.Errorf("%w: setting %s is given twice", ErrInvalid, name)
		}
		object[name] = value
	}
	data, err := json.Marshal(object)
	if err != nil {
		return Settings{}, fmt.Errorf("%w: settings: %w", ErrInvalid, err)
	}
	var set Settings
	return set, json.Unmarshal(data, &set)
}

// settingValue is a setting's value as JSON.
func settingValue(name, text string) (json.RawMessage, error) {
	kind, known := settingKinds[name]
	if !known {
		return nil, fmt.Errorf("%w: there is no setting %q: mosey run NAME shows those there are", ErrInvalid, name)
	}
	switch kind {
	case reflect.Bool:
		switch text {
		case "on", "true":
			return json.RawMessage("true"), nil
		case "off", "false":
			return json.RawMessage("false"), nil
		}
		return nil, fmt.Errorf("%w: %s %q: want true or false", ErrInvalid, name, text)
	case reflect.Int, reflect.Float64:
		value := json.RawMessage(text)
		if name == "pages_per_activity" && text == "auto" {
			value = json.RawMessage(`"auto"`)
		} else if d := json.NewDecoder(bytes.NewReader(value)); d.Decode(new(float64)) != nil || d.More() {
			return nil, fmt.Errorf("%w: %s %q: want a number", ErrInvalid, name, text)
		}
		return value, nil
	case reflect.Map:
		return weightsValue(name, text)
	case reflect.Slice:
		list := []string{}
		for one := range strings.SplitSeq(text, ",") {
			if one != "" {
				list = append(list, one)
			}
		}
		return json.Marshal(list)
	default:
		return json.Marshal(text)
	}
}

// weightsValue reads weights, such as rank:2,errors:0.5.
func weightsValue(name, text string) (json.RawMessage, error) {
	weights := map[string]float64{}
	for one := range strings.SplitSeq(text, ",") {
		if one == "" {
			continue
		}
		part, number, found := strings.Cut(one, ":")
		weight, err := strconv.ParseFloat(number, 64)
		if !found || err != nil {
			return nil, fmt.Errorf("%w: %s %q: want part:weight, such as rank:2,errors:0.5", ErrInvalid, name, text)
		}
		weights[part] = weight
	}
	return json.Marshal(weights)
}

// settingKinds are the settings that there are, and what their values are.
var settingKinds = func() map[string]reflect.Kind {
	kinds := map[string]reflect.Kind{}
	for field := range reflect.TypeFor[Settings]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		of := field.Type.Elem()
		kind := of.Kind()
		switch {
		case of == reflect.TypeFor[Duration]():
			kind = reflect.String
		case kind == reflect.Int64:
			kind = reflect.Int
		}
		kinds[name] = kind
	}
	return kinds
}()
