package fetch_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/internal/fetch"
)

func TestError(t *testing.T) {
	t.Parallel()

	t.Run("IsItsKindAndItsCause", func(t *testing.T) {
		t.Parallel()
		err := error(&fetch.Error{Cause: fetch.CauseReset, Msg: "the body is incomplete", Err: io.ErrUnexpectedEOF})
		require.ErrorIs(t, err, fetch.CauseReset)
		require.NotErrorIs(t, err, fetch.CauseTimeout)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.EqualError(t, err, "fetch: reset: the body is incomplete: unexpected EOF")
	})

	t.Run("TextIsShortAndValid", func(t *testing.T) {
		t.Parallel()
		for shift := range utf8.UTFMax {
			hostile := strings.Repeat("x", shift) + strings.Repeat("\xff€", 10_000)
			text := (&fetch.Error{Cause: fetch.CauseProtocol, Err: errors.New(hostile)}).Error()
			require.LessOrEqual(t, len(text), 512)
			require.Greater(t, len(text), 500)
			require.True(t, utf8.ValidString(text))
		}
	})
}
