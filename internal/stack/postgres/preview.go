package postgres

import (
	"context"
	"errors"
)

// StartPreview predicts the result of Start in a data directory.
type StartPreview struct {
	// Cluster is the major version of the existing cluster; 0 means no cluster yet.
	Cluster int
	// Folder holds the programs that Start would run, and Major is their version.
	Folder string
	Major  int
	// User is the user that Postgres would run as; empty means our own.
	User string
}

// PreviewStart predicts the result of Start, and fails if Start would. It changes and downloads
// nothing: it returns an ErrDownload if Start would download programs.
func PreviewStart(ctx context.Context, cfg Config) (p StartPreview, err error) {
	cfg = cfg.withDefaults()
	user, err := chooseAccount(cfg.Dir)
	if err != nil {
		return p, err
	}
	p.User = user.name
	if err := user.canReach(ClusterDir(cfg.Dir)); err != nil {
		return p, err
	}
	if p.Cluster, err = ClusterMajor(cfg.Dir); err != nil && !errors.Is(err, ErrNoCluster) {
		return p, err
	}
	localSources := *cfg.sources
	localSources.repository = ""
	b, err := localSources.find(ctx, p.Cluster, cfg.Progress)
	p.Folder, p.Major = b.dir, b.major
	_, has := downloadable[p.Cluster]
	if err != nil && localSources.bin == "" && cfg.sources.repository != "" && (has || p.Cluster == 0) {
		return p, errors.Join(ErrDownload, err)
	}
	return p, err
}

// ErrDownload means that this machine has no suitable Postgres, and that Start would download one.
var ErrDownload = errors.New("no suitable Postgres is installed, so Mosey would download it")
