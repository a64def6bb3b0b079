package imagestore

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

type location struct {
	bucket *url.URL // nil for a directory
	dir    string   // an absolute path; empty for a bucket
	name   string   // for errors, without credentials
}

// remedies are alternatives to the schemes of other programs.
var remedies = map[string]string{
	"gs": "Google Cloud Storage is used over the S3 protocol: create an HMAC key, " + accessS3 + ", and use " +
		"s3://BUCKET?region=auto&endpoint=https://storage.googleapis.com&use_path_style=true",
	"azblob": "Azure Blob Storage has no S3 protocol: name a directory, or a bucket of an S3 service",
}

// Validate checks a URL or a path for Open. An error is crawl.ErrInvalid.
func Validate(location string) error {
	_, err := parseLocation(location)
	return err
}

// parseLocation parses a URL or a path. An error is crawl.ErrInvalid and quotes no secret of a URL.
func parseLocation(text string) (location, error) {
	if text == "" {
		return location{}, refuse("images", "the location is empty", "name a directory or a URL")
	}
	scheme, rest, found := strings.Cut(text, ":")
	if kind := strings.ToLower(scheme); found && (kind == "s3" || kind == "file") && !strings.HasPrefix(rest, "//") {
		return location{}, refuse(scheme+":…", "two slashes are missing", "write "+scheme+"://")
	}
	if !strings.Contains(text, "://") {
		return directoryLocation(text)
	}
	u, err := url.Parse(text)
	if err != nil { // its text may quote a password
		return location{}, refuse(scheme+"://…", "the URL cannot be parsed",
			"percent-encode special characters")
	}
	name := u.Scheme + "://" + u.Host // without the credentials, the path and the parameters
	switch {
	case u.Scheme != "s3" && u.Scheme != "file":
		return location{}, refuse(name, "unknown scheme "+u.Scheme+"://",
			cmp.Or(remedies[u.Scheme], "name a directory, or use file://, s3://"))
	case u.User != nil:
		return location{}, refuse(name, "the URL has credentials, which would end up in logs", accessS3)
	}
	if err := checkParams(u, name); err != nil {
		return location{}, err
	}
	if u.Scheme == "file" {
		if (u.Host != "" && u.Host != "localhost") || u.Path == "" {
			return location{}, refuse(name, "a file URL needs three slashes and an absolute path", "write file:///var/lib/mosey/images")
		}
		return directoryLocation(filepath.FromSlash(u.Path))
	}
	if u.Host == "" || u.Port() != "" || strings.Trim(u.Path, "/") != "" || u.Fragment != "" {
		return location{}, refuse(name, "the URL must name a bucket and nothing else", "write "+exampleS3)
	}
	return location{bucket: u, name: u.String()}, nil
}

func directoryLocation(path string) (location, error) {
	dir, err := filepath.Abs(path)
	if err != nil {
		return location{}, fmt.Errorf("%w: directory %q: %w", crawl.ErrInvalid, path, err)
	}
	return location{dir: dir, name: dir}, nil
}

// checkParams refuses unknown parameters. It quotes only their names.
func checkParams(u *url.URL, name string) error {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return refuse(name, "the parameters of the URL cannot be parsed", "percent-encode special characters")
	}
	known, remedy := paramsS3, "use "+strings.Join(paramsS3, ", ")
	if u.Scheme == "file" {
		known, remedy = nil, "leave it out"
	}
	for _, param := range slices.Sorted(maps.Keys(query)) {
		if !slices.Contains(known, param) {
			return refuse(name, fmt.Sprintf("unknown parameter %q", param[:min(len(param), 50)]), remedy)
		}
	}
	if e, err := url.Parse(query.Get("endpoint")); err != nil || e.User != nil || e.RawQuery != "" || (e.Host == "") != (e.String() == "") {
		return refuse(name, "the endpoint is not the address of a service", "write endpoint=https://HOST:PORT, without credentials")
	}
	return nil
}

func refuse(name, reason, remedy string) error {
	return fmt.Errorf("%w: images in %s: %s: %s", crawl.ErrInvalid, name, reason, remedy)
}
