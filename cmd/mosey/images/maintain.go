package images

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// MaintainCmd sets right what crashes leave behind.
type MaintainCmd struct {
	command.ImageStoreFlag

	OlderThan time.Duration `default:"24h" help:"Age from which an image that nothing refers to is deleted, 2h or more, and one that is missing noted: younger ones may just be being recorded." placeholder:"DURATION"`
	Force     bool          `help:"Set right what is wrong even where most of it is, as in the store of another database."`
	DryRun    bool          `help:"Say what there is to do, and do nothing."`
	JSON      bool          `name:"json" help:"Print one JSON object."`
}

// Maintained is what was found.
type Maintained struct {
	// Objects are all images in the store, of so many Bytes, thumbnails included; Orphans are
	// those of them that nothing refers to, and that are, or are to be, deleted.
	Objects     int64 `json:"objects"`
	Bytes       int64 `json:"bytes"`
	Orphans     int64 `json:"orphans"`
	OrphanBytes int64 `json:"orphan_bytes"`
	// Leftovers are files of processes that were killed while they wrote, of so many bytes.
	Leftovers     int64 `json:"leftovers"`
	LeftoverBytes int64 `json:"leftover_bytes"`
	// Lost are images that should be there and are not.
	Lost int64 `json:"lost"`
	// Others are objects that are not Mosey's, which are left alone.
	Others int  `json:"others,omitempty"`
	DryRun bool `json:"dry_run,omitempty"`
}

// Run finds images in the store that no row refers to, and rows of images that are not
// there.
func (c *MaintainCmd) Run(ctx context.Context, e *command.Env) error {
	if least := imagestore.DeleteAgeMin; c.OlderThan < least {
		return wiring.Usagef("--older-than %s: want %s or more: younger images may just be being recorded", c.OlderThan, least)
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		return c.WithImages(ctx, e, func(images *imagestore.Store) error {
			m := maintenance{MaintainCmd: c, store: store, images: images, view: command.NewProgressLine(e)}
			err := m.run(ctx)
			m.view.Clear()
			if err != nil {
				return err
			}
			m.found.DryRun = c.DryRun
			if c.JSON {
				return command.PrintJSON(e.Stdout, m.found)
			}
			m.found.print(e.Stdout, images)
			return nil
		})
	})
}

func (f Maintained) print(w io.Writer, images *imagestore.Store) {
	deleted, noted := "deleted", "noted; crawls with --images store fetch them again"
	if f.DryRun {
		deleted, noted = "to delete", "to be noted"
	}
	fmt.Fprintf(w, "%s in %s, %s\n", explain.Count(f.Objects, "object"), images, explain.Size(f.Bytes))
	fmt.Fprintf(w, "%s that nothing refers to, %s: %s\n", explain.Count(f.Orphans, "object"), explain.Size(f.OrphanBytes), deleted)
	if f.Leftovers > 0 {
		fmt.Fprintf(w, "%s left by what was killed, %s: %s\n", explain.Count(f.Leftovers, "file"), explain.Size(f.LeftoverBytes), deleted)
	}
	fmt.Fprintf(w, "%s missing: %s\n", explain.Count(f.Lost, "image"), noted)
	if f.Others > 0 {
		fmt.Fprintf(w, "%s not Mosey's: left alone\n", explain.Count(int64(f.Others), "object"))
	}
}
