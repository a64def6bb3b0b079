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
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/about"
)

// serveCmd serves what init has written.
type serveCmd struct {
	Dir    string `arg:"" help:"Folder that mosey identity init has written."`
	Listen string `help:"Address to serve at. A web server in front of it speaks https." default:"127.0.0.1:8471" placeholder:"[HOST]:PORT"`
}

// Run serves until the context ends.
func (c *serveCmd) Run(ctx context.Context, e *command.Env) (err error) {
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return wiring.Usagef("%s: %w: mosey identity init makes it", c.Dir, plain(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	listener, err := command.Listen(ctx, "--listen", c.Listen, "an address such as :8471 or 10.0.0.1:8471")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Identity   http://%s/\nCtrl-C stops.\n", listener.Addr())
	return command.ServeUntil(ctx, listener, folder{root}, e.NewLogger(e.Stderr, slog.LevelWarn))
}

// plain is an error without the name of the file, which the caller has.
func plain(err error) error {
	if wrong, is := errors.AsType[*fs.PathError](err); is {
		return wrong.Err
	}
	return err
}

// policy lets a page have its own style, and nothing else.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// fileMost bounds a file that is served, or compared with a new one.
const fileMost = 1 << 20

// folder serves the kinds of files that init writes, and no others: a key that somebody has left there is safe.
type folder struct{ root *os.Root }

// ServeHTTP answers with a file. Each request reads it anew, so that a timer may write it anew.
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
	if signed { // it belongs to all bytes, and whoever asks wants the newest signature
		r.Header.Del("Range")
		changed = time.Time{}
	}
	http.ServeContent(w, r, "", changed, bytes.NewReader(body))
}

// header is what a file is served with; nil is that it is not served. A file beside it with headers is as init writes it
// for the directory of keys.
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

// read reads a file in the folder, and when it was changed.
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
	if !stat.Mode().IsRegular() || stat.Size() > fileMost {
		return nil, changed, fs.ErrInvalid
	}
	data, err = io.ReadAll(io.LimitReader(file, fileMost))
	return data, stat.ModTime(), err
}
