package signatures

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
)

// member is a member of a dictionary, or an item of a list. text is its source, with its
// parameters.
type member struct {
	key   string
	text  string
	value any // a string, an int64, a bool, or bytes
	items []member
	of    map[string]any // its parameters
}

var errField = errors.New("a structured field is malformed")

// scanner reads structured fields (RFC 9651), as far as signatures need them.
type scanner struct {
	text string
	at   int
}

func (s *scanner) end() bool { return s.at >= len(s.text) }

func (s *scanner) take(b byte) bool {
	if s.end() || s.text[s.at] != b {
		return false
	}
	s.at++
	return true
}

func (s *scanner) spaces() {
	for s.take(' ') {
	}
}

// while consumes the bytes that are in a set.
func (s *scanner) while(set string) string {
	begin := s.at
	for !s.end() && strings.IndexByte(set, s.text[s.at]) >= 0 {
		s.at++
	}
	return s.text[begin:s.at]
}

const (
	letters = "abcdefghijklmnopqrstuvwxyz"
	digits  = "0123456789"
)

func (s *scanner) key() (string, error) {
	key := s.while(letters + digits + "_-.*")
	if key == "" || strings.IndexByte(letters+"*", key[0]) < 0 {
		return "", errField
	}
	return key, nil
}

// bare reads a value.
func (s *scanner) bare() (any, error) {
	switch {
	case s.take('"'):
		var b strings.Builder
		for !s.end() {
			if s.take('"') {
				return b.String(), nil
			}
			if s.take('\\') && (s.end() || s.text[s.at] != '"' && s.text[s.at] != '\\') {
				return nil, errField
			}
			b.WriteByte(s.text[s.at])
			s.at++
		}
		return nil, errField
	case s.take(':'):
		text := s.while(letters + strings.ToUpper(letters) + digits + "+/=")
		if !s.take(':') {
			return nil, errField
		}
		return base64.StdEncoding.DecodeString(text)
	case s.take('?'):
		return s.while("01") == "1", nil
	}
	return strconv.ParseInt(s.while(digits), 10, 64)
}

// params reads parameters.
func (s *scanner) params() (map[string]any, error) {
	all := map[string]any{}
	for s.take(';') {
		s.spaces()
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		all[key] = true
		if s.take('=') {
			if all[key], err = s.bare(); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// item reads a value with its parameters, or a list of such in brackets.
func (s *scanner) item() (m member, err error) {
	begin := s.at
	if s.take('(') {
		for s.spaces(); !s.take(')'); s.spaces() {
			inner, err := s.item()
			if err != nil {
				return m, err
			}
			m.items = append(m.items, inner)
		}
	} else if m.value, err = s.bare(); err != nil {
		return m, err
	}
	m.of, err = s.params()
	m.text = s.text[begin:s.at]
	return m, err
}

// dictionary reads a dictionary of values and lists.
func dictionary(text string) (members []member, err error) {
	s := &scanner{text: text}
	for {
		s.spaces()
		key, err := s.key()
		if err != nil || !s.take('=') {
			return nil, errField
		}
		m, err := s.item()
		if err != nil {
			return nil, err
		}
		m.key = key
		members = append(members, m)
		s.spaces()
		if s.end() {
			return members, nil
		}
		if !s.take(',') {
			return nil, errField
		}
	}
}

// find returns the member of a key.
func find(members []member, key string) (m member, found bool) {
	for _, m := range members {
		if m.key == key {
			return m, true
		}
	}
	return m, false
}
