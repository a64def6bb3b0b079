//go:build unix

package imagestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/imagestore"
)

func init() { roles["denied"] = beDenied } //nolint:gochecknoinits // not on every system

// beDenied uses directories that it may not write or read, without root's rights.
func beDenied(args []string) {
	if os.Getuid() == 0 {
		const nobody = 65534
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody)); err != nil {
			fmt.Println("no rights:", err)
			return
		}
	}
	ctx := context.Background()
	_, err := imagestore.Open(ctx, filepath.Join(args[0], "new"))
	fmt.Println("open:", err)
	s, err := imagestore.Open(ctx, args[0])
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	_, sha := image(1, 1000)
	_, _, err = s.Get(ctx, sha)
	fmt.Println("get:", err)
	fmt.Println("check:", s.Check(ctx, 0))
	_, err = s.List(ctx, func(imagestore.Object) error { return nil })
	fmt.Println("list:", err)
	data, sha := image(2, 1000)
	fmt.Println("put:", put(ctx, s, data, sha))
}

func TestADirectoryWithoutRights(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "images") // where t.TempDir is, nobody else may go
	require.NoError(t, err)
	_, sha := image(1, 1000)
	secret := filepath.Join(dir, sha[:2])
	require.NoError(t, os.Mkdir(secret, 0))
	require.NoError(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700)
		_ = os.RemoveAll(dir)
	})
	out, err := child(t, "denied", nil, dir).Output()
	require.NoError(t, err)
	t.Log(string(out))
	const denied = ": access is denied: give this process read and write permission: "
	require.Contains(t, string(out), "open: open the image store in "+dir+"/new"+denied)
	require.Contains(t, string(out), "get: read image "+sha+" in "+dir+denied)
	require.Contains(t, string(out), "check: write a test object in "+dir+denied)
	require.Contains(t, string(out), "list: list the images in "+dir+denied)
	require.Contains(t, string(out), "put: write image ")
	require.NotContains(t, string(out), crawl.ErrNotFound.Error())
}
