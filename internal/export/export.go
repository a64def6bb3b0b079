package export

import (
	"context"
	"io"

	"github.com/mosey-web/mosey/crawl/report"
)

// Export is rows to be written.
type Export struct {
	Store  Store
	Kind   Table
	Format Format
	Filter report.ExportFilter
	// Asked is the filter as a person has given it, for instance --since as 30d. An
	// export is resumed only with the same one.
	Asked map[string]string
	// Force lets what is there be replaced.
	Force bool
	// Watch, if it is set, hears after each batch how far the export has come.
	Watch func(Progress)

	progress Progress
}

// Progress is how much this call has written, and what earlier calls had.
type Progress struct {
	Rows  int64
	Bytes int64
	Files int
	// Before is what a directory had when the export was resumed.
	Before Written
}

// Written is what whole files hold.
type Written struct {
	Rows  int64
	Files int
}

// ToWriter writes all rows to w. A w that is at its end (a closed pipe) is an error.
func (e *Export) ToWriter(ctx context.Context, w io.Writer) (Progress, error) {
	out := &counted{to: w, bytes: &e.progress.Bytes}
	src := e.Kind.source(e.Store)
	enc, err := e.Format.encoder(out, src.columns)
	if err != nil {
		return e.progress, err
	}
	err = e.eachBatch(ctx, src, e.Filter, report.ExportKey{}, func(b batch) error {
		if err := b.each(enc.write); err != nil {
			return err
		}
		e.wrote(b)
		return enc.flush()
	})
	if err == nil {
		err = enc.close()
	}
	return e.progress, err
}

// wrote counts a batch.
func (e *Export) wrote(b batch) {
	e.progress.Rows += int64(b.rows)
	if e.Watch != nil {
		e.Watch(e.progress)
	}
}

// counted counts what is written.
type counted struct {
	to    io.Writer
	bytes *int64
}

// Write implements io.Writer.
func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	*c.bytes += int64(n)
	return n, err
}

// eachBatch hands out the batches that follow a key, while the next one is being read.
func (e *Export) eachBatch(
	ctx context.Context, src source, filter report.ExportFilter, after report.ExportKey, do func(batch) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	type read struct {
		batch

		err error
	}
	batches := make(chan read)
	go func() {
		defer close(batches)
		for {
			b, err := src.read(ctx, filter, after)
			if err == nil && b.next == after {
				return
			}
			after = b.next
			select {
			case batches <- read{b, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range batches {
			continue // the reader ends
		}
	}()
	for {
		r, more := <-batches
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !more:
			return nil
		case r.err != nil:
			return r.err
		}
		if err := do(r.batch); err != nil {
			return err
		}
	}
}
