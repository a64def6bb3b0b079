package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// target is a URL in the form that net/http sends byte for byte, and its port.
type target struct {
	port uint16
	url  *url.URL
}

// parseTarget parses an absolute http or https URL without user information, and drops a fragment.
// It accepts WHATWG paths such as "/100%", and preserves the bytes of the request target.
func parseTarget(raw string) (target, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || (scheme != "http" && scheme != "https") {
		return target{}, errors.New("not an absolute http or https URL")
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil {
		return target{}, fmt.Errorf("authority: %w", err)
	}
	if u.User != nil || u.Hostname() == "" {
		return target{}, errors.New("the authority must be a host and an optional port")
	}
	port, err := portOf(u)
	if err != nil {
		return target{}, err
	}
	if err := setPath(u, path); err != nil {
		return target{}, err
	}
	return target{port: port, url: u}, nil
}

func portOf(u *url.URL) (uint16, error) {
	text := u.Port()
	switch {
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("port: %w", err)
		}
		return uint16(port), nil
	case u.Scheme == "https":
		return 443, nil
	default:
		return 80, nil
	}
}

func setPath(u *url.URL, path string) error {
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("path and query must be printable ASCII")
	}
	if !strings.HasPrefix(path, "//") {
		u.Opaque = path
		return nil
	}
	// net/url parses an opaque "//x" as an authority, but its parsed form is a path.
	path, query, hasQuery := strings.Cut(path, "?")
	unescaped, err := url.PathUnescape(path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	u.Path, u.RawPath = unescaped, path
	u.RawQuery, u.ForceQuery = query, hasQuery
	return nil
}
