// Package backup has the commands that back up and restore a data directory.
//
// A place of backups is a directory or a bucket. It has the files of each backup in backups/NAME/,
// and a shared folder of images. An image is stored under the hash of its bytes, and never changes.
// The file manifest.json is written last: a backup without one is incomplete.
package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// Cmd backs up the data directory, in use or not.
type Cmd struct {
	Place    string `arg:"" name:"place" help:"Place of the backups: a directory, or the URL of a bucket (s3://BUCKET?region=REGION)."`
	NoImages bool   `help:"Do not copy images. Default: copy the images in the data directory that the place lacks."`
	NoVerify bool   `help:"Do not verify the backup. Default: restore it beside the data directory, and read every table."`
	Keep     int    `help:"Number of backups to keep: older ones are deleted. Default: all." placeholder:"N"`
	List     bool   `help:"List the backups, and create none."`
	JSON     bool   `name:"json" help:"Print JSON: the manifest of the backup, or of each listed backup."`
}

// Run makes a backup, or lists the backups.
func (c *Cmd) Run(ctx context.Context, e *command.Env) error {
	if c.Keep < 0 {
		return wiring.Usagef("--keep %d: want 1 or more", c.Keep)
	}
	p, err := openBackupStore(ctx, c.Place)
	if err != nil {
		return err
	}
	if c.List {
		return c.list(ctx, e, p)
	}
	if e.Environ.Get("DATABASE_URL") != "" {
		return wiring.Usagef("DATABASE_URL names an external database, and mosey backup backs up the data directory: " +
			"use the tools of Postgres, such as pg_basebackup or pgBackRest, and after a restore run mosey restore --database")
	}
	dir, err := datadir.Resolve(e.DataDir)
	if err != nil {
		return err
	}
	if hasCluster, err := postgres.HasCluster(dir); err != nil || !hasCluster {
		return cmp.Or(err, fmt.Errorf("%s: %w: no data to back up", dir, command.ErrNoDatabase))
	}
	t := taker{Cmd: c, e: e, backups: p, dir: dir, view: command.NewProgressLine(e)}
	complete, err := t.take(ctx)
	t.view.Clear()
	if !complete {
		return err
	}
	t.m.Images.Warn(e)
	printErr := command.PrintResult(e, c.JSON, t.m, func(w io.Writer, m Manifest) error {
		_, err := fmt.Fprintln(w, m.summary(p.images.String()))
		return err
	})
	return errors.Join(printErr, err)
}

// openBackupStore opens the store of backups at location. An invalid location is a usage error.
func openBackupStore(ctx context.Context, location string) (*backupStore, error) {
	images, err := imagestore.Open(ctx, location)
	if err != nil {
		return nil, command.InvalidAsUsage(err)
	}
	return &backupStore{images: images, files: &imagestore.Files{Store: images, Prefix: prefix}}, nil
}

func (m *Manifest) summary(location string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "backup %s in %s: %s of %s", m.Name, location, explain.Size(m.Bytes()), explain.Size(m.UnpackedBytes))
	if m.Images != nil {
		fmt.Fprintf(&b, ", %s (%d copied)", explain.Count(m.Images.Files, "image file"), m.Images.Copied)
	}
	if m.Verified.IsZero() {
		b.WriteString("; not verified")
	} else {
		b.WriteString("; verified by a restore")
	}
	return b.String()
}

func (c *Cmd) list(ctx context.Context, e *command.Env, p *backupStore) error {
	complete, incomplete, err := p.names(ctx)
	if err != nil {
		return err
	}
	all := make([]Manifest, len(complete))
	for i, name := range complete {
		if all[i], err = p.manifest(ctx, name); err != nil {
			return err
		}
	}
	if c.JSON {
		return command.PrintLines(e.Stdout, all)
	}
	for _, m := range all {
		fmt.Fprintln(e.Stdout, m.summary(p.images.String()))
	}
	for _, name := range incomplete {
		fmt.Fprintf(e.Stdout, "backup %s is incomplete: it was interrupted, or is in progress\n", name)
	}
	if len(all)+len(incomplete) == 0 {
		fmt.Fprintln(e.Stdout, "no backups in", p.images)
	}
	return nil
}
