package export

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/report"
	"github.com/mosey-web/mosey/internal/files"
)

// manifest lists the complete files of an export in a directory: KIND.json.
type manifest struct {
	Kind       Table               `json:"kind"`
	Format     Format              `json:"format"`
	FilterArgs map[string]string   `json:"arguments"`
	Filter     report.ExportFilter `json:"filter"`
	Columns    []string            `json:"columns"`
	Files      []file              `json:"files"`
	Complete   bool                `json:"complete"` // nothing is missing
}

type file struct {
	Name  string `json:"name"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
	Next  key    `json:"next"`            // start of the next file
	Moved bool   `json:"moved,omitempty"` // its rows are deleted
}

// manifest reads the manifest of a directory, or begins one.
func (e *Export) manifest(dir string) (*manifest, error) {
	fresh := &manifest{Kind: e.Kind, Format: e.Format, FilterArgs: e.FilterArgs, Filter: e.Filter, Files: []file{}}
	for _, c := range e.Kind.Columns() {
		fresh.Columns = append(fresh.Columns, c.Name+" "+string(c.Type))
	}
	path := filepath.Join(dir, string(e.Kind)+".json")
	data, err := os.ReadFile(path)
	var found manifest
	unreadable := json.Unmarshal(data, &found)
	if e.Force && !found.Filter.Movable {
		return fresh, errors.Join(fresh.save(dir), fresh.sweep(dir))
	}
	if errors.Is(err, fs.ErrNotExist) {
		if found, err := fresh.unlistedFiles(dir); err != nil || len(found) > 0 {
			return nil, cmp.Or(err, fmt.Errorf("%w: %s has %s without %s.json, which names the files of an export: "+
				"name another directory, or start over with --force", crawl.ErrInvalid, dir, strings.Join(found, ", "), e.Kind))
		}
		return fresh, fresh.save(dir)
	}
	if err != nil {
		return nil, err
	}
	if unreadable != nil {
		return nil, fmt.Errorf("%w: %s cannot be read (%w): name another directory, or start over with --force",
			crawl.ErrInvalid, path, unreadable)
	}
	if err := found.checkResumable(fresh, path); err != nil {
		return nil, err
	}
	return &found, found.sweep(dir)
}

// checkResumable returns an error if the export of a manifest cannot resume as current.
func (m *manifest) checkResumable(current *manifest, path string) error {
	hasRowsToDelete := m.Filter.Movable && slices.ContainsFunc(m.Files, func(f file) bool { return !f.Moved })
	var reason string
	switch {
	case m.Kind != current.Kind || m.Format != current.Format || !maps.Equal(m.FilterArgs, current.FilterArgs):
		reason = fmt.Sprintf("belongs to an export of %s, not of %s: repeat the same command", m, current)
		if m.Filter.Movable {
			reason += ", or name another directory: these rows may exist nowhere else"
		}
	case !slices.Equal(m.Columns, current.Columns):
		reason = "belongs to another version of Mosey with other columns: name another directory"
	case m.Complete && !hasRowsToDelete:
		reason = fmt.Sprintf("lists a complete export of %d files: name another directory", len(m.Files))
	default:
		return nil
	}
	if !m.Filter.Movable {
		reason += ", or start over with --force"
	}
	return fmt.Errorf("%w: %s %s", crawl.ErrInvalid, path, reason)
}

func (m *manifest) String() string {
	words := []string{string(m.Kind), "--format " + string(m.Format)}
	for _, name := range slices.Sorted(maps.Keys(m.FilterArgs)) {
		words = append(words, name+" "+m.FilterArgs[name])
	}
	return strings.Join(words, " ")
}

func (m *manifest) save(dir string) (err error) {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, string(m.Kind)+".json")
	out, err := os.Create(path + partialSuffix)
	if err != nil {
		return err
	}
	_, err = out.Write(append(data, '\n'))
	if err == nil {
		err = out.Sync()
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+partialSuffix, path); err != nil {
		return err
	}
	return files.SyncDirectory(dir)
}

// isNumberedFile reports whether a file is of this kind of export, partial or not, in any format.
func (m *manifest) isNumberedFile(name string) bool {
	name = strings.TrimSuffix(name, partialSuffix)
	format, err := FormatOf(name)
	if err != nil {
		return false
	}
	number, is := strings.CutPrefix(strings.TrimSuffix(name, "."+string(format)), string(m.Kind)+"-")
	return is && len(number) >= 5 && strings.Trim(number, "0123456789") == ""
}

func (m *manifest) unlistedFiles(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		listed := func(f file) bool { return f.Name == entry.Name() }
		if m.isNumberedFile(entry.Name()) && !slices.ContainsFunc(m.Files, listed) {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// sweep removes the files of an export that was killed or replaced.
func (m *manifest) sweep(dir string) error {
	names, err := m.unlistedFiles(dir)
	for _, name := range names {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}
