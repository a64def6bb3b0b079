package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	infoFile = "stack.json"
	// tempSuffix ends the name of a file that is being written.
	tempSuffix = ".tmp"
)

// Info says what runs in a data directory. The address of a part is empty until the holder runs it.
type Info struct {
	PID       int       `json:"pid"`
	StartedAt time.Time `json:"started_at"`
	// Ready is true once every part that the holder runs can be used.
	Ready bool `json:"ready"`
	// Transient is true for a command that gives the directory up in a moment.
	Transient bool `json:"transient,omitempty"`
	// DatabaseURL connects to the Postgres. It names the file that has the password.
	DatabaseURL string `json:"database_url,omitempty"`
	// TemporalAddress is the host:port of Temporal's gRPC frontend.
	TemporalAddress string `json:"temporal_address,omitempty"`
	// UIURL is the address of Temporal's web UI.
	UIURL string `json:"ui_url,omitempty"`
}

// Waits says in words that a process waits for this holder.
func (i Info) Waits() string {
	return fmt.Sprintf("waiting for the process %d, which uses the data directory for a while", i.PID)
}

// Publish tells other processes what runs in the directory now. It fills PID and StartedAt in. Not
// for concurrent use.
func (d *Dir) Publish(info Info) error {
	info.PID, info.StartedAt = os.Getpid(), d.started
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", infoFile, err)
	}
	return writeAtomically(filepath.Join(d.path, infoFile), append(data, '\n'))
}

// writeAtomically leaves either the old file or the new one, readable by its owner alone. It does
// not force the data to the disk: after a crash of the machine nobody holds the directory, and the
// file is not read. The temporary name is fixed, so that a killed process leaves at most one.
func writeAtomically(path string, data []byte) error {
	temp := path + tempSuffix
	err := os.WriteFile(temp, data, 0o600)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Running reports what runs in the data directory at path, and whether any process holds it. Only a
// lock that is really held counts: the files of a killed process do not. Without a holder the Info
// is empty; a holder that took the directory this very instant may not have filled it in yet.
func Running(path string) (Info, bool, error) {
	held, err := isHeld(path)
	if err != nil || !held {
		return Info{}, false, err
	}
	info, err := readInfo(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, false, err
	}
	return info, true, nil
}

func isHeld(path string) (bool, error) {
	name := filepath.Join(path, lockFile)
	// The probe would create the file, and a reader that changes what it reads surprises.
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	probe := flock.New(name)
	free, err := probe.TryRLock()
	if err == nil {
		err = probe.Close()
	}
	if err != nil {
		return false, fmt.Errorf("probe lock of data directory %s: %w", path, err)
	}
	return !free, nil
}

func readInfo(path string) (Info, error) {
	name := filepath.Join(path, infoFile)
	data, err := os.ReadFile(name)
	if err != nil {
		return Info{}, fmt.Errorf("read running stack: %w", err)
	}
	var info Info
	if err := json.Unmarshal(data, &info); err != nil {
		return Info{}, fmt.Errorf("read running stack: %s: %w", name, err)
	}
	return info, nil
}
