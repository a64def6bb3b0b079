package fetch_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

// encode applies content codings, in their order: "rawdeflate" is deflate as
// the sites send it that misread its definition.
func encode(tb testing.TB, codings string, body []byte) []byte {
	tb.Helper()
	for coding := range strings.SplitSeq(codings, ",") {
		var out bytes.Buffer
		var writer io.WriteCloser
		var err error
		switch strings.TrimSpace(coding) {
		case "gzip", "x-gzip":
			writer = gzip.NewWriter(&out)
		case "br":
			writer = brotli.NewWriter(&out)
		case "zstd":
			writer, err = zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
		case "deflate":
			writer = zlib.NewWriter(&out)
		case "rawdeflate":
			writer, err = flate.NewWriter(&out, flate.BestCompression)
		default:
			continue
		}
		require.NoError(tb, err)
		_, err = writer.Write(body)
		require.NoError(tb, err)
		require.NoError(tb, writer.Close())
		body = out.Bytes()
	}
	return body
}

func TestContentCodings(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("<p>hello, hello</p>\n", 100))

	for name, test := range map[string]struct {
		header, codings string
	}{
		"Gzip":          {"gzip", "gzip"},
		"OldGzip":       {"x-gzip", "gzip"},
		"UpperCase":     {"GZIP", "gzip"},
		"Brotli":        {"br", "br"},
		"Zstd":          {"zstd", "zstd"},
		"Deflate":       {"deflate", "deflate"},
		"BareDeflate":   {"deflate", "rawdeflate"},
		"Twice":         {"gzip, gzip", "gzip,gzip"},
		"TwoDifferent":  {"br, gzip", "br,gzip"},
		"OtherOrder":    {"gzip, zstd", "gzip,zstd"},
		"Identity":      {"identity", ""},
		"IdentityToo":   {"gzip, identity", "gzip"},
		"EmptyHeader":   {"", ""},
		"CharsetInside": {"utf-8", ""},
		"MediaType":     {"text/html", ""},
		"OfAStore":      {"aws-chunked", ""},
		"Unknown":       {"rot13", ""},
		"PlainAsGzip":   {"gzip", ""},
		"PlainAsZstd":   {"zstd", ""},
		"GzipOnce":      {"gzip, gzip", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answerBody(test.header, encode(t, test.codings, page)))
			response, err := newClient(t).Do(t.Context(), s.get("/"))
			require.NoError(t, err)
			require.Equal(t, string(page), string(response.Body))
		})
	}

	t.Run("EmptyBodyInEveryCoding", func(t *testing.T) {
		t.Parallel()
		for _, coding := range []string{"gzip", "br", "zstd", "deflate"} {
			s := serve(t, answerBody(coding, nil))
			response, err := newClient(t).Do(t.Context(), s.get("/"))
			require.NoError(t, err, coding)
			require.Empty(t, response.Body)
		}
	})

	t.Run("GzipInSeveralMembersAndPadding", func(t *testing.T) {
		t.Parallel()
		hello := encode(t, "gzip", []byte("hello"))
		s := serve(t, answerBody("gzip", append(append(hello, hello...), "\x00\x00padding"...)))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Equal(t, "hellohello", string(response.Body))
	})

	t.Run("ImagesOfUnknownCodings", func(t *testing.T) {
		t.Parallel()
		const head = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Encoding: "
		image := "\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
		for _, coding := range []string{"utf-8", "aws-chunked"} {
			response, err := newClient(t).Do(t.Context(), serve(t, answer(head+coding+"\r\n\r\n"+image)).get("/"))
			require.NoError(t, err, coding)
			require.Equal(t, image, string(response.Body))
		}
	})

	t.Run("LimitCountsDecodedBytes", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answerBody("gzip", encode(t, "gzip", page)))
		request := s.get("/")
		request.MaxBodyBytes = 5
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "<p>he", string(response.Body))
		require.True(t, response.Truncated)
	})
}

func TestBrokenCodings(t *testing.T) {
	t.Parallel()
	page := []byte(strings.Repeat("hello", 1000))
	half := func(coding string) []byte {
		whole := encode(t, coding, page)
		return whole[:len(whole)/2]
	}

	for name, test := range map[string]struct {
		header string
		body   []byte
	}{
		"HalfAGzip":           {"gzip", half("gzip")},
		"HalfABrotli":         {"br", half("br")},
		"HalfAZstd":           {"zstd", half("zstd")},
		"HalfADeflate":        {"deflate", half("deflate")},
		"PlainTextAsBrotli":   {"br", []byte("\xff\xff\xff\xff\xff")},
		"OneByteOfGzip":       {"gzip", []byte("\x1f")},
		"HalfASecondMember":   {"gzip", append(encode(t, "gzip", page), half("gzip")...)},
		"GzipWithoutChecksum": {"gzip", encode(t, "gzip", page)[:len(encode(t, "gzip", page))-8]},
		"ThreeCodings":        {"gzip, gzip, gzip", encode(t, "gzip,gzip,gzip", page)},
		"ManyCodings":         {strings.Repeat("gzip,", 1000), page},
		"UnknownCoding":       {"compress", []byte("\x1f\x9d\x90h\xca\xb0\x61\xf3\x06")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, answerBody(test.header, test.body))
			_, err := newClient(t).Do(t.Context(), s.get("/"))
			failure := requireKind(t, fetch.CauseDecode, err)
			require.Equal(t, 200, failure.Status)
		})
	}
}

func TestBombs(t *testing.T) {
	t.Parallel()
	zeros := make([]byte, 8<<20)

	for _, codings := range []string{"gzip", "br", "zstd", "deflate", "gzip,gzip", "zstd,br"} {
		t.Run(strings.ReplaceAll(codings, ",", "In"), func(t *testing.T) {
			t.Parallel()
			s := serve(t, answerBody(codings, encode(t, codings, zeros)))
			_, err := newClient(t).Do(t.Context(), s.get("/"))
			requireKind(t, fetch.CauseBomb, err)
		})
	}

	t.Run("ThatDecodesToNothing", func(t *testing.T) {
		t.Parallel()
		members := bytes.Repeat(encode(t, "gzip", nil), 200_000)
		s := serve(t, answerBody("gzip, gzip", encode(t, "gzip", members)))
		_, err := newClient(t).Do(t.Context(), s.get("/"))
		requireKind(t, fetch.CauseBomb, err)
	})

	t.Run("WithoutEndThatDecodesToNothing", func(t *testing.T) {
		t.Parallel()
		member := string(encode(t, "gzip", nil))
		s := serve(t, func(conn net.Conn) {
			answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")(conn)
			repeat(conn, member)
		})
		request := s.get("/")
		request.MaxBodyBytes = 1000
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.True(t, response.Truncated)
		require.Empty(t, response.Body)
		require.Less(t, response.WireBytes, int64(1<<20))
	})

	t.Run("IsNoneIfTheLimitComesFirst", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answerBody("gzip", encode(t, "gzip", zeros)))
		request := s.get("/")
		request.MaxBodyBytes = 500 << 10
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		require.True(t, response.Truncated)
		require.Len(t, response.Body, 500<<10)
	})

	t.Run("IsNoneInTheFirstMiB", func(t *testing.T) {
		t.Parallel()
		s := serve(t, answerBody("gzip", encode(t, "gzip", zeros[:1<<20])))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Len(t, response.Body, 1<<20)
	})

	t.Run("IsNoneWithinTheRatio", func(t *testing.T) {
		t.Parallel()
		body := append(noise(64<<10), zeros...)
		s := serve(t, answerBody("gzip", encode(t, "gzip", body)))
		response, err := newClient(t).Do(t.Context(), s.get("/"))
		require.NoError(t, err)
		require.Len(t, response.Body, len(body))
	})

	t.Run("WithAnEnormousZstdWindow", func(t *testing.T) {
		t.Parallel()
		// A frame header that asks for a window of 1 GiB, and a raw block.
		frame := []byte("\x28\xb5\x2f\xfd\x00\xa0\x29\x00\x00hello")
		s := serve(t, answerBody("zstd", frame))
		_, err := newClient(t).Do(t.Context(), s.get("/"))
		requireKind(t, fetch.CauseDecode, err)
		require.ErrorIs(t, err, zstd.ErrWindowSizeExceeded)
	})
}
