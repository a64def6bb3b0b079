package fetch_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

// noise is a body that no coding makes shorter.
func noise(length int) []byte {
	body := make([]byte, length)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(body) // never fails
	return body
}

func TestBodiesInFiles(t *testing.T) {
	t.Parallel()
	get := func(t *testing.T, coding string, body []byte, most int64) *fetch.Response {
		t.Helper()
		s := serve(t, answerBody(coding, encode(t, coding, body)))
		request := s.get("/")
		request.ToFile, request.MaxBodyBytes = true, most
		response, err := newClient(t).Do(t.Context(), request)
		require.NoError(t, err)
		t.Cleanup(response.Release)
		return response
	}

	for _, coding := range []string{"", "gzip", "zstd"} {
		t.Run("KeepsALongOne"+coding, func(t *testing.T) {
			t.Parallel()
			body := noise(1 << 20)
			response := get(t, coding, body, 2<<20)
			require.Nil(t, response.Body)
			require.False(t, response.Truncated)
			require.EqualValues(t, len(body), response.FileSize)
			kept, err := io.ReadAll(response.File)
			require.NoError(t, err)
			require.True(t, bytes.Equal(body, kept))
			require.NoFileExists(t, response.File.Name(), "what a killed process leaves is nothing")
			file := response.File
			response.Release()
			require.Nil(t, response.File)
			require.ErrorIs(t, file.Close(), os.ErrClosed)
		})
	}

	t.Run("KeepsAShortOneInMemory", func(t *testing.T) {
		t.Parallel()
		response := get(t, "", noise(60<<10), 2<<20)
		require.Nil(t, response.File)
		require.Len(t, response.Body, 60<<10)
	})

	t.Run("RefusesOneOfAnUnknownCoding", func(t *testing.T) {
		t.Parallel()
		request := serve(t, answerBody("compress", noise(1<<20))).get("/")
		request.ToFile = true
		_, err := newClient(t).Do(t.Context(), request)
		requireKind(t, fetch.CauseDecode, err)
	})

	t.Run("CutsOneThatIsTooLong", func(t *testing.T) {
		t.Parallel()
		response := get(t, "", noise(1<<20), 500_000)
		require.True(t, response.Truncated)
		require.EqualValues(t, 500_000, response.FileSize)
	})
}

// A disk of ours that is full, or not there, is not the site's fault.
func TestBodiesInFilesWithoutADirectory(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	s := serve(t, answerBody("", noise(1<<20)))
	request := s.get("/")
	request.ToFile = true
	_, err := newClient(t).Do(t.Context(), request)
	failure := new(fetch.Error)
	require.ErrorAs(t, err, &failure)
	require.Equal(t, fetch.CauseLocal, failure.Cause)
	require.ErrorIs(t, err, os.ErrNotExist)
}
