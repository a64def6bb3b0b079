package control

import (
	"context"
	"fmt"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
)

// BlockCmd keeps Mosey away from a domain.
type BlockCmd struct {
	command.Answer
	command.ImageStoreFlag

	Name   string `arg:"" help:"Domain, such as example.org."`
	Reason string `help:"Why, for those who ask later." required:"" placeholder:"TEXT"`
	Forget bool   `help:"Also erase what its pages said: what they are found by, the texts of their links, their images and the bytes of these. That there were pages stays, and each request. It waits until no request is in flight. Killed, it goes on when it is given again."`
}

// Run blocks the domain for all runs, from the next request on.
func (b *BlockCmd) Run(ctx context.Context, e *command.Env) error {
	if err := checkReason(b.Reason, 1); err != nil {
		return err
	}
	if b.Forget {
		return b.forget(ctx, e)
	}
	return control(ctx, e, b.Answer, b.Name, crawl.Control{Type: crawl.ControlBlock, Reason: b.Reason}, func(name string) command.Change {
		return command.Change{Did: "blocked", Says: fmt.Sprintf("%s is blocked in all runs. To undo it:\n  mosey unblock %s", name, name)}
	})
}

// forget blocks the domain and erases what its pages said.
func (b *BlockCmd) forget(ctx context.Context, e *command.Env) error {
	name, err := command.DomainArgument(b.Name)
	if err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		by := crawl.Control{Type: crawl.ControlBlock, Reason: b.Reason, SetBy: command.Whoami()}
		if err := store.BlockToForget(ctx, name, by); err != nil {
			return err
		}
		command.WakeDomain(ctx, e, store, name) // its workflow then gives it back
		f := newForgetting(e, store, name, b.ImageStoreFlag)
		err := f.run(ctx)
		f.view.Clear()
		if err != nil {
			return fmt.Errorf("%s is blocked, and not all of what its pages said is erased: %w", name, err)
		}
		return b.Tell(e, command.Change{
			Did: "forgotten", Domain: name, Count: &f.pages,
			Says: fmt.Sprintf("%s is blocked in all runs, and what it said on %s is erased. To have it crawled as new:\n  mosey unblock %s",
				name, explain.Count(f.pages, "page"), name),
		})
	})
}
