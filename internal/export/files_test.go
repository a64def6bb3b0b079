package export_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/export"
)

const perFile = export.RowsPerFileMin

// links exports many rows to a directory.
func links(s stored) *export.Export {
	return &export.Export{Store: s, Kind: export.Links, Format: export.JSONL, FilterArgs: map[string]string{"--since": "30d"}}
}

// requireLinks asserts that a directory has each row once, in files of a bounded number
// of rows, and nothing else.
func requireLinks(t *testing.T, dir string, rows int) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	id := 0
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".jsonl" {
			names = append(names, entry.Name())
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		require.NoError(t, err)
		list := objects(t, data)
		require.LessOrEqual(t, len(list), perFile)
		for _, object := range list {
			id++
			require.EqualValues(t, strconv.Itoa(id), object["from_id"])
		}
	}
	require.Equal(t, rows, id)
	require.Equal(t, []string{".links.lock", "links.json"}, names)
}

func TestDirectory(t *testing.T) {
	t.Parallel()

	t.Run("HasFilesOfABoundedNumberOfRows", func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "new", "er")
		p, err := links(stored{rows: 45_000, batch: 3000}).ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.Equal(t, 5, p.Files, "of three batches each")
		require.EqualValues(t, 45_000, p.Rows)
		requireLinks(t, dir, 45_000)
	})

	t.Run("HasAFileWhereThereAreNoRows", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		x := links(stored{})
		x.Format = export.Parquet
		_, err := x.ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.FileExists(t, filepath.Join(dir, "links-00001.parquet"))
	})

	t.Run("KeepsAllThatWasReadWhenItIsStopped", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		x := links(stored{rows: 45_000, batch: 3000})
		x.OnProgress = func(p export.Progress) {
			if p.Rows == 12_000 {
				cancel()
			}
		}
		p, err := x.ToDir(ctx, dir, perFile)
		require.ErrorIs(t, err, context.Canceled)
		require.EqualValues(t, 12_000, p.Rows)
		requireLinks(t, dir, 12_000)

		p, err = links(stored{rows: 45_000, batch: 3000}).ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.EqualValues(t, 33_000, p.Rows)
		require.Equal(t, export.Written{Rows: 12_000, Files: 2}, p.Before)
		requireLinks(t, dir, 45_000)
	})

	// What a program that is killed leaves: a file that is not whole, or one that is and
	// is not in the manifest yet.
	t.Run("SweepsUpWhatAKillHasLeft", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		gone := errors.New("gone")
		fail := func(after int64) error {
			if after == 15_000 {
				return gone
			}
			return nil
		}
		_, err := links(stored{rows: 45_000, batch: 3000, read: fail}).ToDir(t.Context(), dir, perFile)
		require.ErrorIs(t, err, gone)
		requireLinks(t, dir, 9000)
		for _, name := range []string{"links-00002.jsonl", "links-00003.jsonl.part", "links-00009.csv"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "pages-00001.jsonl"), nil, 0o600))
		_, err = links(stored{rows: 45_000, batch: 3000}).ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.NoError(t, os.Remove(filepath.Join(dir, "pages-00001.jsonl")), "is none of its business")
		requireLinks(t, dir, 45_000)
	})

	t.Run("GoesOnWithTheFilterOfTheBeginning", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		x := links(stored{rows: 45_000, batch: 3000})
		x.Filter.Since = noon
		x.OnProgress = func(export.Progress) { cancel() }
		_, err := x.ToDir(ctx, dir, perFile)
		require.ErrorIs(t, err, context.Canceled)
		x = links(stored{rows: 45_000, batch: 3000})
		x.Filter.Since = noon.Add(time.Hour) // 30 days ago, an hour later
		seen := &filters{Store: x.Store}
		x.Store = seen
		_, err = x.ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.True(t, seen.last.Since.Equal(noon), "%+v", seen.last)
		requireLinks(t, dir, 45_000)
	})

	t.Run("RefusesWhatDoesNotFit", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		s := stored{rows: 10, batch: 3}
		refused := func(x *export.Export, why string) {
			t.Helper()
			_, err := x.ToDir(t.Context(), dir, perFile)
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, why)
			require.ErrorContains(t, err, "--force")
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "links-00001.jsonl"), nil, 0o600))
		refused(links(s), "has links-00001.jsonl without links.json")
		require.NoError(t, os.Remove(filepath.Join(dir, "links-00001.jsonl")))
		_, err := links(s).ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		refused(links(s), "lists a complete export of 1 files")
		other := links(s)
		other.Format = export.CSV
		refused(other, "belongs to an export of links --format jsonl --since 30d, not of links --format csv --since 30d")
		other.Force = true
		_, err = other.ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(dir, "links-00001.jsonl"))
		require.FileExists(t, filepath.Join(dir, "links-00001.csv"))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "links.json"), []byte("{"), 0o600))
		refused(links(s), "links.json cannot be read")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "links.json"),
			[]byte(`{"kind":"links","format":"jsonl","arguments":{"--since":"30d"},"columns":["id int64"]}`), 0o600))
		refused(links(s), "belongs to another version of Mosey")
	})

	// The old files are those of an export with more rows, in another format, and of one
	// that was killed.
	for _, kind := range export.Tables() {
		t.Run("BegunAnewHasNoOldFilesOf_"+string(kind), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			others := []string{string(kind) + ".jsonl", string(kind) + "-2026.csv", "more-" + string(kind) + "-00002.csv"}
			for _, other := range export.Tables() {
				if other != kind {
					others = append(others, string(other)+"-00002.csv")
				}
			}
			names := append([]string{string(kind) + "-00002.jsonl", string(kind) + "-00003.csv", string(kind) + "-00004.parquet.part"}, others...)
			for _, name := range names {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
			}
			x := &export.Export{Store: stored{rows: 10, batch: 3}, Kind: kind, Format: export.JSONL}
			_, err := x.ToDir(t.Context(), dir, perFile)
			require.ErrorIs(t, err, crawl.ErrInvalid, "another export is there")
			x.Force = true
			_, err = x.ToDir(t.Context(), dir, perFile)
			require.NoError(t, err)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			var left []string
			for _, entry := range entries {
				left = append(left, entry.Name())
			}
			require.ElementsMatch(t, append(others, "."+string(kind)+".lock", string(kind)+".json", string(kind)+"-00001.jsonl"), left)
		})
	}

	t.Run("IsWrittenByOneAtATime", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		x := links(stored{rows: 10, batch: 3})
		x.OnProgress = func(export.Progress) {
			_, err := links(stored{}).ToDir(t.Context(), dir, perFile)
			require.ErrorContains(t, err, "another export is writing links to "+dir)
		}
		_, err := x.ToDir(t.Context(), dir, perFile)
		require.NoError(t, err)
	})
}

// filters remembers with which filter rows were asked for.
type filters struct {
	export.Store

	last report.ExportFilter
}

func (f *filters) ExportLinks(ctx context.Context, by report.ExportFilter, after report.ExportKey) ([]report.LinkRow, report.ExportKey, error) {
	f.last = by
	return f.Store.ExportLinks(ctx, by, after)
}

func TestFile(t *testing.T) {
	t.Parallel()
	s := stored{rows: 10, batch: 3}

	t.Run("IsThereWhenItIsWhole", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "links.jsonl")
		x := links(s)
		x.OnProgress = func(export.Progress) { require.NoFileExists(t, path) }
		p, err := x.ToFile(t.Context(), path)
		require.NoError(t, err)
		require.Equal(t, export.Progress{Rows: 10, Bytes: p.Bytes, Files: 1}, p)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, info.Size(), p.Bytes)
		require.NoFileExists(t, path+".part")

		_, err = links(s).ToFile(t.Context(), path)
		require.ErrorIs(t, err, crawl.ErrInvalid)
		require.ErrorContains(t, err, path+" exists: name another file, or replace it with --force")
		x = links(s)
		x.Force = true
		_, err = x.ToFile(t.Context(), path)
		require.NoError(t, err)
	})

	t.Run("IsNotThereWhenItIsStopped", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		x := links(s)
		x.OnProgress = func(export.Progress) { cancel() }
		_, err := x.ToFile(ctx, filepath.Join(dir, "links.jsonl"))
		require.ErrorIs(t, err, context.Canceled)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, entries)
	})

	t.Run("IsNoDevice", func(t *testing.T) {
		t.Parallel()
		x := links(s)
		x.Force = true
		_, err := x.ToFile(t.Context(), os.DevNull)
		require.ErrorContains(t, err, os.DevNull+" is not a regular file")
	})
}
