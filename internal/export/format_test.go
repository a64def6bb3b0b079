package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/export"
)

// written returns the output of an export.
func written(t *testing.T, kind export.Table, format export.Format, rows int) []byte {
	t.Helper()
	var out bytes.Buffer
	x := &export.Export{Store: stored{rows: rows, batch: 7}, Kind: kind, Format: format}
	p, err := x.ToWriter(t.Context(), &out)
	require.NoError(t, err)
	require.EqualValues(t, rows, p.Rows)
	require.EqualValues(t, out.Len(), p.Bytes)
	return out.Bytes()
}

// objects reads JSON lines.
func objects(t *testing.T, data []byte) (list []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(data) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		object := map[string]any{}
		require.NoError(t, d.Decode(&object), "%s", line)
		list = append(list, object)
	}
	return list
}

func TestEveryFormatHasTheSameRows(t *testing.T) {
	t.Parallel()
	const rows = 20
	for _, kind := range export.Tables() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			columns := kind.Columns()
			want := objects(t, written(t, kind, export.JSONL, rows))
			require.Len(t, want, rows)
			require.Equal(t, want, fromCSV(t, columns, written(t, kind, export.CSV, rows)))
			schema, got := arrow(t, written(t, kind, export.Parquet, rows))
			require.Equal(t, want, got)
			require.Len(t, schema, len(columns))
			for i, c := range columns {
				require.Equal(t, c.Name+": "+arrowTypes[c.Type]+fmt.Sprintf(" null=%t", c.Null), schema[i])
				for _, object := range want {
					if !c.Null {
						require.Contains(t, object, c.Name)
					}
				}
			}
		})
	}
}

// arrowTypes are the names that Arrow has for what is written.
var arrowTypes = map[export.Type]string{
	export.Text: "utf8", export.Int: "int64", export.Bool: "bool", export.Time: "timestamp[us, tz=UTC]",
	export.Real: "float64", export.Texts: "list<element: utf8>",
}

// fromCSV makes of a file what JSON lines are read as.
func fromCSV(t *testing.T, columns []export.Column, data []byte) (list []map[string]any) {
	t.Helper()
	// encoding/csv reads \r\n as \n
	records, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(string(data), "\r\n", "\x00\n"))).ReadAll()
	require.NoError(t, err)
	for i, c := range columns {
		require.Equal(t, c.Name, records[0][i])
	}
	for _, record := range records[1:] {
		object := map[string]any{}
		for i, c := range columns {
			cell := strings.ReplaceAll(record[i], "\x00\n", "\r\n")
			if cell == "" {
				require.True(t, c.Null, c.Name)
				continue
			}
			object[c.Name] = cell
			switch c.Type {
			case export.Int, export.Real:
				object[c.Name] = json.Number(cell)
			case export.Bool, export.Texts:
				var v any
				require.NoError(t, json.Unmarshal([]byte(cell), &v))
				object[c.Name] = v
			case export.Text, export.Time:
			}
		}
		list = append(list, object)
	}
	return list
}

// reader is the program of test/parquet, built once.
var reader struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := os.RemoveAll(reader.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func arrowReader(t *testing.T) string {
	t.Helper()
	reader.once.Do(func() {
		if reader.dir, reader.err = os.MkdirTemp("", "mosey-export-"); reader.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", reader.dir, ".")
		build.Dir = filepath.Join("..", "..", "test", "parquet")
		if out, err := build.CombinedOutput(); err != nil {
			reader.err = fmt.Errorf("build test/parquet: %w: %s", err, out)
		}
	})
	require.NoError(t, reader.err)
	return filepath.Join(reader.dir, "parquet")
}

// arrow has Apache Arrow read a Parquet file, and returns its schema and its rows as JSON
// lines are read.
func arrow(t *testing.T, data []byte) (schema []string, list []map[string]any) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.parquet")
	require.NoError(t, os.WriteFile(name, data, 0o600))
	cmd := exec.CommandContext(t.Context(), arrowReader(t), name)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	head, rows, found := bytes.Cut(out, []byte("rows "))
	require.True(t, found)
	_, rows, _ = bytes.Cut(rows, []byte("\n"))
	list = objects(t, rows)
	schema = strings.Split(strings.TrimSpace(string(head)), "\n")
	for _, object := range list {
		for name, v := range object {
			if v == nil {
				delete(object, name)
			}
		}
	}
	return schema, list
}

func TestValues(t *testing.T) {
	t.Parallel()
	page := objects(t, written(t, export.Pages, export.JSONL, 2))
	require.Equal(t, awkward, page[0]["title"])
	require.Equal(t, "2026-11-22T12:00:00.123456Z", page[0]["fetched_at"])
	require.Equal(t, []any{"https://a.example/rss", `https://a.example/"atom"`}, page[0]["feeds"])
	require.Equal(t, "fffffffffffffffb", page[0]["simhash"])
	require.Equal(t, "ab01", page[0]["content_hash"])
	require.Equal(t, true, page[0]["noarchive"])
	require.Equal(t, "no", page[0]["signal_ai_train"])
	for _, absent := range []string{"title", "feeds", "fetched_at", "status_code", "simhash", "content_hash", "language"} {
		require.NotContains(t, page[1], absent)
	}
	crawls := objects(t, written(t, export.Crawls, export.JSONL, 2))
	require.Equal(t, json.Number("0"), crawls[0]["bytes"], "nothing is not unknown")
	require.Equal(t, json.Number("0"), crawls[0]["duration_ms"])
	require.Equal(t, json.Number("1500"), crawls[0]["delay_ms"])
	require.NotContains(t, crawls[1], "bytes")
	domains := objects(t, written(t, export.Domains, export.JSONL, 1))
	require.Equal(t, []any{"block", "delay"}, domains[0]["controls"])
	require.NotContains(t, domains[0], "reason", "of a person")
	images := objects(t, written(t, export.Images, export.JSONL, 3))
	require.Equal(t, "80000000000000ff", images[0]["phash"])
	require.Equal(t, "0000000000000000", images[0]["dhash"], "a hash of no set bits is one")
	require.Equal(t, true, images[0]["download_success"])
	require.Equal(t, false, images[1]["download_success"])
	require.Equal(t, "too small", images[1]["problem"])
	for _, absent := range []string{"download_success", "phash", "dhash", "sha256_hash", "width", "frames", "taken_at", "stored_at", "alt"} {
		require.NotContains(t, images[2], absent)
	}
	provenance := objects(t, written(t, export.Provenance, export.JSONL, 2))
	require.Equal(t, []any{"https://cdn.example/1-small.jpg", `https://cdn.example/1"odd".webp`}, provenance[0]["variants"])
	require.Equal(t, json.Number("320"), provenance[0]["width"])
	for _, absent := range []string{"variants", "width", "height", "alt", "caption", "gone_at"} {
		require.NotContains(t, provenance[1], absent)
	}
}

func TestAnEmptyExport(t *testing.T) {
	t.Parallel()
	require.Empty(t, written(t, export.Links, export.JSONL, 0))
	require.Equal(t, 1, bytes.Count(written(t, export.Links, export.CSV, 0), []byte("\n")), "a header")
	schema, rows := arrow(t, written(t, export.Links, export.Parquet, 0))
	require.Len(t, schema, len(export.Links.Columns()))
	require.Empty(t, rows)
}
