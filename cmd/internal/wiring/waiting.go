package wiring

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/internal/files"
)

// saveWaiting saves the waiting domains. If it fails, Temporal retries them after missed
// heartbeats.
func (w *Worker) saveWaiting() {
	waiting := activities.Suspend(w.acts)
	if len(waiting) == 0 {
		return
	}
	data, err := json.Marshal(waiting)
	if err == nil {
		err = files.Replace(w.WaitingFile, data)
	}
	if err != nil {
		w.logger.Warn("could not store the waiting domains; they continue some minutes after the next start",
			"domains", len(waiting), "error", err)
	}
}

// resumeWaiting resumes, once, the domains that an earlier process saved.
func (w *Worker) resumeWaiting() {
	if w.WaitingFile == "" {
		return
	}
	data, err := os.ReadFile(w.WaitingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var waiting []activities.SuspendedActivity
	if err == nil {
		err = errors.Join(os.Remove(w.WaitingFile), json.Unmarshal(data, &waiting))
	}
	if err != nil {
		w.logger.Warn("could not read the waiting domains; they continue some minutes after this start", "file", w.WaitingFile, "error", err)
		return
	}
	resumed := activities.Resume(w.acts, waiting)
	w.logger.Debug("resumed the waiting domains", "domains", resumed, "kept", len(waiting))
}
