package imagestore_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// roles are the functions that a child process can run, by name.
var roles = map[string]func(args []string){"put": putSlowly, "use": use}

const slowBytes = 20 << 20

// putSlowly puts an image into the store args[0]. It reports each written MiB, and waits for
// permission to read the next.
func putSlowly(args []string) {
	data, sha := image(1, slowBytes)
	s, err := imagestore.Open(context.Background(), args[0])
	if err == nil {
		err = s.Put(context.Background(), sha, &slow{Reader: bytes.NewReader(data), leave: bufio.NewReader(os.Stdin)}, slowBytes, "image/png")
	}
	fmt.Println("done", err)
}

type slow struct {
	*bytes.Reader

	leave  *bufio.Reader
	passes int
	read   int
}

func (s *slow) Seek(offset int64, whence int) (int64, error) {
	s.passes++
	return s.Reader.Seek(offset, whence)
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if s.passes < 2 {
		return n, err
	}
	for before, after := s.read>>20, (s.read+n)>>20; before < after; before++ {
		fmt.Println("read", before+1)
		if _, err := s.leave.ReadByte(); err != nil {
			return 0, err
		}
	}
	s.read += n
	return n, err
}

// killAt runs putSlowly and kills it when it has read so many MiB, and says so or not.
func killAt(t *testing.T, where string, mib int) {
	t.Helper()
	cmd := child(t, "put", []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}, where)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for i := 1; i <= mib; i++ {
		require.True(t, lines.Scan())
		require.Equal(t, fmt.Sprint("read ", i), lines.Text())
		if i < mib || mib == slowBytes>>20 {
			_, err = in.Write([]byte{'\n'})
			require.NoError(t, err)
		}
	}
	require.NoError(t, cmd.Process.Kill()) // SIGKILL
	_ = cmd.Wait()                         // which says that it was killed
}

func TestAKilledProcess(t *testing.T) {
	t.Parallel()
	data, sha := image(1, slowBytes)

	// requireWholeOrNot asserts that an image is stored whole or not at all, and that it can
	// be put.
	requireWholeOrNot := func(t *testing.T, s *imagestore.Store, mib int) {
		t.Helper()
		objects, others := list(t, s)
		require.Zero(t, others, "what is left is told from what is others'")
		objects = slices.DeleteFunc(objects, func(o imagestore.Object) bool { return o.Leftover })
		if mib < slowBytes>>20 {
			require.Empty(t, objects)
		}
		if len(objects) == 0 {
			requireMissing(t, s, sha)
		} else {
			requireStored(t, s, data, sha)
		}
		require.NoError(t, put(t.Context(), s, data, sha))
		requireStored(t, s, data, sha)
	}
	for _, mib := range []int{1, 10, 18, 20} {
		t.Run(fmt.Sprintf("LeavesNothingHalfInADirectoryAfter%dMiB", mib), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			killAt(t, dir, mib)
			requireWholeOrNot(t, open(t, dir), mib)
		})
		t.Run(fmt.Sprintf("LeavesNothingHalfInABucketAfter%dMiB", mib), func(t *testing.T) {
			t.Parallel()
			server := newS3(t)
			killAt(t, server.url(bucket), mib)
			server.rest(t)
			requireWholeOrNot(t, open(t, server.url(bucket)), mib)
		})
	}

	t.Run("LeavesNothingHalfInABucketWhileItSends", func(t *testing.T) {
		t.Parallel()
		server := newS3(t)
		cmd := child(t, "put", []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}, server.url(bucket))
		cmd.Stdin = strings.NewReader(strings.Repeat("\n", slowBytes>>20))
		sending := make(chan struct{}, 10)
		server.on(func(_ http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				_, _ = io.CopyN(io.Discard, r.Body, 9<<20)
				sending <- struct{}{}
				_, _ = io.Copy(io.Discard, r.Body)
			}
		})
		require.NoError(t, cmd.Start())
		<-sending
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait()
		server.before.Store(nil)
		server.rest(t)
		requireWholeOrNot(t, open(t, server.url(bucket)), 0)
	})
}

// use opens the store args[0] and uses it, and prints what happens.
func use(args []string) {
	span, err := time.ParseDuration(os.Getenv("SPAN"))
	if err != nil {
		span = time.Hour
	}
	s, err := imagestore.Open(context.Background(), args[0])
	fmt.Println("open:", err)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), span)
	defer cancel()
	_, sha := image(1, 1000)
	_, _, err = s.Get(ctx, sha)
	fmt.Println("get:", err)
	fmt.Println("check:", s.Check(ctx, 0))
}

// TestWithoutCredentials needs neither a network nor accounts.
func TestWithoutCredentials(t *testing.T) {
	t.Parallel()
	const nobody = "127.0.0.1:1" // listens there: any free port could become another test's
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	silent := listener.Addr().String() // takes connections, and says nothing
	profile := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(profile,
		[]byte("[profile crawler]\nregion = x\naws_access_key_id = id\naws_secret_access_key = hunter2\n"), 0o600))
	no := []string{"AWS_EC2_METADATA_DISABLED=true"}
	for name, c := range map[string]struct {
		where string
		env   []string
		want  []string
	}{
		"S3NeedsARegion":     {"s3://images", no, []string{"open: open the image store in s3://images: the region is missing", "AWS_REGION"}},
		"S3NeedsCredentials": {"s3://images?region=eu-central-1", no, []string{"open: open", "no credentials: set AWS_ACCESS_KEY_ID"}},
		"S3RefusesNonsense":  {"s3://images?region=eu-central-1&use_path_style=perhaps", no, []string{"open: open", "use_path_style"}},
		"S3IsAskedUntilTheContextEnds": {
			"s3://images?region=x&anonymous=true&use_path_style=true&endpoint=http://" + silent,
			append(no, "SPAN=1s"),
			[]string{"open: <nil>", "get: read image", "it was canceled", "check: write a test object"},
		},
		"S3SaysThatNobodyListens": {
			"s3://images?region=x&use_path_style=true&endpoint=http://" + nobody,
			append(no, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=hunter2"),
			[]string{"open: <nil>", "get: read image", "the service cannot be reached", "check: write a test object"},
		},
		"S3NeedsTheProfile": {
			"s3://images?region=x&profile=crawler", no,
			[]string{"open: open the image store in s3://images?region=x&profile=crawler: ", "crawler"},
		},
		"S3ReadsAProfile": {
			"s3://images?profile=crawler&use_path_style=true&endpoint=http://" + nobody,
			append(no, "AWS_CONFIG_FILE="+profile),
			[]string{"open: <nil>"},
		},
		"S3AssumesARole": {
			"s3://images?region=x&role=arn:aws:iam::1:role/crawler",
			append(no, "AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=hunter2", "AWS_ENDPOINT_URL=http://"+nobody),
			[]string{"open: open", "no credentials", "AssumeRole"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := child(t, "use", c.env, c.where).Output()
			require.NoError(t, err)
			t.Log(string(out))
			for _, want := range c.want {
				require.Contains(t, string(out), want)
			}
			require.NotContains(t, string(out), "hunter2")
			require.NotContains(t, string(out), crawl.ErrNotFound.Error())
		})
	}
}
