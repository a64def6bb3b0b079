package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/stack/datadir"
	"github.com/mosey-web/mosey/internal/stack/postgres"
)

func machineChecks() []Check {
	return setPart(Machine, []Check{
		{Name: "program", run: checkProgram, About: "Shows the version of this program, and its Go version."},
		{Name: "data-dir", run: checkDataDir, About: "Checks that the data directory is writable, and shows the Mosey that uses it."},
		{
			Name: "programs", run: checkPrograms,
			About: "Checks the Postgres programs of the embedded database, and whether its user can access the data directory.",
		},
		{Name: "ports", run: checkPorts, About: "Checks the ports of the embedded Temporal and its UI."},
		{
			Name: "disk", run: checkDisks,
			About: "Checks the free space and inodes of the data directory, and of the directory for downloads of images (`TMPDIR`).",
		},
		{Name: "memory", run: checkMemory, About: "Checks the memory of the machine or its control group, and `GOMEMLIMIT`."},
		{Name: "files", run: checkOpenFiles, About: "Checks the limit of open files and connections of a process."},
	})
}

func checkProgram(context.Context, *Target) ([]Finding, error) {
	v, err := wiring.NewVersions()
	if err != nil {
		return nil, err
	}
	return okFinding("mosey %s, built with %s for %s", v.Version, v.Go, v.Platform), nil
}

var errCluster = Absent("the environment names the database and Temporal, so no data directory is used")

func checkDataDir(_ context.Context, p *Target) ([]Finding, error) {
	if p.DataDir == "" {
		return nil, errCluster
	}
	at := p.DataDir
	stat, err := os.Stat(at)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case missing:
		if at, err = existingPrefix(at); err != nil {
			return nil, err
		}
	case err != nil:
		return newFinding(Fault, "Run mosey as the owner of the directory, or choose another with --data-dir DIR.",
			"%s is unreadable: %v", at, err), nil
	case !stat.IsDir():
		return newFinding(Fault, "Choose a directory with --data-dir DIR.", "%s is not a directory", at), nil
	}
	if err := wiring.CheckWritable(at); err != nil {
		return newFinding(Fault,
			"Give the directory to this user (chown "+strconv.Itoa(os.Geteuid())+" "+at+"), or choose another with --data-dir DIR.",
			"%s is not writable: %v", at, err), nil
	}
	if missing {
		return okFinding("%s does not exist yet, and can be created", p.DataDir), nil
	}
	info, running, err := datadir.Running(p.DataDir)
	switch {
	case err != nil:
		return nil, err
	case running && !info.Transient:
		return okFinding("%s, used by a Mosey (pid %d)", p.DataDir, info.PID), nil
	}
	return okFinding("%s, not in use", p.DataDir), nil
}

// existingPrefix returns the longest prefix of a path that exists.
func existingPrefix(path string) (string, error) {
	for {
		_, err := os.Stat(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
			return path, err
		}
		path = filepath.Dir(path)
	}
}

func checkPrograms(ctx context.Context, p *Target) ([]Finding, error) {
	if p.DataDir == "" {
		return nil, errCluster
	}
	if p.Environ.Get("DATABASE_URL") != "" {
		return nil, Absent("DATABASE_URL names a database, so Mosey starts no Postgres")
	}
	found, err := postgres.PreviewStart(ctx, postgres.Config{Dir: p.DataDir})
	switch {
	case errors.Is(err, postgres.ErrDownload):
		return newFinding(Note, "Install Postgres 15 or later (apt install postgresql) if downloads are not allowed.",
			"%v", postgres.ErrDownload), nil
	case err != nil:
		return newFinding(Fault, "Follow the message; the data is unchanged.", "%v", err), nil
	}
	text := fmt.Sprintf("Postgres %d in %s", found.Major, found.Folder)
	if found.User != "" {
		text += ", run as the user " + found.User
	}
	if found.Cluster == 0 {
		text += "; no database exists yet"
	}
	return okFinding("%s", text), nil
}

func checkPorts(ctx context.Context, p *Target) (found []Finding, err error) {
	if wiring.TemporalAddress(p.Environ) != "" {
		return nil, Absent("TEMPORAL_ADDRESS or a profile names a Temporal, so Mosey starts no Temporal")
	}
	info, running, err := datadir.Running(p.DataDir)
	if err != nil {
		return nil, err
	}
	for _, port := range p.Ports {
		at := net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Number))
		var config net.ListenConfig
		listener, err := config.Listen(ctx, "tcp4", at)
		switch {
		case err == nil:
			found = append(found, okFinding("%d (%s) is free", port.Number, port.For)...)
			if err := listener.Close(); err != nil {
				return found, err
			}
		case running && (info.TemporalAddress == at || strings.HasSuffix(info.UIURL, "//"+at)):
			found = append(found, okFinding("%d (%s) is used by the running Mosey", port.Number, port.For)...)
		default:
			found = append(found, newFinding(Note,
				"No action is needed, because Mosey uses and prints another port; --temporal-port and --ui-port choose it.",
				"%d (%s) is used by another process", port.Number, port.For)...)
		}
	}
	return found, nil
}

// Less free space on a disk is a warning, or a fault.
const (
	diskSpaceWarning, diskSpaceFault = 2 << 30, 200 << 20
	inodesWarning, inodesFault       = 20_000, 1_000
)

func checkDisks(_ context.Context, p *Target) (found []Finding, err error) {
	for _, dir := range []string{p.DataDir, os.TempDir()} {
		if dir == "" {
			continue
		}
		at, err := existingPrefix(dir)
		if err != nil {
			return found, err
		}
		space, err := wiring.DiskSpaceAt(at)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, Absent("not supported on this system")
		}
		if err != nil {
			return found, err
		}
		found = append(found, judgeDiskSpace(dir, space)...)
	}
	if err := wiring.CheckWritable(os.TempDir()); err != nil {
		found = append(found, newFinding(Warning, "Set TMPDIR to a writable directory.", "no image can be downloaded: %v", err)...)
	}
	return found, nil
}

func judgeDiskSpace(dir string, r wiring.DiskSpace) []Finding {
	const remedy = "Free some space, or move the directory: --data-dir DIR, TMPDIR=DIR."
	freeText := fmt.Sprintf("%s: %s of %s free", dir, size(r.Free), size(r.Size))
	switch {
	case r.Free < diskSpaceFault:
		return newFinding(Fault, remedy, "%s", freeText)
	case r.InodesTotal > 0 && r.Inodes < inodesFault:
		return newFinding(Fault, "Delete unneeded files, because each uses an inode.", "%s, but only %d inodes", freeText, r.Inodes)
	case r.Free < diskSpaceWarning:
		return newFinding(Warning, remedy, "%s", freeText)
	case r.InodesTotal > 0 && r.Inodes < inodesWarning:
		return newFinding(Warning, "Delete unneeded files, because each uses an inode.", "%s, but only %d inodes", freeText, r.Inodes)
	}
	return okFinding("%s", freeText)
}

func size(n uint64) string { return explain.Size(int64(min(n, 1<<62))) }

// minMemory is the need of the embedded servers and a crawl.
const minMemory = 1 << 30

func checkMemory(_ context.Context, p *Target) (found []Finding, err error) {
	bytes := wiring.MachineMemory("/")
	if bytes == 0 {
		return nil, Absent("this system does not report its memory")
	}
	found = okFinding("%s for the machine or its control group", explain.Size(bytes))
	if bytes < minMemory {
		found = newFinding(Warning, "Give the container more (docker run --memory 2g), or run Temporal and Postgres elsewhere.",
			"%s for the machine or its control group: the embedded servers and a crawl take 1 GB", explain.Size(bytes))
	}
	limit := p.Environ.Get("GOMEMLIMIT")
	if n, ok := parseBytes(limit); ok && n > bytes {
		found = append(found, newFinding(Warning, "Unset GOMEMLIMIT: Mosey chooses a limit.",
			"GOMEMLIMIT=%s exceeds the memory: the system would kill the process", limit)...)
	}
	return found, nil
}

// parseBytes parses a size as Go's runtime does: a number with a unit such as MiB.
func parseBytes(text string) (int64, bool) {
	unit := strings.TrimLeft(text, "0123456789")
	units := map[string]int64{"TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1, "": 1}
	bytes, known := units[unit]
	n, err := strconv.ParseInt(strings.TrimSuffix(text, unit), 10, 64)
	return n * bytes, known && err == nil
}

// minOpenFiles is the need of a process with the default MaxFetches.
const minOpenFiles = 1024

func checkOpenFiles(_ context.Context, p *Target) ([]Finding, error) {
	limit, err := maxOpenFiles()
	if err != nil {
		return nil, err
	}
	want := max(minOpenFiles, uint64(max(p.Fetch.MaxFetches, 0))*3)
	if limit < want {
		return newFinding(Warning, fmt.Sprintf("Raise the limit: ulimit -n %d in the shell, or LimitNOFILE=%d in the systemd unit.", want, want),
			"%d files, and %d requests in flight may need %d", limit, p.Fetch.MaxFetches, want), nil
	}
	return okFinding("%d", limit), nil
}
