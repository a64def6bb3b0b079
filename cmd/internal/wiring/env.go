package wiring

import (
	"slices"
	"strings"
)

// Env is an environment, as os.Environ gives it. Commands get it from their caller,
// so that a test can give each its own. What is set to nothing, as compose files
// leave it, counts as not set.
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

// Environ is all of it.
func (e Env) Environ() []string { return e }
