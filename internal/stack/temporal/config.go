package temporal

import (
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// Defaults of Config. The ports are those of Temporal's own development server.
const (
	FrontendPortDefault = 7233
	UIPortDefault       = 8233
	NamespaceDefault    = "default"
	RetentionDefault    = 7 * 24 * time.Hour

	// RetentionMin is the least that Temporal takes.
	RetentionMin = time.Hour
)

// Config says where and how to run Temporal.
type Config struct {
	// Dir holds the database file, and is created where it is missing, closed
	// to other users. Required.
	Dir string

	// FrontendPort is the port of the gRPC API. 0 takes FrontendPortDefault if
	// it is free, else any free port.
	FrontendPort int

	// Logger gets what the server logs, of the levels it is enabled for. The
	// server is talkative below warnings. Defaults to discarding.
	Logger *slog.Logger

	// Namespace is registered on start. Defaults to NamespaceDefault.
	Namespace string

	// NoUI leaves the web UI out.
	NoUI bool

	// Retention is how long the history of a closed workflow is kept, from when
	// the namespace was made. At least RetentionMin. Defaults to
	// RetentionDefault.
	Retention time.Duration

	// SearchAttributes are registered in the namespace, on every start those
	// that are missing. An attribute that exists with another type is an error.
	SearchAttributes map[string]enumspb.IndexedValueType

	// UIPort is the port of the web UI. 0 takes UIPortDefault if it is free,
	// else any free port.
	UIPort int
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Namespace == "" {
		c.Namespace = NamespaceDefault
	}
	if c.Retention == 0 {
		c.Retention = RetentionDefault
	}
	return c
}

func (c Config) validate() error {
	var faults []error
	if !filepath.IsAbs(c.Dir) {
		faults = append(faults, errors.New("Dir has to be an absolute path"))
	}
	if c.Retention < RetentionMin {
		faults = append(faults,
			errors.New("Retention has to be at least "+RetentionMin.String()))
	}
	for name, port := range map[string]int{
		"FrontendPort": c.FrontendPort, "UIPort": c.UIPort,
	} {
		if port < 0 || port > 65535 {
			faults = append(faults, errors.New(name+" has to be in 0 to 65535"))
		}
	}
	return errors.Join(faults...)
}
