package imagestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/mosey-web/mosey/crawl"
)

// ErrCorrupt reports bytes that do not match their key. Delete the object and put the image again.
var ErrCorrupt = errors.New("the stored bytes differ from the image")

const (
	// detailBytesMax caps a quotation of a service's response.
	detailBytesMax = 600
	// noBucket is S3's code for a missing bucket.
	noBucket = "NoSuchBucket"
)

type failure struct {
	text string
	err  error
}

func (f *failure) Error() string { return f.text }
func (f *failure) Unwrap() error { return f.err }

func (f *failure) Is(target error) bool { return target == crawl.ErrFull && isFull(f.err) }

// isFull reports whether a store is full. Services use different codes for that.
func isFull(err error) bool {
	status, code := serviceError(err)
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || status == http.StatusInsufficientStorage ||
		strings.Contains(code, "StorageFull") || strings.Contains(code, "QuotaExceeded") // MinIO's codes
}

// describeFailure describes the failed operation, the reason and the remedy. It wraps err.
func (s *Store) describeFailure(operation string, err error) error {
	text := fmt.Sprintf("%s in %s: ", operation, s.name)
	if cause := reason(err); cause != "" {
		text += cause + ": "
	}
	return &failure{text: text + detail(err), err: err}
}

// serviceError returns the HTTP status, or 0, and the code of a service's error.
func serviceError(err error) (status int, code string) {
	response, _ := errors.AsType[minio.ErrorResponse](err)
	return response.StatusCode, response.Code
}

// isMissing reports whether the object, rather than its bucket, is missing.
func isMissing(err error) bool {
	status, code := serviceError(err)
	return errors.Is(err, fs.ErrNotExist) || status == http.StatusNotFound && code != noBucket
}

// endsBefore reports whether an object ends before the requested bytes.
func endsBefore(err error) bool {
	status, _ := serviceError(err)
	return status == http.StatusRequestedRangeNotSatisfiable
}

// reason returns the cause of a failure and its remedy, if known.
func reason(err error) string {
	status, code := serviceError(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "it was canceled"
	case isFull(err):
		return "the disk is full: free space on it"
	case errors.Is(err, syscall.EROFS):
		return "the disk is mounted read-only: mount it for writing"
	case errors.Is(err, fs.ErrPermission):
		return "access is denied: give this process read and write permission"
	case code == noBucket:
		return "the bucket does not exist: create it"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "the service denies access: check the credentials and their permissions to read, write, list and delete objects"
	case status == http.StatusTooManyRequests, status == http.StatusServiceUnavailable:
		return "the service is overloaded: try again later"
	case status == 0 && isUnreachable(err):
		return "the service cannot be reached: check the network and its address"
	default:
		return ""
	}
}

// isUnreachable reports whether a service did not respond.
func isUnreachable(err error) bool {
	_, op := errors.AsType[*net.OpError](err)
	_, dns := errors.AsType[*net.DNSError](err)
	_, web := errors.AsType[*url.Error](err)
	return op || dns || web || errors.Is(err, io.ErrUnexpectedEOF)
}

// detail returns the text of an error on one line of limited length.
func detail(err error) string {
	text := strings.Join(strings.Fields(err.Error()), " ")
	if len(text) > detailBytesMax {
		text = strings.ToValidUTF8(text[:detailBytesMax], "") + "…"
	}
	return text
}
