package move

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db/move"
	"github.com/mosey-web/mosey/internal/explain"
)

// progress is how far a copy is, in a line.
func progress(p move.Progress, after time.Duration) string {
	return fmt.Sprintf("%s: %s, %s so far, %s/s", p.Doing, explain.Count(p.Rows, "row"), explain.Size(p.Bytes),
		explain.Size(int64(float64(p.Bytes)/max(after.Seconds(), 1))))
}

// tell says what would be moved.
func (j *journey) tell(ctx context.Context) error {
	tables, err := j.from.db.Tables(ctx)
	if err != nil {
		return err
	}
	var rows, bytes int64
	for _, t := range tables {
		rows += t.Rows
		bytes += t.Bytes
	}
	to, err := j.targetNow(ctx)
	if err != nil {
		return err
	}
	lines := []string{
		fmt.Sprintf("Would move %s to %s.", j.from.name, to),
		fmt.Sprintf("Rows      about %d in %s, %s with their indexes", rows, explain.Count(int64(len(tables)), "table"), explain.Size(bytes)),
	}
	n, size, err := j.from.db.StoredImages(ctx)
	if err != nil {
		return err
	}
	switch {
	case n == 0:
	case j.LeaveImages:
		lines = append(lines, fmt.Sprintf("Images    %d stay where they are (%s)", n, explain.Size(size)))
	case j.ImageStore == "":
		lines = append(lines, fmt.Sprintf("Images    %d (%s): give --image-store, or --leave-images", n, explain.Size(size)))
	default:
		lines = append(lines, fmt.Sprintf("Images    %d (%s)", n, explain.Size(size)))
	}
	switch {
	case j.KeepTemporal:
		lines = append(lines, "Temporal  stays where it is")
	case j.NoTemporal:
		lines = append(lines, "Temporal  begins anew: schedules are lost")
	default:
		lines = append(lines, "Temporal  schedules, and what is being seeded, go along")
	}
	switch j.was.Step {
	case "":
	case move.Moved:
		lines = append(lines, fmt.Sprintf("It was moved to %s already: only what is left of that would be done.", j.was.Other))
	default:
		lines = append(lines, fmt.Sprintf("It is closed: %s, %s. It would be begun anew.", j.was.Step, j.was.Other))
	}
	return j.Tell(j.e, command.Change{Did: "nothing", Count: &rows, Says: strings.Join(lines, "\n")})
}

// targetNow is the target, and what is there; it starts and makes nothing.
func (j *journey) targetNow(ctx context.Context) (string, error) {
	if err := j.to.resolve(); err != nil {
		return "", err
	}
	if j.to.dir != "" {
		if j.to.exists() != nil {
			return j.to.name + ", where there is no database yet", nil //nolint:nilerr // that is what it says
		}
		return j.to.name + ", which has a database already: it has to be empty", nil
	}
	if err := j.to.open(ctx, false); err != nil {
		return "", err
	}
	made, err := j.to.db.IsMade(ctx)
	if err != nil || !made {
		return j.to.name + ", where there is no table yet", err
	}
	if err := j.to.db.CheckTarget(ctx, j.from.db); err != nil && j.was.Step != move.Moved {
		return "", err
	}
	return j.to.name, nil
}

// done says what was moved, and how to go on.
func (j *journey) done() error {
	lines := []string{fmt.Sprintf("Moved %s to %s.", j.from.name, j.to.name)}
	if j.copied.Tables > 0 {
		lines[0] = fmt.Sprintf("Moved %s to %s in %s: %s of %s, %s.", j.from.name, j.to.name, time.Since(j.began).Round(time.Second),
			explain.Count(j.copied.Rows, "row"), explain.Count(int64(j.copied.Tables), "table"), explain.Size(j.copied.Bytes))
	}
	if j.images > 0 {
		lines = append(lines, explain.Count(j.images, "file")+" of images copied.")
	}
	if len(j.schedules) > 0 {
		lines = append(lines, explain.Count(int64(len(j.schedules)), "schedule")+" moved: "+strings.Join(j.schedules, ", ")+".")
	}
	if len(j.seedings) > 0 {
		lines = append(lines, "Begun again there, since they were under way: "+strings.Join(j.seedings, ", ")+".")
	}
	lines = append(lines, j.next()...)
	return j.Tell(j.e, command.Change{Did: "moved", Count: &j.copied.Rows, Says: strings.Join(lines, "\n")})
}

// next says how to go on.
func (j *journey) next() (lines []string) {
	images := ""
	switch {
	case j.ImageStore != "" && j.to.dir == "":
		images = " --image-store " + j.ImageStore
	case j.LeaveImages && j.from.dir != "" && !j.KeepTemporal:
		images = " --image-store " + j.from.images()
	}
	switch {
	case j.to.dir != "":
		lines = append(lines, "Go on with:", "  mosey --data-dir "+j.to.dir+" up")
	case j.KeepTemporal && j.from.dir != "":
		lines = append(lines, "Go on with DATABASE_URL set to the new database:", "  DATABASE_URL=… mosey --data-dir "+j.from.dir+" up")
	default:
		lines = append(lines, "Go on with workers whose DATABASE_URL and TEMPORAL_ADDRESS are the new ones:", "  worker"+images)
	}
	return append(lines, "The old database is closed for good. Once all is well, delete it.")
}
