package plans

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/stack/postgres"
)

// BenchmarkBackup compares the two ways to back up a database of so many pages (MOSEY_BENCH_PAGES)
// and domains (MOSEY_BENCH_DOMAINS): the server's files, as mosey backup takes them, and pg_dump
// with two processes. Each is restored until it answers, with the statistics that plans need. What
// pg_dump has written is restored without waiting for the disk, which is in its favour.
func BenchmarkBackup(b *testing.B) {
	d := newDatabase(b, sizeOf(b, "MOSEY_BENCH_PAGES", manyPages), sizeOf(b, "MOSEY_BENCH_DOMAINS", manySites))
	d.exec(b, "ANALYZE")
	d.exec(b, "CHECKPOINT")
	var size int64
	require.NoError(b, d.admin.QueryRow(b.Context(), "SELECT pg_database_size(current_database())").Scan(&size))
	b.ReportMetric(float64(size)/1e6, "MB")
	dir := b.TempDir()
	d.baseBackup(b, dir)
	d.dump(b, dir)
}

func timed(b *testing.B, unit string, do func()) {
	b.Helper()
	began := time.Now()
	do()
	b.ReportMetric(time.Since(began).Seconds(), unit)
}

// baseBackup times what mosey backup and mosey restore do with a database.
func (d *database) baseBackup(b *testing.B, dir string) {
	b.Helper()
	archive := filepath.Join(dir, "base.tar.zst")
	timed(b, "base-s", func() {
		file, err := os.Create(archive)
		require.NoError(b, err)
		out, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		require.NoError(b, err)
		require.NoError(b, postgres.BaseBackup(b.Context(), d.config.ConnString(), out, func(int64) {}))
		require.NoError(b, out.Close())
		require.NoError(b, file.Sync())
		require.NoError(b, file.Close())
	})
	stat, err := os.Stat(archive)
	require.NoError(b, err)
	b.ReportMetric(float64(stat.Size())/1e6, "base-MB")

	to, err := os.MkdirTemp("", "mosey-bench-restore-")
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(to)) })
	require.NoError(b, os.Chmod(to, 0o755))
	timed(b, "base-restore-s", func() {
		file, err := os.Open(archive)
		require.NoError(b, err)
		in, err := zstd.NewReader(bufio.NewReaderSize(file, 1<<20))
		require.NoError(b, err)
		require.NoError(b, postgres.Unpack(b.Context(), to, d.config.ConnConfig.Password, in))
		_, err = io.Copy(io.Discard, in)
		require.NoError(b, err)
		in.Close()
		require.NoError(b, file.Close())
		server, err := postgres.Start(b.Context(), postgres.Config{Dir: to})
		require.NoError(b, err)
		restored, err := pgx.ParseConfig(server.URL())
		require.NoError(b, err)
		restored.Database = d.config.ConnConfig.Database
		requirePages(b, restored)
		require.NoError(b, server.Stop(b.Context()))
	})
}

// dump times pg_dump and pg_restore.
func (d *database) dump(b *testing.B, dir string) {
	b.Helper()
	var bin string
	require.NoError(b, d.admin.QueryRow(b.Context(), "SELECT setting FROM pg_config() WHERE name = 'BINDIR'").Scan(&bin))
	run := func(program string, args ...string) {
		cmd := exec.CommandContext(b.Context(), filepath.Join(bin, program), args...)
		cmd.Env = append(os.Environ(), "PGOPTIONS=-c maintenance_work_mem=256MB")
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	url := d.config.ConnString()
	dumped := filepath.Join(dir, "dump")
	timed(b, "dump-s", func() {
		run("pg_dump", "--format=directory", "--jobs=2", "--compress=1", "--file="+dumped, "--dbname="+url)
	})
	b.ReportMetric(float64(sizeOfFiles(b, dumped))/1e6, "dump-MB")
	restored := d.config.ConnConfig.Copy()
	restored.Database += "_restored"
	d.exec(b, "CREATE DATABASE "+restored.Database+" TEMPLATE template0")
	timed(b, "dump-restore-s", func() {
		run("pg_restore", "--jobs=2", "--dbname="+strings.Replace(url, d.config.ConnConfig.Database, restored.Database, 1), dumped)
		requirePages(b, restored, "ANALYZE")
	})
}

// requirePages looks that a restored database has pages.
func requirePages(b *testing.B, config *pgx.ConnConfig, first ...string) {
	b.Helper()
	conn, err := pgx.ConnectConfig(b.Context(), config)
	require.NoError(b, err)
	for _, statement := range first {
		_, err := conn.Exec(b.Context(), statement)
		require.NoError(b, err)
	}
	var n int
	require.NoError(b, conn.QueryRow(b.Context(), "SELECT count(*) FROM (SELECT FROM pages LIMIT 100) p").Scan(&n))
	require.Equal(b, 100, n)
	require.NoError(b, conn.Close(b.Context()))
}

func sizeOfFiles(b *testing.B, dir string) (size int64) {
	b.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(b, err)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(b, err)
		size += info.Size()
	}
	return size
}
