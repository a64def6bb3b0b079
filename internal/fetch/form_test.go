package fetch_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestPost(t *testing.T) {
	t.Parallel()

	t.Run("SendsAForm", func(t *testing.T) {
		t.Parallel()
		type post struct {
			method, mediaType, body string
			length                  int64
		}
		posts := make(chan post, 1)
		s := serve(t, func(conn net.Conn) {
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			body, _ := io.ReadAll(request.Body)
			posts <- post{request.Method, request.Header.Get("Content-Type"), string(body), request.ContentLength}
			_, _ = io.WriteString(conn, "HTTP/1.1 307 Temporary Redirect\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
		})
		request := s.get("/hub")
		request.Form = url.Values{"a": {"b c"}, "d": {"é&"}}
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, http.StatusTemporaryRedirect, response.Status, "it is not followed")
		require.Equal(t, post{http.MethodPost, "application/x-www-form-urlencoded", "a=b+c&d=%C3%A9%26", 17}, <-posts)
	})

	t.Run("IsNotSentAgain", func(t *testing.T) {
		t.Parallel()
		asked := make(chan struct{}, 10)
		s := serve(t, func(conn net.Conn) {
			if _, ok := readHeader(conn); ok {
				asked <- struct{}{}
			}
		})
		request := s.get("/hub")
		request.Form = url.Values{"a": {"b"}}
		_, err := newClient(t).Do(t.Context(), request)
		require.Error(t, err)
		require.Len(t, asked, 1)
	})

	t.Run("IsBounded", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answer("HTTP/1.1 204 No Content\r\n\r\n"))
		request := s.get("/hub")
		request.Form = url.Values{"a": {strings.Repeat("x", 16<<10)}}
		_, err := newClient(t).Do(t.Context(), request)
		var failure *fetch.Error
		require.ErrorAs(t, err, &failure)
		require.Equal(t, fetch.CauseInvalid, failure.Cause)
	})
}
