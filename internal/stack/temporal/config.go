package temporal

import (
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// Defaults of Config. The ports are those of Temporal's own development server; where one is
// taken, any that is free does.
const (
	FrontendPortDefault = 7233
	UIPortDefault       = 8233
	NamespaceDefault    = "default"
)

// retention is how long the history of a closed workflow is kept, from when the namespace
// was made.
const retention = 7 * 24 * time.Hour

// Config says where and how to run Temporal.
type Config struct {
	// Dir holds the database file, and is created where it is missing, closed
	// to other users. Required.
	Dir string

	// Logger gets what the server logs, of the levels it is enabled for. The
	// server is talkative below warnings. Defaults to discarding.
	Logger *slog.Logger

	// Measured returns what takes the values of a measure of the server's, and which of its
	// tags are wanted with each; a nil take is that the measure is not wanted. A time is in
	// seconds. Defaults to none. It is asked for each value, from any goroutine.
	Measured func(measure string) (tags []string, take func(tags []string, value float64))

	// Namespace is registered on start. Defaults to NamespaceDefault.
	Namespace string

	// NoUI leaves the web UI out.
	NoUI bool

	// Port and UIPort are those of the server and of its web UI. A port that is taken is an
	// error. 0 is FrontendPortDefault and UIPortDefault, or any where these are taken.
	Port, UIPort int

	// SearchAttributes are registered in the namespace, on every start those
	// that are missing. An attribute that exists with another type is an error.
	SearchAttributes map[string]enumspb.IndexedValueType
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Namespace == "" {
		c.Namespace = NamespaceDefault
	}
	return c
}
