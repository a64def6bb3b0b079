package imagestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

func init() { roles["full"] = fillDisk } //nolint:gochecknoinits // not on every system

// fillDisk mounts a disk of 4 MiB on the directory args[0] and stores more than that there.
func fillDisk(args []string) {
	if err := syscall.Mount("images", args[0], "tmpfs", 0, "size=4m"); err != nil {
		fmt.Println("skip:", err)
		return
	}
	ctx := context.Background()
	s, err := imagestore.Open(ctx, args[0])
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	small, smallSHA := image(1, 1<<20)
	big, bigSHA := image(2, 6<<20)
	fmt.Println("small:", put(ctx, s, small, smallSHA))
	err = put(ctx, s, big, bigSHA)
	fmt.Println("big:", err)
	fmt.Println("no space:", errors.Is(err, syscall.ENOSPC), errors.Is(err, crawl.ErrFull))
	_, _, err = s.Get(ctx, bigSHA)
	fmt.Println("get:", err)
	others, err := s.List(ctx, func(o imagestore.Object) error {
		fmt.Println("there:", o.SHA256)
		return nil
	})
	fmt.Println("others:", others, err)
	fmt.Println("trial of a little:", s.Check(ctx, 0))
	fmt.Println("trial:", s.Check(ctx, 6<<20))
	fmt.Println("again:", put(ctx, s, small[:1<<19], sum(small[:1<<19])))
}

func TestAFullDisk(t *testing.T) {
	t.Parallel()
	cmd := child(t, "full", nil, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, // in which anybody may mount
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	text, err := cmd.Output()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("this machine lets nobody make a namespace to mount a small disk in:", err)
	}
	require.NoError(t, err)
	out := string(text)
	t.Log(out)
	if strings.HasPrefix(out, "skip:") {
		t.Skip("this machine lets nobody mount a small disk:", out)
	}
	_, smallSHA := image(1, 1<<20)
	_, bigSHA := image(2, 6<<20)
	require.Contains(t, out, "small: <nil>\n")
	require.Contains(t, out, "big: write image "+bigSHA+" in ")
	require.Contains(t, out, ": the disk is full: free space on it: ")
	require.Contains(t, out, "no space: true true\n")
	require.Contains(t, out, "get: not found: image "+bigSHA)
	require.Contains(t, out, "there: "+smallSHA+"\nothers: 0 <nil>\n")
	require.Contains(t, out, "trial of a little: <nil>\n")
	require.Contains(t, out, "trial: write a test object in ")
	require.Contains(t, out, "again: <nil>\n", "what was given up takes no room")
}
