package fetch

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spool writes a body to a file without a name: prefix and the rest, at most limit bytes. The
// caller closes the file, which frees it. An error of the file is ours, not the site's.
func spool(prefix *bytes.Buffer, source io.Reader, limit int64) (*os.File, int64, error) {
	file, err := createSpool()
	if err != nil {
		return nil, 0, spoolError(err)
	}
	out := &spoolWriter{file: file}
	written, err := io.Copy(out, io.LimitReader(io.MultiReader(bytes.NewReader(prefix.Bytes()), source), limit))
	if out.err != nil {
		err = spoolError(out.err)
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		closeSpool(file)
		return nil, 0, err
	}
	return file, written, nil
}

// createSpool creates a file without a name. closeSpool removes it where an open file keeps its
// name.
func createSpool() (*os.File, error) {
	file, err := os.CreateTemp("", "mosey-body-*")
	if err == nil {
		_ = os.Remove(file.Name())
	}
	return file, err
}

// checkTempFile checks, before anything is sent, whether a body can be stored in a file.
func checkTempFile() error {
	file, err := os.CreateTemp("", "mosey-body-*")
	if err != nil {
		return err
	}
	defer closeSpool(file)
	_, err = file.Write(make([]byte, unsharedBodyBytes))
	return err
}

func spoolError(err error) *Error {
	return fail(CauseLocal, fmt.Sprintf("write a body to a file (in %s, by TMPDIR)", os.TempDir()), err)
}

func closeSpool(file *os.File) {
	_ = file.Close()
	_ = os.Remove(file.Name())
}

// spoolWriter separates an error of the file from one of the connection.
type spoolWriter struct {
	file *os.File
	err  error
}

func (w *spoolWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.err = err
	return n, err
}
