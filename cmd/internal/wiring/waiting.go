package wiring

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/mosey-web/mosey/activities"
	"github.com/mosey-web/mosey/internal/files"
)

// waitingFileName is in the directory of the Temporal whose activities it lists, and is deleted
// with it.
const waitingFileName = "waiting.json"

// SaveWaitingIn makes Stop save the waiting domains in the directory of a Temporal that stops too.
// Reporting them to it would take milliseconds a domain, and again at the next start. Call it
// before Start.
func (w *Worker) SaveWaitingIn(dir string) { w.waitingFile = filepath.Join(dir, waitingFileName) }

// saveWaiting saves the waiting domains. If it fails, Temporal retries them after missed
// heartbeats.
func (w *Worker) saveWaiting() {
	waiting := activities.Suspend(w.acts)
	if len(waiting) == 0 {
		return
	}
	data, err := json.Marshal(waiting)
	if err == nil {
		err = files.Replace(w.waitingFile, data)
	}
	if err != nil {
		w.logger.Warn("could not store the waiting domains; they continue some minutes after the next start",
			"domains", len(waiting), "error", err)
	}
}

// resumeWaiting resumes, once, the domains that an earlier process saved.
func (w *Worker) resumeWaiting() {
	if w.waitingFile == "" {
		return
	}
	data, err := os.ReadFile(w.waitingFile)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var waiting []activities.SuspendedActivity
	if err == nil {
		err = errors.Join(os.Remove(w.waitingFile), json.Unmarshal(data, &waiting))
	}
	if err != nil {
		w.logger.Warn("could not read the waiting domains; they continue some minutes after this start", "file", w.waitingFile, "error", err)
		return
	}
	resumed := activities.Resume(w.acts, waiting)
	w.logger.Debug("resumed the waiting domains", "domains", resumed, "kept", len(waiting))
}
