package fetch_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Browsers show all these pages, and net/http none of them.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	const ok, hello = "HTTP/1.1 200 OK\r\n", "<p>hello</p>"
	const chunks = "5\r\n<p>he\r\n7\r\nllo</p>\r\n0\r\n\r\n"
	for name, text := range map[string]string{
		"ChunkedTwice":         ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks,
		"ChunkedTwiceInALine":  ok + "Transfer-Encoding: chunked, Chunked\r\n\r\n" + chunks,
		"ChunkedAndALength":    ok + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n" + chunks,
		"ChunkedBy1.0":         "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + hello,
		"Identity":             ok + "Transfer-Encoding: identity\r\n\r\n" + hello,
		"IdentityAndALength":   ok + "Transfer-Encoding: identity\r\nContent-Length: 12\r\n\r\n" + hello + "more",
		"UnknownTransfer":      ok + "Transfer-Encoding: deflated\r\n\r\n" + hello,
		"NameWithAHyphen":      ok + "Content\u2010Security: x\r\nContent-Length: 12\r\n\r\n" + hello,
		"NameWithASpace":       ok + "A B: x\r\nContent-Length : 12\r\n\r\n" + hello + "more",
		"EmptyName":            ok + ": x\r\n folded\r\n\r\n" + hello,
		"LineWithoutColon":     ok + "no colon here\r\n\r\n" + hello,
		"FoldedFirstLine":      ok + " folded: x\r\n\r\n" + hello,
		"NULInAValue":          ok + "A: b\x00c\r\n\r\n" + hello,
		"LengthOfLetters":      ok + "Content-Length: aaah\r\n\r\n" + hello,
		"NegativeLength":       ok + "Content-Length: -1\r\n\r\n" + hello,
		"EmptyLength":          ok + "Content-Length:\r\n\r\n" + hello,
		"LengthWithAUnit":      ok + "Content-Length: 12 bytes\r\n\r\n" + hello,
		"HugeLength":           ok + "Content-Length: 99999999999999999999\r\n\r\n" + hello,
		"LengthTwiceInALine":   ok + "Content-Length: 12, 12\r\n\r\n" + hello + "more",
		"ChunkLinesOfLF":       ok + "Transfer-Encoding: chunked\r\n\r\n5\n<p>he\n7\nllo</p>\n0\n\n",
		"ChunkSizeWithSpaces":  ok + "Transfer-Encoding: chunked\r\n\r\n5  \r\n<p>he\r\n 7;a=\"b\"\r\nllo</p>\r\n0\r\n\r\n",
		"ChunksWithoutLastEnd": ok + "Transfer-Encoding: chunked\r\n\r\nc\r\n" + hello + "\r\n0\r\n",
		"EndlessTrailer":       ok + "Transfer-Encoding: chunked\r\n\r\n" + chunks[:len(chunks)-2] + "A: b\r\nC\r\n",
		"LinesOfLF":            "HTTP/1.1 200 OK\nContent-Length: 12\n\n" + hello + "more",
		"EmptyLinesFirst":      "\r\n\r\n" + ok + "\r\n" + hello,
		"VersionTwo":           "HTTP/2 200\r\nContent-Length: 12\r\n\r\n" + hello,
		"LowerCase":            "http/1.1 200 ok\r\n\r\n" + hello,
		"ManySpaces":           "HTTP/1.1   200   OK\r\n\r\n" + hello,
		"NoSpaceAfterStatus":   "HTTP/1.1 200OK\r\n\r\n" + hello,
		"WholeAsPart":          "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-11/12\r\n\r\n" + hello,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response, err := newClient(t).Do(t.Context(), serve(t, answer(text)).get("/"))
			require.NoError(t, err)
			require.Equal(t, hello, string(response.Body))
			require.False(t, response.Truncated)
		})
	}

	t.Run("KeepsTheOtherLines", func(t *testing.T) {
		t.Parallel()
		text := ok + "\u2010: x\r\nx-a:  b\tc \r\n\td\r\nX-A: e\r\nA\r\n f\r\nContent-Type:text/html\rx\r\n\r\n"
		response, err := newClient(t).Do(t.Context(), serve(t, answer(text)).get("/"))
		require.NoError(t, err)
		require.Equal(t, http.Header{"X-A": {"b\tc d", "e"}, "Content-Type": {"text/html x"}}, response.Header)
	})

	t.Run("TLSWithRSAKeyExchange", func(t *testing.T) {
		t.Parallel()
		authority := newAuthority(t)
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		require.NoError(t, err)
		der, err := x509.CreateCertificate(rand.Reader, newTemplate(), authority.cert, key.Public(), authority.key)
		require.NoError(t, err)
		s := serve(t, func(conn net.Conn) {
			secure := tls.Server(conn, &tls.Config{
				Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
				MinVersion:   tls.VersionTLS12, MaxVersion: tls.VersionTLS12,
				CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA},
			})
			answer(ok + "Content-Length: 12\r\n\r\n" + hello)(secure)
			_ = secure.Close()
		})
		response, err := newClient(t, authority.trust).Do(t.Context(), s.getTLS())
		require.NoError(t, err)
		require.Equal(t, hello, string(response.Body))
	})
}
