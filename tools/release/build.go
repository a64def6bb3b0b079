package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
)

const (
	sumsName    = "SHA256SUMS"
	notesName   = "RELEASE-NOTES.md"
	noticesName = "THIRD-PARTY-LICENSES.txt"

	releaseVariable = "github.com/mosey-web/mosey/cmd/internal/wiring.release"
)

// target is a program for a platform.
type target struct{ program, goos, goarch string }

func (t target) String() string { return t.program + "/" + t.goos + "/" + t.goarch }

// binary returns the name of the program's file.
func (t target) binary() string {
	if t.goos == "windows" {
		return t.program + ".exe"
	}
	return t.program
}

// name returns the archive's name without its extension. It begins with mosey.
func (t target) name(version string) string {
	program := t.program
	if program != "mosey" {
		program = "mosey-" + program
	}
	return strings.Join([]string{program, strings.TrimPrefix(version, "v"), t.goos, t.goarch}, "_")
}

// targets returns all targets of a release.
func targets() (list []target) {
	for _, program := range []string{"mosey", "worker", "manners"} {
		for _, goos := range []string{"linux", "darwin", "windows"} {
			for _, goarch := range []string{"amd64", "arm64"} {
				list = append(list, target{program, goos, goarch})
			}
		}
	}
	return list
}

// chosen returns the targets that -only names; all if it is empty.
func chosen(only string) ([]target, error) {
	all := targets()
	if only == "" {
		return all, nil
	}
	var list []target
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(t target) bool { return t.String() == name })
		if i < 0 {
			return nil, refuse("-only %q: want some of %s", name, strings.Trim(fmt.Sprint(all), "[]"))
		}
		list = append(list, all[i])
	}
	return list, nil
}

// builder makes the files of a release, one target after the other.
type builder struct {
	from source
	// tree is a clone of the commit alone. Go stamps a program with the newest tag that it finds.
	// The clone has only this version's tag, so that a commit gives the same bytes before and after
	// tagging.
	tree     string
	bin      string
	env      []string
	licenses *licenses
	sums     []string
}

func newBuilder(ctx context.Context, from source, work string) (*builder, error) {
	b := &builder{from: from, tree: filepath.Join(work, "tree"), bin: filepath.Join(work, "bin"), licenses: newLicenses()}
	for _, args := range [][]string{
		{"clone", "--quiet", "--no-tags", "--no-checkout", from.root, b.tree},
		{"-C", b.tree, "checkout", "--quiet", "--detach", from.commit},
		{"-C", b.tree, "update-ref", "refs/tags/" + from.version, from.commit},
	} {
		if _, err := git(ctx, from.root, args...); err != nil {
			return nil, err
		}
	}
	// The user's compile settings would change the bytes.
	b.env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOAMD64=v1", "GOARM64=v8.0")
	line, err := b.golang(ctx, "list", "-m", "-f", "{{.Path}} {{.GoVersion}}")
	if err != nil {
		return nil, err
	}
	path, version, _ := strings.Cut(line, " ")
	if err := module.Check(path, from.version); err != nil {
		return nil, refuse("version %s: Go refuses it as the tag of this module: %w", from.version, err)
	}
	b.env = append(b.env, "GOTOOLCHAIN=go"+version) // so would the compiler
	if err := os.RemoveAll(from.dist); err != nil {
		return nil, err
	}
	return b, os.MkdirAll(from.dist, 0o755)
}

// golang runs go in the clone.
func (b *builder) golang(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the arguments are those of this file
	cmd.Dir, cmd.Env = b.tree, b.env
	return output(cmd)
}

// release builds a target and writes its archive and its bill of materials.
func (b *builder) release(ctx context.Context, t target, stdout io.Writer) error {
	platform := *b
	platform.env = append(slices.Clone(b.env), "GOOS="+t.goos, "GOARCH="+t.goarch)
	program := filepath.Join(b.bin, t.binary())
	info, err := platform.build(ctx, t, program)
	if err != nil {
		return err
	}
	parts, err := platform.parts(ctx, t, info)
	if err != nil {
		return err
	}
	files, err := b.contents(program, t, parts)
	if err != nil {
		return err
	}
	name := t.name(b.from.version)
	pack, archive := packTar, name+".tar.gz"
	if t.goos == "windows" {
		pack, archive = packZip, name+".zip"
	}
	if err := b.write(archive, func(w io.Writer) error { return pack(w, name, files, b.from.time) }); err != nil {
		return err
	}
	bill := billOfMaterials(b.from, t, info.GoVersion, files[0].content, parts)
	if err := b.write(name+".cdx.json", func(w io.Writer) error { return writeBill(w, bill) }); err != nil {
		return err
	}
	packed, err := os.Stat(filepath.Join(b.from.dist, archive))
	if err != nil {
		return err
	}
	const mb = 1e6
	fmt.Fprintf(stdout, "%s  %.1f MB, unpacked %.1f MB, of %d modules\n",
		archive, float64(packed.Size())/mb, float64(len(files[0].content))/mb, len(parts))
	return nil
}

// releaseTags omits a transport of Google's storage client that Temporal links for archives.
// Temporal's own releases do the same.
const releaseTags = "disable_grpc_modules"

// build builds a program and reads its build information.
func (b *builder) build(ctx context.Context, t target, program string) (*buildinfo.BuildInfo, error) {
	if _, err := b.golang(ctx, "build", "-trimpath", "-buildvcs=true", "-tags="+releaseTags,
		"-ldflags=-s -w -X "+releaseVariable+"="+strings.TrimPrefix(b.from.version, "v"),
		"-o", program, "./cmd/"+t.program); err != nil {
		return nil, err
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	return info, b.checkStamp(info)
}

// checkStamp refuses a program that does not state its commit.
func (b *builder) checkStamp(info *buildinfo.BuildInfo) error {
	got := map[string]string{"version": info.Main.Version}
	for _, s := range info.Settings {
		got[s.Key] = s.Value
	}
	for key, want := range map[string]string{
		"version": b.from.version, "vcs.revision": b.from.commit, "vcs.modified": "false",
		"CGO_ENABLED": "0", "-trimpath": "true", "-tags": releaseTags,
	} {
		if got[key] != want {
			return fmt.Errorf("the program is stamped with %s %q: want %q", key, got[key], want)
		}
	}
	return nil
}

// contents returns the files of an archive, the program first.
func (b *builder) contents(program string, t target, parts []part) ([]file, error) {
	content, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	files := []file{{name: t.binary(), content: content, executable: true}}
	readme := "README.md"
	if t.program == "manners" {
		readme = "manners/README.md"
	}
	for _, name := range []string{"LICENSE", readme, "CHANGELOG.md"} {
		content, err := os.ReadFile(filepath.Join(b.tree, name)) //nolint:gosec // a tree of our own
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: path.Base(name), content: content})
	}
	return append(files, file{name: noticesName, content: notices(t, parts)}), nil
}

// write writes a file of the release and records its checksum.
func (b *builder) write(name string, content func(io.Writer) error) (err error) {
	out, err := os.Create(filepath.Join(b.from.dist, name)) //nolint:gosec // where the person who runs it is
	if err != nil {
		return err
	}
	sum := sha256.New()
	if err := content(io.MultiWriter(out, sum)); err != nil {
		return fmt.Errorf("write %s: %w", name, joinClose(err, out))
	}
	b.sums = append(b.sums, hex.EncodeToString(sum.Sum(nil))+"  "+name+"\n")
	return out.Close()
}

// finish writes the notes, then the checksums of all other files. A release without checksums is
// incomplete.
func (b *builder) finish() error {
	notes := func(w io.Writer) error {
		_, err := io.WriteString(w, b.from.notes+"\n")
		return err
	}
	if err := b.write(notesName, notes); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.from.dist, sumsName), []byte(strings.Join(b.sums, "")), 0o644) //nolint:gosec // for everybody
}
