package postgres

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/mosey-web/mosey/internal/files"
)

// BaseBackup writes the files of a running cluster as one tar. url is the result of URL. The tar
// includes the write-ahead log, so that Unpack restores the consistent state at the end of the
// backup. Postgres verifies the checksums of all blocks and sends the tar, as it does for
// pg_basebackup, which some installations lack. See BASE_BACKUP in the chapter "Streaming
// Replication Protocol" of the Postgres 15 manual. BaseBackup reports the bytes written to
// progress.
func BaseBackup(ctx context.Context, url string, w io.Writer, progress func(written int64)) error {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return fmt.Errorf("read the address of the database: %w", err)
	}
	config.RuntimeParams["replication"] = "true"
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("request a backup: %w", err)
	}
	// The session's end cannot change whether the backup is complete.
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Conn().Close() }) // unblocks a read
	defer stop()
	// The slot retains the log that is written meanwhile. It ends with the session.
	slot := "mosey_backup_" + strconv.FormatUint(uint64(conn.PID()), 10)
	if _, err := conn.Exec(ctx, "CREATE_REPLICATION_SLOT "+slot+" TEMPORARY PHYSICAL RESERVE_WAL").ReadAll(); err != nil {
		return fmt.Errorf("request a backup: %w", err)
	}
	front := conn.Frontend()
	front.SendQuery(&pgproto3.Query{String: "BASE_BACKUP (LABEL 'mosey backup', CHECKPOINT 'fast', WAL true, MANIFEST 'no')"})
	if err := front.Flush(); err != nil {
		return fmt.Errorf("request a backup: %w", err)
	}
	r := baseReceiver{w: w, progress: progress}
	for {
		message, err := front.Receive()
		if err != nil {
			return fmt.Errorf("receive the backup: %w", errors.Join(context.Cause(ctx), err))
		}
		done, err := r.take(message)
		if err != nil || done {
			return err
		}
	}
}

type baseReceiver struct {
	w        io.Writer
	progress func(int64)
	written  int64
	archives int
}

// take handles a message. done is set after the last message.
func (r *baseReceiver) take(message pgproto3.BackendMessage) (done bool, err error) {
	switch m := message.(type) {
	case *pgproto3.ErrorResponse:
		return true, fmt.Errorf("make the backup: %w", pgconn.ErrorResponseToPgError(m))
	case *pgproto3.ReadyForQuery:
		if r.archives != 1 {
			return true, fmt.Errorf("make the backup: Postgres sent %d archives, want 1", r.archives)
		}
		return true, nil
	case *pgproto3.CopyData:
		return false, r.data(m.Data)
	}
	return false, nil // rows with log positions, and their framing
}

// data handles a copy message. Its first byte is its type.
func (r *baseReceiver) data(data []byte) error {
	if len(data) == 0 {
		return errors.New("receive the backup: an empty message")
	}
	switch kind, rest := data[0], data[1:]; kind {
	case 'n': // an archive begins
		name, _, _ := bytes.Cut(rest, []byte{0})
		if r.archives++; r.archives > 1 {
			return fmt.Errorf("the database has an additional tablespace (%s): move its tables back, or back it up with pg_basebackup", name)
		}
	case 'd':
		if _, err := r.w.Write(rest); err != nil {
			return err
		}
		r.written += int64(len(rest))
		r.progress(r.written)
	case 'p':
		if len(rest) != 8 || binary.BigEndian.Uint64(rest) > 1<<62 {
			return errors.New("receive the backup: a malformed progress message")
		}
	default:
		return fmt.Errorf("receive the backup: a message of unknown kind %q", kind)
	}
	return nil
}

// Password returns the password of a cluster for a backup. The cluster itself only stores a hash.
func Password(dir string) (string, error) {
	text, err := os.ReadFile(passwordFile(dir))
	if err != nil {
		return "", fmt.Errorf("read the password of the database: %w", err)
	}
	return string(text), nil
}

// Unpack creates the cluster of a data directory, which must have none, from the tar and password
// of a BaseBackup. It does not sync the files: Postgres does so before recovery
// (SyncDataDirectory). Until a Postgres has started and stopped there, the directory is incomplete.
func Unpack(ctx context.Context, dir, password string, archive io.Reader) error {
	user, err := chooseAccount(dir)
	if err != nil {
		return err
	}
	home := ClusterDir(dir)
	if err := user.canReach(home); err != nil {
		return err
	}
	if err := unpackCluster(ctx, dir, user, password, archive); err != nil {
		return fmt.Errorf("unpack the database: %w", err)
	}
	return files.SyncDirectory(home)
}

func unpackCluster(
	ctx context.Context, dir string, user account, password string, archive io.Reader,
) (err error) {
	for _, path := range []string{ClusterDir(dir), dataDir(dir)} {
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
		if err := user.chown(path); err != nil {
			return err
		}
	}
	if err := replaceFile(passwordFile(dir), password, user); err != nil {
		return err
	}
	root, err := os.OpenRoot(dataDir(dir)) // confines all names in the archive
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	in := tar.NewReader(archive)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		if err := unpackEntry(root, user, dataDir(dir), header, in); err != nil {
			return err
		}
	}
}

func unpackEntry(root *os.Root, user account, data string, header *tar.Header, in io.Reader) error {
	name := filepath.Clean(filepath.FromSlash(header.Name))
	switch header.Typeflag {
	case tar.TypeDir:
		if name == "." {
			return nil
		}
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, in)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is neither a file nor a folder", header.Name)
	}
	return user.chown(filepath.Join(data, name))
}
