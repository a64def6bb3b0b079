package identity

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/about"
	"github.com/mosey-web/mosey/internal/botauth"
)

type initCmd struct {
	Dir string `arg:"" help:"Folder to write to, which a web server serves as the root of a host. It is created if missing."`

	wiring.AgentFlags
	wiring.IdentityFlags
	wiring.SignFlags
	command.SettingsForOtherRuns

	About   string `help:"Text for the page: who you are, and how you use the crawled pages." placeholder:"TEXT"`
	Replace bool   `help:"Overwrite existing files whose content differs." env:"-"`
	JSON    bool   `name:"json" help:"Print JSON: each file, and whether it was written."`
}

// InitDoc lists the files of init in JSON.
type InitDoc struct {
	Files []FileDoc `json:"files"`
}

// FileDoc is a file and its fate: written, unchanged, renewed (only its time differs) or replaced.
type FileDoc struct {
	File   string `json:"file"`
	Action string `json:"action"`
}

const (
	indexFile = "index.html"
	// rangesFile is the list of addresses, at the root of the host.
	rangesFile = "addresses.json"
	// headersSuffix marks a file with the headers of the file beside it.
	headersSuffix = ".headers"
	// maxAboutBytes bounds --about, in bytes.
	maxAboutBytes = 4000
)

var pageEndings = []string{".html", ".htm"}

type output struct {
	name string // in the folder, with slashes
	text []byte
	// isRenewalOf reports whether the text differs from an old one only by its time; nil means never.
	isRenewalOf func(old []byte) bool
}

func (c *initCmd) Run(e *command.Env) error {
	published, err := c.Published(c.AgentFlags)
	if err = errors.Join(c.CheckAgent(), err); err != nil {
		return wiring.Usagef("%w", err)
	}
	switch {
	case published.Contact == "":
		return wiring.Usagef("--mail is missing, and --contact is not a mail address: give one, because the page must say how to reach you")
	case len(c.About) > maxAboutBytes:
		return wiring.Usagef("--about: %d bytes, at most %d allowed", len(c.About), maxAboutBytes)
	case c.Sign == "" && c.SignatureAgent != "":
		return wiring.Usagef("--signature-agent needs --sign: without a key no request is signed")
	}
	outputs, err := c.outputs(published, time.Now())
	if err != nil {
		return err
	}
	written, err := write(c.Dir, outputs, c.Replace)
	if err != nil {
		return err
	}
	if c.JSON {
		return command.PrintJSON(e.Stdout, InitDoc{written})
	}
	for _, f := range written {
		fmt.Fprintf(e.Stdout, "%-10s %s\n", f.Action, f.File)
	}
	_, err = fmt.Fprint(e.Stdout, c.next(published))
	return err
}

func (c *initCmd) next(published wiring.Published) string {
	if !published.HasPage {
		return "Serve the folder at one of your hosts, and give workers the page as --contact, so that the User-Agent leads to it.\n" +
			"Then: mosey identity check --page URL\n"
	}
	return fmt.Sprintf("Serve the folder at %s, for example with a web server in front of: mosey identity serve %s\n"+
		"Then, with the same flags: mosey identity check\n", published.Page.Origin(), c.Dir)
}

func (c *initCmd) outputs(published wiring.Published, now time.Time) (all []output, err error) {
	token, err := c.Token()
	if err != nil {
		return nil, wiring.Usagef("--user-agent: %w", err)
	}
	run := c.Settings.WithDefaults()
	crawler := about.Crawler{
		Token: token, UserAgent: c.Agent(), Purpose: *run.Purpose, About: strings.TrimSpace(c.About), Delay: time.Duration(*run.Delay),
		Contact: published.Contact, ReverseDNS: published.ReverseDNS,
	}
	if len(published.Networks) > 0 {
		list := about.Ranges{Created: now, Prefixes: published.Networks}
		text, err := list.JSON()
		if err != nil {
			return nil, err
		}
		crawler.Ranges = "/" + rangesFile
		all = append(all, output{rangesFile, text, func(old []byte) bool {
			oldRanges, err := about.ReadRanges(old)
			return err == nil && oldRanges.Same(list)
		}})
	}
	if c.Sign != "" {
		agent, err := c.SignatureAgentValue()
		if err != nil {
			return nil, wiring.Usagef("%w", err)
		}
		crawler.SignatureAgent, crawler.Keys = agent, botauth.DirectoryURL(agent)
		directory, err := c.directory(agent, now)
		if err != nil {
			return nil, err
		}
		all = append(all, directory...)
	}
	name := indexFile
	if published.HasPage {
		if name, err = pageFile(published.Page.RequestTarget()); err != nil {
			return nil, wiring.Usagef("--page %s: %w", published.Page, err)
		}
	}
	page, err := crawler.Page()
	if err != nil {
		return nil, err
	}
	return append([]output{{name: name, text: page}}, all...), nil
}

func (c *initCmd) directory(agent string, now time.Time) ([]output, error) {
	body, header, err := botauth.SignedDirectory(c.Sign, agent, now, directoryValidity)
	if err != nil {
		return nil, wiring.Usagef("--sign: %w", err)
	}
	u, err := url.Parse(botauth.DirectoryURL(agent))
	if err != nil {
		return nil, wiring.Usagef("--signature-agent: %w", err)
	}
	name, err := inFolder(u.EscapedPath())
	if err != nil {
		return nil, wiring.Usagef("--signature-agent %s: %w", agent, err)
	}
	digest := []byte("Content-Digest: " + header.Get("Content-Digest") + "\n")
	return []output{
		{name: name, text: body},
		{name + headersSuffix, headerText(header), func(old []byte) bool { return bytes.Contains(old, digest) }},
	}, nil
}

// pageFile returns the file that web servers serve for a page's path.
func pageFile(target string) (string, error) {
	name, err := inFolder(target)
	switch {
	case err != nil:
		return "", err
	case name == "":
		return indexFile, nil
	case strings.HasSuffix(target, "/") || !slices.Contains(pageEndings, path.Ext(name)):
		return name + "/" + indexFile, nil
	}
	return name, nil
}

// inFolder returns the file for a path of the host, or "" for the folder itself.
func inFolder(target string) (string, error) {
	name := strings.Trim(target, "/")
	if strings.ContainsAny(name, "?%\\:") || name != "" && !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) && name != "" {
		return "", errors.New("want a path that is a valid file name: letters, digits, '-', '_', '.' and '/'")
	}
	return name, nil
}

// write writes all files, or nothing if a file exists that may not be overwritten.
func write(dir string, outputs []output, replace bool) (files []FileDoc, err error) {
	var differ []string
	for _, o := range outputs {
		name := filepath.Join(dir, filepath.FromSlash(o.name))
		action, err := compareFile(name, o)
		if err != nil {
			return nil, wiring.Usagef("%s: %w", name, withoutPath(err))
		}
		if action == actionReplaced && !replace {
			differ = append(differ, name)
		}
		files = append(files, FileDoc{name, action})
	}
	if len(differ) > 0 {
		return nil, wiring.Usagef("%s: the content differs, and so nothing was written: "+
			"give --replace to overwrite, or another folder", strings.Join(differ, ", "))
	}
	for i, o := range outputs {
		if files[i].Action == actionUnchanged {
			continue
		}
		name := files[i].File
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return nil, wiring.Usagef("%s: %w", filepath.Dir(name), withoutPath(err))
		}
		if err := replaceFile(name, o.text); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, withoutPath(err))
		}
	}
	return files, nil
}

// The fates of a file.
const (
	actionWritten   = "written"
	actionUnchanged = "unchanged"
	actionRenewed   = "renewed"
	actionReplaced  = "replaced"
)

func compareFile(name string, o output) (action string, err error) {
	stat, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return actionWritten, nil
	case err != nil:
		return "", err
	case !stat.Mode().IsRegular():
		return "", errors.New("not a regular file")
	case stat.Size() > maxFileBytes:
		return actionReplaced, nil
	}
	old, err := os.ReadFile(name)
	switch {
	case err != nil:
		return "", err
	case bytes.Equal(old, o.text):
		return actionUnchanged, nil
	case o.isRenewalOf != nil && o.isRenewalOf(old):
		return actionRenewed, nil
	}
	return actionReplaced, nil
}
