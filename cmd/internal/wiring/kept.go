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

// keptFile is in the directory of the Temporal whose activities it lists, and is deleted with it.
const keptFile = "waiting.json"

// KeepIn makes Stop save the waiting domains in the directory of a Temporal that stops too.
// Reporting them to it would take milliseconds a domain, and again at the next start. Call it
// before Start.
func (w *Worker) KeepIn(dir string) { w.kept = filepath.Join(dir, keptFile) }

// keep saves the waiting domains. If it fails, Temporal retries them after missed heartbeats.
func (w *Worker) keep() {
	kept := activities.Keep(w.acts)
	if len(kept) == 0 {
		return
	}
	data, err := json.Marshal(kept)
	if err == nil {
		err = files.Replace(w.kept, data)
	}
	if err != nil {
		w.logger.Warn("could not store the waiting domains; they continue some minutes after the next start",
			"domains", len(kept), "error", err)
	}
}

// adopt resumes, once, the domains that an earlier process saved.
func (w *Worker) adopt() {
	if w.kept == "" {
		return
	}
	data, err := os.ReadFile(w.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var kept []activities.Kept
	if err == nil {
		err = errors.Join(os.Remove(w.kept), json.Unmarshal(data, &kept))
	}
	if err != nil {
		w.logger.Warn("could not read the waiting domains; they continue some minutes after this start", "file", w.kept, "error", err)
		return
	}
	adopted := activities.Adopt(w.acts, kept)
	w.logger.Debug("resumed the waiting domains", "domains", adopted, "kept", len(kept))
}
