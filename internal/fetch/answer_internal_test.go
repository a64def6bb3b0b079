package fetch

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http/httpguts"
)

// FuzzAnswer: a response that net/http reads is read the same.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y\r\n z\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n",
		"HTTP/1.0 204 \nA:\n\nx", "HTTP/1.1 304 x\r\nContent-Length: 7\r\n\r\n",
		"HTTP/1.1 206 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\nhe\n0\n", "\r\nHTTP/9 999 \r\n\x00: \r\n\r\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ours, err := readAnswer(bufio.NewReader(strings.NewReader(text)))
		var body []byte
		var bodyErr error
		if err == nil && ours.status != http.StatusSwitchingProtocols {
			require.GreaterOrEqual(t, ours.status, 200)
			require.Less(t, ours.status, 1000)
			body, bodyErr = io.ReadAll(ours.body)
			require.LessOrEqual(t, len(body), len(text))
		}
		theirs, theirErr := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if theirErr != nil || theirs.StatusCode < 200 || len(text) > maxHeaderBytes {
			return
		}
		defer func() { _ = theirs.Body.Close() }()
		require.NoError(t, err)
		require.Equal(t, theirs.StatusCode, ours.status)
		for name, values := range theirs.Header {
			// net/http removes the length of chunks, and accepts names with spaces.
			if name != "Content-Length" && httpguts.ValidHeaderFieldName(name) {
				require.Equal(t, values, ours.header[name], name)
			}
		}
		want, wantErr := io.ReadAll(theirs.Body)
		if wantErr == nil {
			require.NoError(t, bodyErr)
			require.Equal(t, string(want), string(body))
		}
	})
}
