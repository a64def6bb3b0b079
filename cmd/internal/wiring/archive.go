package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mosey-web/mosey/internal/archive"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/internal/request"
)

const (
	// archivePrefix is the folder of the archive in a bucket, which may have images and backups, too.
	archivePrefix = "warc/"
	// bucketTimeout bounds the test of a bucket at the start of a worker.
	bucketTimeout = 30 * time.Second
	// uploadTimeout bounds the uploads of a worker that stops; the next start uploads the rest.
	uploadTimeout = 10 * time.Second
)

func inBucket(location string) bool { return strings.Contains(location, "://") }

// OpenArchive opens an archive for reading: a directory, or the URL of a bucket.
func OpenArchive(ctx context.Context, location string) (archive.Place, error) {
	if !inBucket(location) {
		return archive.Directory(location), nil
	}
	objects, err := openBucket(ctx, location)
	if err != nil {
		return nil, Usagef("%w", err)
	}
	return archive.Bucket{Objects: objects}, nil
}

func openBucket(ctx context.Context, location string) (*imagestore.Files, error) {
	store, err := imagestore.Open(ctx, location)
	if err != nil {
		return nil, err
	}
	return &imagestore.Files{Store: store, Prefix: archivePrefix}, nil
}

// archive opens the archive for requests, or returns nil without one.
func (f FetchFlags) archive(ctx context.Context, logger *slog.Logger, requests *request.Config) (*archive.Archive, error) {
	if f.Archive == "" {
		return nil, nil //nolint:nilnil // most workers have none
	}
	config := archive.Config{Dir: f.Archive, Software: "Mosey " + Version(), UserAgent: f.Agent(), Logger: logger}
	if inBucket(f.Archive) {
		if config.Dir = f.ArchiveSpool; config.Dir == "" {
			return nil, Usagef("--archive %s needs --archive-spool: a directory that outlives this process, for files until they are uploaded",
				f.Archive)
		}
		objects, err := openBucket(ctx, f.Archive)
		if err != nil {
			return nil, Usagef("--archive: %w", err)
		}
		trial, cancel := context.WithTimeout(ctx, bucketTimeout)
		defer cancel()
		if err := objects.Store.Check(trial, 0); err != nil {
			return nil, fmt.Errorf("--archive: %w", err)
		}
		config.Bucket = objects
	}
	a, repaired, err := archive.Open(config)
	if err != nil {
		return nil, fmt.Errorf("--archive: %w", err)
	}
	for _, name := range repaired {
		logger.InfoContext(ctx, "completed a file of the archive that a killed process has left", "file", name)
	}
	requests.Archive = a
	return a, nil
}
