// Package identity publishes the crawler's identity: the page, the addresses and the keys by which
// site owners recognize it. It writes them for a web server and checks them from outside.
package identity

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/internal/botauth"
)

// Cmd publishes the crawler's identity, and checks it as site owners do.
type Cmd struct {
	Allow     allowCmd     `cmd:"" default:"withargs" help:"Print the rules by which the owner of a site behind Anubis or Cloudflare can allow the crawler."`
	Init      initCmd      `cmd:"" help:"Write the files that site owners look for to a folder for a web server: a page, the list of addresses, the directory of keys."`
	Check     checkCmd     `cmd:"" help:"Check the published files from outside: the page, its list of addresses, reverse DNS, the directory of keys, the clock."`
	Serve     serveCmd     `cmd:"" help:"Serve the folder that init wrote, with the right types and headers."`
	Keygen    keygenCmd    `cmd:"" help:"Create a key that signs requests. An existing file is never changed."`
	Directory directoryCmd `cmd:"" help:"Print the public keys in the form that the host of --signature-agent must serve."`
}

type keygenCmd struct {
	File  string        `arg:"" help:"File to write, readable by its owner alone."`
	After time.Duration `help:"Delay before the key signs requests, so that sites find it in the directory first. Default: 0s." placeholder:"DURATION"`
	JSON  bool          `name:"json" help:"Print JSON: the key ID, the file, and the time from which the key signs."`
}

// KeyDoc describes a new key in JSON.
type KeyDoc struct {
	KeyID string    `json:"keyid"`
	File  string    `json:"file"`
	From  time.Time `json:"from"`
}

// maxKeyDelay bounds --after. A key for later is more likely to be forgotten than used.
const maxKeyDelay = 365 * 24 * time.Hour

func (c *keygenCmd) Run(e *command.Env) error {
	if c.After < 0 || c.After > maxKeyDelay {
		return wiring.Usagef("--after %s: want 0s to 8760h", c.After)
	}
	text, key, err := botauth.NewKeyFile(time.Now().Add(c.After))
	if err != nil {
		return err
	}
	if err := writeNew(c.File, text); err != nil {
		return err
	}
	if c.JSON {
		return command.PrintJSON(e.Stdout, KeyDoc{key.ID, c.File, key.NotBefore.UTC()})
	}
	_, err = fmt.Fprintf(e.Stdout, "Key %s is in %s and signs requests from %s on.\n"+
		"Serve the output of this command at your host, and then give the key to workers as --sign:\n"+
		"    mosey identity directory --sign %s\n", key.ID, c.File, key.NotBefore.UTC().Format(time.RFC3339), c.File)
	return err
}

// writeNew creates a file, whole or not at all.
func writeNew(name string, text []byte) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return wiring.Usagef("%s exists already, and its key would be lost: give another name", name)
	}
	if err != nil {
		return wiring.Usagef("write the key: %w", err)
	}
	_, err = file.Write(text)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write the key: %w", err), os.Remove(name))
	}
	return nil
}

type directoryCmd struct {
	wiring.SignFlags

	Headers string `help:"Also write the HTTP headers for this directory, signed by each key, to this file." placeholder:"FILE"`
}

const directoryValidity = 7 * 24 * time.Hour

func (c *directoryCmd) Run(e *command.Env) error {
	if c.Sign == "" {
		return wiring.Usagef("--sign is missing: give the file or folder of the keys (mosey identity keygen creates a key)")
	}
	if c.Headers == "" {
		body, err := botauth.Directory(c.Sign, time.Now())
		if err != nil {
			return wiring.Usagef("--sign: %w", err)
		}
		_, err = e.Stdout.Write(body)
		return err
	}
	agent, err := c.SignatureAgentValue()
	if err != nil {
		return wiring.Usagef("%w", err)
	}
	body, header, err := botauth.SignedDirectory(c.Sign, agent, time.Now(), directoryValidity)
	if err != nil {
		return wiring.Usagef("--sign: %w", err)
	}
	if err := replaceFile(c.Headers, headerText(header)); err != nil {
		return wiring.Usagef("--headers: %w", err)
	}
	_, err = e.Stdout.Write(body)
	return err
}

func headerText(header http.Header) []byte {
	var lines []string
	for key, values := range header {
		lines = append(lines, key+": "+values[0]+"\n")
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}

// replaceFile writes a public file atomically, so that web servers never serve half of it.
func replaceFile(name string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), ".mosey-*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Chmod(0o644), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

type checkCmd struct {
	wiring.FetchFlags
	wiring.IdentityFlags

	JSON bool `name:"json" help:"Print a JSON array of findings."`
}

func (c *checkCmd) Run(ctx context.Context, e *command.Env) error {
	published, err := c.Published(c.AgentFlags)
	if err != nil {
		return wiring.Usagef("%w", err)
	}
	if !published.HasPage {
		return wiring.Usagef("--page is missing, and --contact is not a URL: give the URL of the page about the crawler, " +
			"such as https://crawler.example.org/")
	}
	p := &doctor.Target{Environ: e.Environ, Fetch: c.FetchFlags, Identity: c.IdentityFlags}
	return command.Examine(ctx, e, p, doctor.IdentityChecks(), command.Examination{JSON: c.JSON})
}

type serveCmd struct {
	Dir    string `arg:"" help:"Folder that mosey identity init wrote."`
	Listen string `help:"Address to listen on, for a web server in front that adds HTTPS." default:"127.0.0.1:8471" placeholder:"[HOST]:PORT"`
}

func (c *serveCmd) Run(ctx context.Context, e *command.Env) (err error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return wiring.Usagef("%s: %w: create it with mosey identity init", c.Dir, withoutPath(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	listener, err := command.Listen(ctx, "--listen", c.Listen, "an address such as :8471 or 10.0.0.1:8471")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Identity   http://%s/\nCtrl-C stops the server.\n", listener.Addr())
	return command.ServeUntil(ctx, listener, folder{root}, e.NewLogger(e.Stderr, slog.LevelWarn))
}

// withoutPath returns an error without the file's name, which the caller adds.
func withoutPath(err error) error {
	if pathErr, is := errors.AsType[*fs.PathError](err); is {
		return pathErr.Err
	}
	return err
}

// policy lets a page have its own style, and nothing else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// maxFileBytes bounds a file that is served, or compared with a new one.
const maxFileBytes = 1 << 20

// folder serves only the kinds of files that init writes, so that a key left there is safe.
type folder struct{ root *os.Root }

// ServeHTTP responds with a file. It reads the file for each request, so that a timer may rewrite
// it.
func (f folder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
		return
	}
	name := path.Clean("/" + r.URL.Path)[1:]
	if name == "" {
		name = indexFile
	} else if stat, err := f.root.Stat(name); err == nil && stat.IsDir() {
		if r.URL.Path[len(r.URL.Path)-1] != '/' {
			w.Header().Set("Location", "/"+name+"/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		name += "/" + indexFile
	}
	header, signed := f.header(name)
	body, changed, err := f.read(name)
	if header == nil || err != nil {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), header)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if signed { // a signature covers all bytes, and clients want the newest
		r.Header.Del("Range")
		changed = time.Time{}
	}
	http.ServeContent(w, r, "", changed, bytes.NewReader(body))
}

// header returns the headers of a file, or nil if it is not served. init writes the headers of the
// directory of keys beside it.
func (f folder) header(name string) (header http.Header, signed bool) {
	of := func(kind string) http.Header {
		return http.Header{"Content-Type": {kind}, "Cache-Control": {"max-age=3600"}}
	}
	if text, _, err := f.read(name + headersSuffix); err == nil {
		sent, err := textproto.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(text), bytes.NewReader([]byte("\n"))))).ReadMIMEHeader()
		return http.Header(sent), err == nil
	}
	switch {
	case slices.Contains(pageEndings, path.Ext(name)):
		header = of("text/html; charset=utf-8")
		header.Set("Content-Security-Policy", policy)
	case name == rangesFile:
		header = of(about.RangesType)
	}
	return header, false
}

func (f folder) read(name string) (data []byte, changed time.Time, err error) {
	file, err := f.root.Open(name)
	if err != nil {
		return nil, changed, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	stat, err := file.Stat()
	if err != nil {
		return nil, changed, err
	}
	if !stat.Mode().IsRegular() || stat.Size() > maxFileBytes {
		return nil, changed, fs.ErrInvalid
	}
	data, err = io.ReadAll(io.LimitReader(file, maxFileBytes))
	return data, stat.ModTime(), err
}
