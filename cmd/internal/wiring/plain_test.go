package wiring_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	const text = "a\ttitle: \x1b[31mred\x1b]0;x\x07, \u009b31m, \x9b31m, ü ツ 👩‍💻\n\x00second\r line\u202e\n"
	const want = "a\ttitle: [31mred]0;x, 31m, \ufffd31m, ü ツ 👩‍💻\nsecond  line\n"

	var whole, bytewise bytes.Buffer
	n, err := wiring.Plain(&whole).Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	require.Equal(t, want, whole.String())

	_, err = io.Copy(wiring.Plain(&bytewise), iotest.OneByteReader(bytes.NewReader([]byte(text))))
	require.NoError(t, err)
	require.Equal(t, want, bytewise.String(), "characters that are cut are put together")

	require.Same(t, &whole, wiring.Raw(wiring.Plain(wiring.Plain(&whole))))
	require.Same(t, &whole, wiring.Raw(&whole))
	_, err = wiring.Plain(failing{}).Write([]byte("a"))
	require.ErrorIs(t, err, errFull)
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }
