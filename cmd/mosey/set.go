package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
)

// setCmd changes what holds for one domain.
type setCmd struct {
	Name     string         `arg:"" help:"Domain, such as example.org."`
	Delay    *time.Duration `help:"Least time between two requests; 0s leaves the runs' own." placeholder:"DURATION"`
	MaxPages *int64         `help:"Page requests a run; -1 is no limit." placeholder:"N"`
	Window   *string        `help:"When it may be asked, such as 'Mon-Fri 22:00-06:00 Europe/Berlin'; empty is always." placeholder:"DAYS TIMES ZONE"`
}

// Run stores what was given. A domain that is waiting learns of it when its wait
// is over.
func (s *setCmd) Run(ctx context.Context, e *env) error {
	name, err := urls.DomainOf(s.Name)
	if err != nil {
		return usagef("domain: %w: want a host name, such as example.org", err)
	}
	if s.Delay == nil && s.MaxPages == nil && s.Window == nil {
		return usagef("set %s: nothing to set: want --delay, --max-pages or --window", name)
	}
	// the bounds are those of the settings of the same names
	set := crawl.Settings{Delay: (*crawl.Duration)(s.Delay), MaxPages: s.MaxPages, Window: s.Window}
	if err := politeness.ValidateSettings(set); err != nil {
		return usagef("%w", asFlag(err))
	}
	return withStore(ctx, e, func(store *db.Store) error {
		err := store.SetDomain(ctx, name, s.Delay, s.MaxPages, s.Window)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("domain %s is not known: seed a page of it first", name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "%s is set. To see what holds:\n  mosey why %s\n", name, name)
		return nil
	})
}
