package imagestore

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

// location is where a store is.
type location struct {
	driver driver
	// url is that of a bucket; nil for a directory.
	url *url.URL
	// dir is the path of a directory, absolute; empty for a bucket.
	dir string
	// name is what errors call it. It has no credentials.
	name string
}

// Validate checks that a text names a place where images can be kept, as Open reads it. An
// error is crawl.ErrInvalid.
func Validate(where string) error {
	_, err := parseLocation(where)
	return err
}

// parseLocation reads a URL or the path of a directory. An error is crawl.ErrInvalid, and
// quotes of a URL only what can be no secret.
func parseLocation(text string) (location, error) {
	if text == "" {
		return location{}, refuse("images", "no place to keep them is named", "name a directory or a URL")
	}
	scheme, rest, found := strings.Cut(text, ":")
	if _, known := drivers[strings.ToLower(scheme)]; found && known && !strings.HasPrefix(rest, "//") {
		return location{}, refuse(scheme+":…", "two slashes are missing", "write "+scheme+"://")
	}
	if !strings.Contains(text, "://") {
		return directory(text)
	}
	u, err := url.Parse(text)
	if err != nil { // whose text quotes what may be a password
		return location{}, refuse(scheme+"://…", "it cannot be read as a URL",
			"write what is special in a part of it as % and two hexadecimal digits")
	}
	d, known := drivers[u.Scheme]
	name := hidden(u)
	switch {
	case !known:
		return location{}, refuse(name, "nothing is known of "+u.Scheme+"://", "name a directory, or use "+schemes())
	case u.User != nil:
		return location{}, refuse(name, "it has credentials, which end up in logs", d.access)
	}
	if err := checkParams(u, d, name); err != nil {
		return location{}, err
	}
	if u.Scheme == "file" {
		if (u.Host != "" && u.Host != "localhost") || u.Path == "" {
			return location{}, refuse(name, "a file URL has three slashes and an absolute path", "write file:///var/lib/mosey/images")
		}
		return directory(filepath.FromSlash(u.Path))
	}
	if u.Host == "" || u.Port() != "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return location{}, refuse(name, "it names more or less than a bucket", "write "+d.example)
	}
	return location{driver: d, url: u, name: u.String()}, nil
}

func directory(path string) (location, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return location{}, fmt.Errorf("%w: directory %q: %w", crawl.ErrInvalid, path, err)
	}
	return location{driver: drivers["file"], dir: dir, name: dir}, nil
}

// checkParams refuses parameters that the driver does not have: the drivers' own errors
// quote the whole URL.
func checkParams(u *url.URL, d driver, name string) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse(name, "its parameters cannot be read", "write what is special in them as % and two hexadecimal digits")
	}
	for _, param := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(d.params, param) {
			remedy := "leave it out"
			if len(d.params) > 0 {
				remedy = "use " + strings.Join(d.params, ", ")
			}
			return refuse(name, fmt.Sprintf("it has the unknown parameter %q", param[:min(len(param), 50)]), remedy)
		}
	}
	if e, err := url.Parse(query.Get("endpoint")); err != nil || e.User != nil || e.RawQuery != "" || (e.Host == "") != (e.String() == "") {
		return refuse(name, "its endpoint is no address of a service", "write endpoint=https://HOST:PORT, without credentials")
	}
	return nil
}

// hidden is a URL without what may be secret: its credentials, its path and the values of
// its parameters.
func hidden(u *url.URL) string {
	text := u.Scheme + "://"
	if u.User != nil {
		text += "…@"
	}
	text += u.Host
	if strings.Trim(u.Path, "/") != "" {
		text += "/…"
	}
	if u.RawQuery != "" {
		text += "?…"
	}
	return text
}

// schemes lists those that work.
func schemes() string {
	return strings.Join(slices.Sorted(maps.Keys(drivers)), "://, ") + "://"
}

func refuse(name, reason, remedy string) error {
	return fmt.Errorf("%w: images in %s: %s: %s", crawl.ErrInvalid, name, reason, remedy)
}
