package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// part is a module linked into a program.
type part struct {
	path, version string
	texts         []text
}

// text is a license, or a notice that a license requires to be distributed.
type text struct {
	name    string // of the file, below the module
	content string
	ids     []string // SPDX's names of the licenses in it
}

// unstated is the license of a module without a statement.
const unstated = "none is stated"

// told holds licenses that the modules' files do not state, found by a person.
var told = map[string]string{
	// Its repository is under the MIT license, whose file is not in the module.
	"github.com/cactus/go-statsd-client/statsd": "MIT",
	// It is a part of Temporal's API: neither the module nor its sources name a license.
	"github.com/nexus-rpc/nexus-proto-annotations": unstated,
	// Its LICENSE puts it into the public domain, in its own wording.
	"github.com/xi2/xz": "LicenseRef-public-domain",
}

// ids returns the licenses of a module's linked packages.
func (m part) ids() []string {
	var all []string
	for _, t := range m.texts {
		all = append(all, t.ids...)
	}
	if id := told[m.path]; id != "" && len(all) == 0 {
		all = []string{id}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// legal matches the names of files to distribute with a program.
var legal = regexp.MustCompile(`(?i)^(li[cs]en[cs]e|copying|copyright|notice|unlicense|patents)s?([-._].*)?$`)

// licenses reads the texts of licenses, each once.
type licenses struct {
	folders map[string][]text // by directory; names are without a folder
}

func newLicenses() *licenses { return &licenses{folders: map[string][]text{}} }

// known is the percentage of a file that licensecheck has to recognise to name its license. The
// rest is names and years.
const known = 75

// in returns the texts in a directory.
func (l *licenses) in(dir string) ([]text, error) {
	if texts, found := l.folders[dir]; found {
		return texts, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, entry := range entries {
		if !entry.Type().IsRegular() || !legal.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		t := text{name: entry.Name(), content: strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))}
		if found := licensecheck.Scan(content); found.Percent >= known {
			for _, match := range found.Match {
				if match.ID != "GooglePatentsFile" { // a patent grant beside a license; SPDX has no name for it
					t.ids = append(t.ids, match.ID)
				}
			}
		}
		texts = append(texts, t)
	}
	l.folders[dir] = texts
	return texts, nil
}

// collect adds the texts between a package and the top of its module. File names begin at the top.
func (l *licenses) collect(into map[string]text, top, dir string) error {
	for {
		texts, err := l.in(dir)
		if err != nil {
			return err
		}
		for _, t := range texts {
			name, err := filepath.Rel(top, filepath.Join(dir, t.name))
			if err != nil {
				return err
			}
			t.name = filepath.ToSlash(name)
			into[t.name] = t
		}
		if dir == top || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// parts returns the linked modules of a program, Go's standard library first, with their licenses.
// It returns an error for a module without a license, because a person has to check it.
func (b *builder) parts(ctx context.Context, t target, info *buildinfo.BuildInfo) ([]part, error) {
	texts, err := b.texts(ctx, t)
	if err != nil {
		return nil, err
	}
	list := []part{{path: "std", version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, dep := range info.Deps {
		list = append(list, partOf(dep))
	}
	for i, m := range list {
		for _, t := range texts[m.path] {
			list[i].texts = append(list[i].texts, t)
		}
		slices.SortFunc(list[i].texts, func(a, b text) int { return cmp.Compare(a.name, b.name) })
		if len(list[i].ids()) == 0 {
			return nil, fmt.Errorf("%s %s is linked, and no license of it is known: find it out, and name it in tools/release/licenses.go",
				m.path, m.version)
		}
	}
	return list, nil
}

func partOf(dep *debug.Module) part {
	if dep.Replace != nil {
		dep = dep.Replace
	}
	return part{path: dep.Path, version: dep.Version}
}

// linked makes go list print, for each package of a program: its module, or std, the top of the
// module, and the package's directory. Mosey's own packages have no line.
const linked = `{{with .Module}}{{if not .Main}}{{.Path}}	{{.Dir}}	{{$.Dir}}{{end}}{{else}}std	{{.Root}}	{{.Dir}}{{end}}`

// texts returns the texts of all modules, by path and by file.
func (b *builder) texts(ctx context.Context, t target) (map[string]map[string]text, error) {
	out, err := b.golang(ctx, "list", "-deps", "-f", linked, "./cmd/"+t.program)
	if err != nil {
		return nil, err
	}
	texts := map[string]map[string]text{}
	for line := range strings.SplitSeq(out, "\n") {
		path, rest, _ := strings.Cut(line, "\t")
		top, dir, found := strings.Cut(rest, "\t")
		if !found {
			continue
		}
		if texts[path] == nil {
			texts[path] = map[string]text{}
		}
		if err := b.licenses.collect(texts[path], top, dir); err != nil {
			return nil, fmt.Errorf("licenses of %s: %w", path, err)
		}
	}
	return texts, nil
}

// notices returns the file that names all modules and has the texts of their licenses, each once.
func notices(t target, parts []part) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s for %s/%s contains the following modules, under these licenses.\n\n", t.binary(), t.goos, t.goarch)
	users := map[string][]string{}
	var order []string
	for _, m := range parts {
		fmt.Fprintf(&out, "%s %s: %s\n", m.path, m.version, strings.Join(m.ids(), ", "))
		for _, text := range m.texts {
			if users[text.content] == nil {
				order = append(order, text.content)
			}
			users[text.content] = append(users[text.content], m.path+"/"+text.name)
		}
	}
	for _, content := range order {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(users[content], "\n"), content)
	}
	return out.Bytes()
}
