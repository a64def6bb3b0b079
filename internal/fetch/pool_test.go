package fetch

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

var codings = []string{"gzip", "br", "zstd"}

// encoded is a body in a coding, with a window of so many bits where the coding has
// windows.
func encoded(tb testing.TB, coding string, body []byte, window int) []byte {
	tb.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&out)
	case "br":
		w = brotli.NewWriterOptions(&out, brotli.WriterOptions{Quality: 5, LGWin: window})
	case "zstd":
		z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<window))
		require.NoError(tb, err)
		// What is flushed early has a window, as it does not know how long it will be.
		_, err = z.Write(body[:len(body)/2])
		require.NoError(tb, err)
		require.NoError(tb, z.Flush())
		w, body = z, body[len(body)/2:]
	}
	_, err := w.Write(body)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return out.Bytes()
}

// drain forgets all decoders that idle.
func drain() {
	for len(gzips)+len(brotlis)+len(zstds) > 0 {
		select {
		case <-gzips:
		case <-brotlis:
		case <-zstds:
		}
	}
}

// undo decodes at most a megabyte.
func undo(coding string, wire []byte) ([]byte, string) {
	d, err := decode(coding, iotest.OneByteReader(bytes.NewReader(wire)))
	if err != nil {
		return nil, err.Error()
	}
	body, err := io.ReadAll(io.LimitReader(d, 1<<20))
	_ = d.Close()
	if err != nil {
		return body, err.Error()
	}
	return body, ""
}

// A decoder that has read other bodies, broken ones among them, reads as a new one.
func TestDecodersAreUsedAgain(t *testing.T) { //nolint:paralleltest // all share what idles
	rng := rand.New(rand.NewPCG(1, 2))
	page := func(n int) []byte { return []byte(strings.Repeat("a page of some words, ", n)) }
	type body struct{ coding, want, fault, wire string }
	var bodies []body
	for _, coding := range codings {
		for _, n := range []int{0, 1, 3, 100, 5000, 30_000} {
			whole := encoded(t, coding, page(n), 18)
			damaged := bytes.Clone(whole)
			damaged[rng.IntN(len(damaged))] ^= 0x55
			for _, wire := range [][]byte{
				whole, whole[:len(whole)*2/3], damaged, append(bytes.Clone(whole), whole...), append(bytes.Clone(whole), "padding"...),
			} {
				drain()
				want, fault := undo(coding, wire)
				bodies = append(bodies, body{coding, string(want), fault, string(wire)})
			}
		}
	}
	drain()
	for range 600 {
		b := bodies[rng.IntN(len(bodies))]
		got, fault := undo(b.coding, []byte(b.wire))
		require.Equal(t, b.fault, fault)
		require.Equal(t, b.want, string(got))
	}
	for _, coding := range codings {
		undo(coding, encoded(t, coding, page(1), 18))
	}
	require.Len(t, gzips, 1)
	require.Len(t, brotlis, 1)
	require.Len(t, zstds, 1)
}

func TestDecodersThatHaveGrownAreNotKept(t *testing.T) { //nolint:paralleltest // all share what idles
	short, long := []byte("a page"), bytes.Repeat([]byte("page "), maxPooledBody/5+1)
	drain()
	for name, b := range map[string]struct {
		coding string
		wire   []byte
	}{
		"a long body":           {"br", encoded(t, "br", long, 18)},
		"a long body of zstd":   {"zstd", encoded(t, "zstd", long, 18)},
		"a large window":        {"zstd", encoded(t, "zstd", short, 23)},
		"another, large window": {"zstd", append(encoded(t, "zstd", short, 18), encoded(t, "zstd", short, 23)...)},
		"a frame to skip":       {"zstd", append([]byte("\x50\x2a\x4d\x18\x01\x00\x00\x00x"), encoded(t, "zstd", short, 23)...)},
		"a body that ends soon": {"br", encoded(t, "br", short, 18)[:4]},
	} {
		body, fault := undo(b.coding, b.wire)
		require.Equal(t, name == "a body that ends soon", fault != "", name)
		require.True(t, fault != "" || bytes.HasPrefix(body, []byte("a page")) || bytes.Equal(body, long), name)
		require.Empty(t, brotlis, name)
		require.Empty(t, zstds, name)
	}
	undo("br", encoded(t, "br", short, 18))
	undo("zstd", encoded(t, "zstd", short, 18))
	require.Len(t, brotlis, 1)
	require.Len(t, zstds, 1)

	large := newBuffer()
	large.Grow(maxPooledBuffer + 1)
	releaseBuffer(large)
	require.LessOrEqual(t, newBuffer().Cap(), maxPooledBuffer)
}

func FuzzDecode(f *testing.F) {
	for i, coding := range codings {
		f.Add(uint8(i), encoded(f, coding, []byte("a page"), 18), encoded(f, coding, []byte("another page"), 18))
		f.Add(uint8(i), []byte("no such coding"), encoded(f, coding, []byte("another page"), 18))
	}
	f.Fuzz(func(t *testing.T, which uint8, first, second []byte) {
		coding := codings[int(which)%len(codings)]
		drain()
		want, wantFault := undo(coding, second)
		drain()
		undo(coding, first)
		got, fault := undo(coding, second)
		require.Equal(t, wantFault, fault)
		require.Equal(t, want, got)
	})
}

// What a body of 11 KB costs to decode.
func BenchmarkDecode(b *testing.B) {
	page := []byte(strings.Repeat("<p>A page of ordinary length, and of ordinary text.</p>\n", 200))
	for _, coding := range codings {
		b.Run(coding, func(b *testing.B) {
			wire := encoded(b, coding, page, 18)
			b.ReportAllocs()
			b.SetBytes(int64(len(page)))
			for b.Loop() {
				d, err := decode(coding, bytes.NewReader(wire))
				require.NoError(b, err)
				n, err := io.Copy(io.Discard, d)
				require.NoError(b, err)
				require.EqualValues(b, len(page), n)
				require.NoError(b, d.Close())
			}
		})
	}
}
