package db

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentHasNoNUL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":              "plain",
		"a\x00b\x00":         "a\uFFFDb\uFFFD",
		"\\\x00":             "\\\uFFFD",
		`\u0000`:             `\u0000`,
		`\\u0000`:            `\\u0000`,
		"\xff\xfe invalid":   "\uFFFD\uFFFD invalid",
		"tab\tline\n<&>\x01": "tab\tline\n<&>\x01",
	} {
		doc, err := document("a test", map[string]string{"text": in})
		require.NoError(t, err)
		var out map[string]string
		require.NoError(t, json.Unmarshal(doc, &out))
		require.Equal(t, want, out["text"], "%q", in)
	}
}
