package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl/report"
)

// Index reads the rows of archived responses.
type Index interface {
	// ArchivedOrigins returns the origins of a run's responses, or with nil of all runs'.
	ArchivedOrigins(ctx context.Context, runID *int64) ([]report.ArchivedOrigin, error)
	// ArchivedResponses returns the responses of an origin, the oldest first.
	ArchivedResponses(ctx context.Context, of report.ArchivedOrigin, runID *int64) ([]report.ArchivedResponse, error)
}

// stampFormat is the format of a time in CDX files and in names of files.
const stampFormat = "20060102150405"

// Response is an archived response with the key of its URL.
type Response struct {
	report.ArchivedResponse

	// Key sorts the URL: see [Key].
	Key string
	// Time is the time of the request as CDX files write it.
	Time string
}

// Each calls yield for the responses of a run, or with nil of all runs, in the order of their keys
// and times. It holds the responses of one origin in memory.
func Each(ctx context.Context, index Index, runID *int64, yield func(Response) error) error {
	origins, err := index.ArchivedOrigins(ctx, runID)
	if err != nil {
		return err
	}
	groups := map[string][]report.ArchivedOrigin{} // origins whose keys begin alike
	for _, o := range origins {
		prefix, _, _ := strings.Cut(Key(o.Origin), "/") // with its last byte: "com,example)" precedes "com,example,a)"
		groups[prefix] = append(groups[prefix], o)
	}
	for _, prefix := range slices.Sorted(maps.Keys(groups)) {
		var group []Response
		for _, o := range groups[prefix] {
			found, err := index.ArchivedResponses(ctx, o, runID)
			if err != nil {
				return err
			}
			for _, r := range found {
				group = append(group, newResponse(r))
			}
		}
		slices.SortStableFunc(group, func(a, b Response) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Time, b.Time)) })
		for _, r := range group {
			if err := yield(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func newResponse(r report.ArchivedResponse) Response {
	r.URL = cmp.Or(r.Archived.URL, r.URL)
	return Response{ArchivedResponse: r, Key: Key(r.URL), Time: r.Archived.At.UTC().Format(stampFormat)}
}

// WriteCDXJ writes the index of a run's responses, or with nil of all runs', as sorted CDXJ. It
// returns the number of lines.
func WriteCDXJ(ctx context.Context, index Index, runID *int64, w io.Writer) (lines int, err error) {
	err = Each(ctx, index, runID, func(r Response) error {
		lines++
		return writeLine(w, r)
	})
	return lines, err
}

// line is the JSON object of a CDXJ line. Numbers are strings, as pywb writes them.
type line struct {
	URL      string `json:"url"`
	Mime     string `json:"mime"`
	Status   string `json:"status"`
	Digest   string `json:"digest"`
	Length   string `json:"length"`
	Offset   string `json:"offset"`
	Filename string `json:"filename"`
}

func writeLine(w io.Writer, r Response) error {
	mediaType, _, err := mime.ParseMediaType(r.ContentType)
	switch {
	case r.Archived.Revisit:
		mediaType = "warc/revisit"
	case err != nil:
		mediaType, _, _ = strings.Cut(r.ContentType, ";")
		mediaType = cmp.Or(strings.TrimSpace(mediaType), "unk")
	}
	if _, err := fmt.Fprintf(w, "%s %s ", r.Key, r.Time); err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(line{
		URL: r.URL, Mime: mediaType, Status: strconv.Itoa(r.StatusCode), Digest: r.Archived.Digest,
		Length: strconv.FormatInt(r.Archived.Length, 10), Offset: strconv.FormatInt(r.Archived.Offset, 10), Filename: r.Archived.File,
	})
}

// www is the prefix of hosts that keys leave out.
var www = regexp.MustCompile(`^(https?://)www\d*\.`)

// Key returns the key of an absolute URL in the Sort-friendly URI Reordering Transform (SURT), as
// pywb and wabac write it. It has the labels of the host in reverse order, without www and scheme.
// The parameters are sorted, and all is in lower case.
func Key(address string) string {
	u, err := url.Parse(strings.ToLower(www.ReplaceAllString(address, "$1")))
	if err != nil || u.Host == "" {
		return address
	}
	key := "[" + u.Hostname() + "]"
	if !strings.Contains(u.Hostname(), ":") { // no IPv6 address
		labels := strings.Split(u.Hostname(), ".")
		slices.Reverse(labels)
		key = strings.Join(labels, ",")
	}
	if u.Port() != "" {
		key += ":" + u.Port()
	}
	key += ")" + cmp.Or(u.EscapedPath(), "/")
	if u.RawQuery != "" {
		parameters := strings.Split(u.RawQuery, "&")
		slices.Sort(parameters)
		key += "?" + strings.Join(parameters, "&")
	}
	return key
}

// isPage reports whether a response belongs in a list of pages.
func (r Response) isPage() bool {
	return r.Kind.Document() && r.StatusCode == http.StatusOK && !r.Archived.Revisit
}
