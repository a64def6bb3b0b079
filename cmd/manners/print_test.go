package main

import (
	"bytes"
	"io"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	const text = "a\ttitle: \x1b[31mred\x1b]0;x\x07, \u009b31m, \x9b31m, ü ツ 👩‍💻\n\x00second\r line\u202e\n"
	const want = "a\ttitle: [31mred]0;x, 31m, \ufffd31m, ü ツ 👩‍💻\nsecond  line\n"

	var whole, bytewise bytes.Buffer
	n, err := (&plainWriter{to: &whole}).Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, len(text), n)
	require.Equal(t, want, whole.String())

	_, err = io.Copy(&plainWriter{to: &bytewise}, iotest.OneByteReader(bytes.NewReader([]byte(text))))
	require.NoError(t, err)
	require.Equal(t, want, bytewise.String(), "characters that are cut are put together")
	require.Equal(t, "a title: [31mred", oneLine("a\ttitle: \x1b[31mred"))
}
