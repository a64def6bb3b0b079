package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/db"
)

// blockCmd keeps Mosey away from a domain.
type blockCmd struct {
	Name   string `arg:"" help:"Domain, such as example.org."`
	Reason string `help:"Why, for those who ask later." required:"" placeholder:"TEXT"`
}

// blockReasonMax bounds what is stored.
const blockReasonMax = 500

// Run blocks the domain for all runs, from the next request on.
func (b *blockCmd) Run(ctx context.Context, e *env) error {
	name, err := urls.DomainOf(b.Name)
	if err != nil {
		return usagef("domain: %w: want a host name, such as example.org", err)
	}
	if len(b.Reason) == 0 || len(b.Reason) > blockReasonMax {
		return usagef("--reason: %d bytes: want 1 to %d", len(b.Reason), blockReasonMax)
	}
	return withStore(ctx, e, func(store *db.Store) error {
		if err := store.BanDomain(ctx, name, b.Reason); err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "%s is blocked in all runs. To undo it:\n  mosey unblock %s\n", name, name)
		return nil
	})
}

// unblockCmd ends a block.
type unblockCmd struct {
	Name string `arg:"" help:"Domain, such as example.org."`
}

// Run lets the domain be crawled again.
func (u *unblockCmd) Run(ctx context.Context, e *env) error {
	name, err := urls.DomainOf(u.Name)
	if err != nil {
		return usagef("domain: %w: want a host name, such as example.org", err)
	}
	return withStore(ctx, e, func(store *db.Store) error {
		err := store.UnbanDomain(ctx, name)
		if errors.Is(err, crawl.ErrNotFound) {
			return fmt.Errorf("%s is not blocked", name)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.stdout, "%s may be crawled again; what was pending goes on with its runs.\n", name)
		return nil
	})
}
