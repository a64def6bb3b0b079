package payloads_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"github.com/mosey-web/mosey/internal/payloads"
)

// line is that of a new key.
func line(id string) string {
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	return id + " " + base64.StdEncoding.EncodeToString(key) + "\n"
}

func read(t *testing.T, text string) *payloads.Keys {
	t.Helper()
	keys, err := payloads.Read(strings.NewReader(text))
	require.NoError(t, err)
	return keys
}

func TestEncrypts(t *testing.T) {
	t.Parallel()
	old, fresh := line("old"), line("new")
	before, after := read(t, "# ours\n\n"+old), read(t, fresh+old)
	const text = "https://example.org/secret"

	was, err := payloads.Converter(before).ToPayload(text)
	require.NoError(t, err)
	require.Equal(t, "old", payloads.KeyOf(was))
	require.False(t, bytes.Contains(was.GetData(), []byte("example")))
	again, err := payloads.Converter(before).ToPayload(text)
	require.NoError(t, err)
	require.NotEqual(t, was.GetData(), again.GetData(), "each has a nonce of its own")

	is, err := payloads.Converter(after).ToPayload(text)
	require.NoError(t, err)
	require.Equal(t, "new", payloads.KeyOf(is), "the first encrypts")
	plain, err := converter.GetDefaultDataConverter().ToPayload(text)
	require.NoError(t, err)
	require.Empty(t, payloads.KeyOf(plain))
	for _, p := range []*commonpb.Payload{was, is, plain} {
		var got string
		require.NoError(t, payloads.Converter(after).FromPayload(p, &got))
		require.Equal(t, text, got, "all decrypt, and what is plain is read")
	}

	var missing *payloads.KeyError
	var got string
	require.ErrorAs(t, payloads.Converter(before).FromPayload(is, &got), &missing)
	require.Equal(t, &payloads.KeyError{Key: "new"}, missing)
	require.ErrorAs(t, payloads.Converter(nil).FromPayload(is, &got), &missing)
	require.ErrorAs(t, payloads.Converter(read(t, line("new"))).FromPayload(is, &got), &missing)
	require.Equal(t, &payloads.KeyError{Key: "new", Wrong: true}, missing)
	require.PanicsWithError(t, (&payloads.KeyError{Key: "new"}).Error(), func() {
		_ = payloads.WorkerConverter(before).FromPayload(is, &got)
	})

	for _, damaged := range [][]byte{nil, is.GetData()[:11], append(is.GetData()[:len(is.GetData())-1:len(is.GetData())-1], 0)} {
		p := &commonpb.Payload{Metadata: is.GetMetadata(), Data: damaged}
		if bytes.Equal(damaged, is.GetData()) {
			continue
		}
		require.ErrorAs(t, payloads.Converter(after).FromPayload(p, &got), &missing)
		require.True(t, missing.Wrong)
	}
}

func TestFailuresAreEncrypted(t *testing.T) {
	t.Parallel()
	keys := read(t, line("k1"))
	failures := payloads.Failures(keys, payloads.Converter(keys))
	f := failures.ErrorToFailure(errors.New("no answer from https://example.org/"))
	require.NotContains(t, f.String(), "example")
	require.ErrorContains(t, failures.FailureToError(f), "https://example.org/")
	plain := payloads.Failures(nil, payloads.Converter(nil)).ErrorToFailure(errors.New("no answer"))
	require.Equal(t, "no answer", plain.GetMessage())
	require.ErrorContains(t, failures.FailureToError(plain), "no answer")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	key := strings.Fields(line("k"))[1]
	for text, want := range map[string]string{
		"":                    "no key: ",
		"# k1\n":              "no key: ",
		key + "\n":            "line 1: 1 words: want two",
		"# a\nk 1 2\n":        "line 2: 3 words: want two",
		key + " k1\n":         "line 1: the first word is the name of the key",
		"k1 nothing!\n":       "line 1: the second word is the key: want base64",
		"k1 c2hvcnQ=\n":       "line 1: the key has 5 bytes: want 32",
		line("a") + line("a"): "line 2: there is a key a above",
		"k/1 " + key + "\n":   "line 1: the first word is the name",
		"k1 " + key + "x":     "line 1: the second word is the key",
	} {
		_, err := payloads.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), key[:8], "no key is told")
	}
}

func TestReadFile(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "payload.keys")
	_, err := payloads.ReadFile(name)
	require.ErrorContains(t, err, name+": no such file")
	require.NoError(t, os.WriteFile(name, []byte(line("k1")), 0o600))
	for mode, open := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o644: false, 0o660: false, 0o604: false} {
		require.NoError(t, os.Chmod(name, mode))
		keys, err := payloads.ReadFile(name)
		if open {
			require.NoError(t, err)
			require.Equal(t, "k1", keys.First())
		} else {
			require.ErrorContains(t, err, "chmod 600 "+name)
		}
	}
}

func FuzzDecode(f *testing.F) {
	keys, err := payloads.Read(strings.NewReader(line("k")))
	require.NoError(f, err)
	p, err := payloads.Converter(keys).ToPayload("text")
	require.NoError(f, err)
	f.Add(p.GetData(), "k")
	f.Add([]byte{}, "")
	f.Fuzz(func(_ *testing.T, data []byte, id string) {
		_, _ = keys.Decode([]*commonpb.Payload{{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/encrypted"), "encryption-key-id": []byte(id)}, Data: data,
		}})
	})
}
