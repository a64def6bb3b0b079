package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/mosey-web/mosey/crawl"
)

// Verification counts the responses that were compared with their rows.
type Verification struct {
	Responses int   `json:"responses"`
	Files     int   `json:"files"`
	Bytes     int64 `json:"bytes"`
	// Damaged counts records that are missing or differ.
	Damaged int `json:"damaged"`
}

// Verify compares the records of a run's responses, or with nil of all runs', with their rows and
// their digests. It calls onDamage for each damaged record, and onProgress after each record.
func Verify(
	ctx context.Context, from Place, index Index, runID *int64, onDamage func(r Response, err error), onProgress func(Verification),
) (v Verification, err error) {
	files := map[string]bool{}
	err = Each(ctx, index, runID, func(r Response) error {
		v.Responses++
		v.Bytes += r.Archived.Length
		files[r.Archived.File] = true
		v.Files = len(files)
		err := check(ctx, from, r)
		if errors.Is(err, ErrDamaged) || errors.Is(err, crawl.ErrNotFound) {
			v.Damaged++
			onDamage(r, err)
			err = nil
		}
		onProgress(v)
		return err
	})
	return v, err
}

// check compares a record with its row.
func check(ctx context.Context, from Place, r Response) error {
	kind := "response"
	if r.Archived.Revisit {
		kind = "revisit"
	}
	return readRecord(ctx, from, r.Archived, func(s *storedRecord) error {
		_, digest, err := digestOf(s.block)
		if err != nil {
			return err
		}
		for _, field := range [][2]string{
			{"WARC-Type", kind},
			{"WARC-Target-URI", r.URL},
			{"WARC-Payload-Digest", r.Archived.Digest},
			{"WARC-Date", timestamp(r.Archived.At)},
			{"WARC-Block-Digest", digest},
		} {
			if got := s.fields.Get(field[0]); got != field[1] {
				return fmt.Errorf("%s is %q, not %q", field[0], got, field[1])
			}
		}
		return nil
	})
}
