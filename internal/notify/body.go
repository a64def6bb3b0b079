package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl"
)

const (
	// bodyMost bounds a body: that of 10,000 URLs of 800 bytes.
	bodyMost = 8 << 20
	// bodyWithin is how long a body may take.
	bodyWithin = 15 * time.Second
)

// list is a list of URLs that is not read past one more than there may be.
type list []string

// UnmarshalJSON reads an array of strings.
func (l *list) UnmarshalJSON(data []byte) error {
	*l = nil
	dec := json.NewDecoder(bytes.NewReader(data))
	if start, err := dec.Token(); err != nil || start != json.Delim('[') {
		return errors.New("want an array of URLs")
	}
	for dec.More() && len(*l) <= crawl.NoticeURLsMax {
		var url string
		if err := dec.Decode(&url); err != nil {
			return err
		}
		*l = append(*l, url)
	}
	return nil
}

// body is the body of a POST. IndexNow calls the list urlList, and /api/recrawl calls it urls.
type body struct {
	Host        string `json:"host"`
	Key         string `json:"key"`
	KeyLocation string `json:"keyLocation"` //nolint:tagliatelle // as IndexNow has it
	URLList     list   `json:"urlList"`     //nolint:tagliatelle // as IndexNow has it
	URLs        list   `json:"urls"`
}

// posted reads the body of a POST, which is bounded in size and time.
func (s *Server) posted(w http.ResponseWriter, r *http.Request, by string) (told, *problem) {
	if r.ContentLength > bodyMost {
		w.Header().Set("Connection", "close")
		return told{}, tooLarge()
	}
	// a writer of a test may have no deadline
	err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(s.bodyWithin))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return told{}, problemf(http.StatusBadRequest, "the body cannot be read")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMost))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return told{}, tooLarge()
	}
	if err != nil {
		return told{}, problemf(http.StatusBadRequest, "the body cannot be read, or takes longer than %s", s.bodyWithin)
	}
	var b body
	if err := json.Unmarshal(data, &b); err != nil {
		return told{}, problemf(http.StatusBadRequest, "the body is not JSON of the form {host, key, keyLocation, urlList}")
	}
	return told{host: b.Host, key: b.Key, keyLocation: b.KeyLocation, urls: append(b.URLList, b.URLs...), by: by}, nil
}

func tooLarge() *problem {
	return problemf(http.StatusRequestEntityTooLarge, "the body is larger than %d MiB: send fewer URLs at once", bodyMost>>20)
}
