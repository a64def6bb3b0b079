package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/reasons"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/search"
)

const (
	// pollInterval is the wait for other processes.
	pollInterval = 300 * time.Millisecond
	// settleTime bounds the start of requests decided before the block was stored.
	settleTime = time.Second
)

// eraser erases the content of a blocked domain's pages, in repeatable steps of some pages.
type eraser struct {
	store     *db.Store
	domain    string
	bytes     *imageEraser
	view      *command.ProgressLine
	responses archivedResponses
	// pages counts the domain's pages, and changed the erased rows.
	pages, changed int64
	// imageInFlight is set while an image on another host is fetched that only this domain names.
	imageInFlight bool
	seenImages    map[int64]bool
}

// run ends when no content is left, or with an error if some must stay.
func (f *eraser) run(ctx context.Context) error {
	settled := time.Now().Add(settleTime)
	for incomplete := true; incomplete; {
		if err := f.await(ctx); err != nil {
			return err
		}
		changed, err := f.pass(ctx)
		if err != nil {
			return err
		}
		f.changed += changed
		incomplete = changed > 0 || f.imageInFlight || time.Now().Before(settled)
		if changed == 0 && incomplete {
			if err := pause(ctx); err != nil {
				return err
			}
		}
	}
	if err := f.dropUnused(ctx); err != nil {
		return err
	}
	if err := f.index(ctx); err != nil {
		return err
	}
	if f.bytes.remaining > 0 {
		return fmt.Errorf("the bytes of %s are still in the image store: %s; give the command again with the workers' "+
			"--image-store", explain.Count(f.bytes.remaining, "image"), f.bytes.storeErr)
	}
	if f.responses.left != nil {
		return f.responses.left
	}
	return f.store.MarkForgotten(ctx, f.domain)
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollInterval):
		return nil
	}
}

func (f *eraser) await(ctx context.Context) error {
	for {
		request, claim, err := f.store.InFlight(ctx, f.domain)
		if err != nil || request.IsZero() && claim.IsZero() {
			return err
		}
		f.view.Show(func(time.Time) string {
			if !request.IsZero() {
				return fmt.Sprintf("a request to %s is in flight and ends by %s at the latest", f.domain, explain.Stamp(request))
			}
			return fmt.Sprintf("waiting for the workflow of %s to release its claim, by %s at the latest", f.domain, explain.Stamp(claim))
		})
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// pass visits all pages of the domain and returns the number of rows with content.
func (f *eraser) pass(ctx context.Context) (changed int64, err error) {
	f.pages, f.imageInFlight, f.seenImages = 0, false, map[int64]bool{}
	f.bytes.remaining, f.responses.found = 0, map[string][]db.ArchivedRecord{}
	for after := ""; ; {
		pages, last, err := f.store.PagesOf(ctx, f.domain, after)
		if err != nil {
			return changed, err
		}
		if len(pages) == 0 {
			break
		}
		n, err := f.step(ctx, pages)
		if err != nil {
			return changed, err
		}
		after, changed, f.pages = last, changed+n, f.pages+int64(len(pages))
		f.view.Show(func(time.Time) string {
			return fmt.Sprintf("%s of %s checked, %s erased", explain.Count(f.pages, "page"), f.domain, explain.Count(f.changed+changed, "row"))
		})
	}
	for after := ""; ; {
		last, n, err := f.store.ForgetPatterns(ctx, f.domain, after)
		if err != nil {
			return changed, err
		}
		if last == "" {
			break
		}
		after, changed = last, changed+n
	}
	erased, err := f.eraseArchived(ctx)
	if changed += erased; err != nil {
		return changed, err
	}
	n, err := f.store.ForgetRobots(ctx, f.domain)
	return changed + n, err
}

// step erases the content of some pages, and the images that only they name.
func (f *eraser) step(ctx context.Context, pages []int64) (changed int64, err error) {
	exclusive, err := f.exclusiveImages(ctx, pages)
	if err != nil {
		return 0, err
	}
	called, err := f.store.PagesFoundByAnchors(ctx, f.domain, pages)
	if err != nil {
		return 0, err
	}
	for chunk := range slices.Chunk(slices.Concat(pages, exclusive), db.ForgetBatch) {
		n, err := f.bytes.forget(ctx, chunk)
		if err != nil {
			return changed, err
		}
		m, err := f.store.ForgetPages(ctx, chunk)
		if changed += n + m; err != nil {
			return changed, err
		}
		if err := f.responses.add(ctx, chunk); err != nil {
			return changed, err
		}
	}
	n, err := f.closePending(ctx, exclusive)
	if changed += n; err != nil {
		return changed, err
	}
	m, err := search.Refold(ctx, f.store, called)
	return changed + int64(m), err
}

// exclusiveImages returns the other hosts' images that only this domain names and this pass has not
// seen.
func (f *eraser) exclusiveImages(ctx context.Context, pages []int64) ([]int64, error) {
	named, err := f.store.ImagesNamedBy(ctx, f.domain, pages)
	if err != nil {
		return nil, err
	}
	named = slices.DeleteFunc(named, func(image int64) bool {
		isSeen := f.seenImages[image]
		f.seenImages[image] = true
		return isSeen
	})
	if len(named) == 0 {
		return nil, nil
	}
	return f.store.UnsharedImages(ctx, f.domain, named)
}

// closePending cancels the requests of images on other hosts.
func (f *eraser) closePending(ctx context.Context, images []int64) (closed int64, err error) {
	if len(images) == 0 {
		return 0, nil
	}
	pending, err := f.store.PendingOf(ctx, images)
	if err != nil {
		return 0, err
	}
	for _, p := range pending {
		if p.InFlight {
			f.imageInFlight = true
			// closes it if its worker has died
			if err := f.store.RepairOpen(ctx, p.Domain, p.ID); err != nil {
				return closed, err
			}
			continue
		}
		recorded, err := f.store.Record(ctx, crawl.Attempt{
			ID: p.ID, Domain: p.Domain, URL: p.URL, Kind: p.Kind, Run: p.Run,
			Outcome: crawl.OutcomeSkipped, Skipped: reasons.Forgotten, EndedAt: time.Now(),
		})
		if err != nil {
			return closed, err
		}
		if recorded.Closed {
			closed++
		}
	}
	return closed, nil
}

// dropUnused erases contents without an image, such as an image's content before a change.
func (f *eraser) dropUnused(ctx context.Context) error {
	for after := ""; ; {
		unused, last, err := f.store.UnusedContents(ctx, after)
		if err != nil || last == "" {
			return err
		}
		if err := f.bytes.drop(ctx, unused); err != nil {
			return err
		}
		after = last
	}
}

func (f *eraser) index(ctx context.Context) error {
	for {
		_, free, err := f.store.ForgetIndexed(ctx, f.domain, func(done, all int) {
			f.view.Show(func(time.Time) string {
				return fmt.Sprintf("%d of %s of the index checked", done, explain.Count(int64(all), "part"))
			})
		})
		if err != nil || free {
			return err
		}
		f.view.Show(func(time.Time) string { return "waiting for a worker that merges parts of the index" })
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// imageEraser erases images after their bytes.
type imageEraser struct {
	store *db.Store
	open  command.ImageStoreFlag
	e     *command.Env

	images *imagestore.Store
	// storeErr is the error of the store, and remaining counts the contents that still have their
	// bytes because of it.
	storeErr  error
	remaining int64
}

// forget erases images by their page ids, except images whose bytes cannot be deleted. It returns
// the number of images that had content.
func (b *imageEraser) forget(ctx context.Context, pages []int64) (int64, error) {
	contents, err := b.store.ImageContentsOf(ctx, pages)
	if err != nil {
		return 0, err
	}
	erased, retained, err := b.erase(ctx, contents)
	if err != nil {
		return 0, err
	}
	changed, err := b.store.ForgetImages(ctx, slices.DeleteFunc(slices.Clone(pages), func(page int64) bool { return retained[page] }))
	if err != nil {
		return changed, err
	}
	return changed, b.markMissing(ctx, erased)
}

func (b *imageEraser) drop(ctx context.Context, unused []db.UnsharedContent) error {
	if len(unused) == 0 {
		return nil
	}
	erased, _, err := b.erase(ctx, unused)
	if err != nil {
		return err
	}
	dropped := slices.Clone(erased)
	for _, c := range unused {
		if !c.Stored {
			dropped = append(dropped, c.SHA256)
		}
	}
	if _, err := b.store.DropContents(ctx, dropped); err != nil {
		return err
	}
	return b.markMissing(ctx, erased)
}

// markMissing marks as lost the erased images that another domain's request has found just before.
func (b *imageEraser) markMissing(ctx context.Context, erased []string) error {
	if len(erased) == 0 {
		return nil
	}
	_, err := command.MarkMissingImages(ctx, b.store, b.images, erased)
	return err
}

// erase deletes the bytes of stored contents. It returns these contents, and the images with
// remaining bytes. Only the end of the context is an error.
func (b *imageEraser) erase(ctx context.Context, contents []db.UnsharedContent) (erased []string, retained map[int64]bool, err error) {
	contents = slices.DeleteFunc(slices.Clone(contents), func(c db.UnsharedContent) bool { return !c.Stored })
	if len(contents) == 0 {
		return nil, nil, nil
	}
	retained = map[int64]bool{}
	for _, c := range contents {
		if b.storeErr == nil {
			b.storeErr = b.eraseOne(ctx, c.SHA256)
		}
		if err := context.Cause(ctx); err != nil {
			return erased, retained, err
		}
		if b.storeErr == nil {
			erased = append(erased, c.SHA256)
			continue
		}
		b.remaining++
		for _, page := range c.Images {
			retained[page] = true
		}
	}
	return erased, retained, nil
}

func (b *imageEraser) eraseOne(ctx context.Context, sha string) error {
	if b.images == nil {
		images, err := b.open.Open(ctx, b.e)
		if err == nil {
			err = b.recognize(ctx, images, sha)
		}
		if err != nil {
			return err
		}
		b.images = images
	}
	if err := b.images.Erase(ctx, sha); err != nil {
		return err
	}
	// a killed command does not search for it again
	return b.store.MarkImagesLost(ctx, []string{sha}, true)
}

const maxRecognitionChecks = 20

// recognize refuses a store without any stored image, because the workers use another.
func (b *imageEraser) recognize(ctx context.Context, images *imagestore.Store, sha string) error {
	stored, err := b.store.StoredImagesAfter(ctx, "", time.Now().Add(time.Hour), maxRecognitionChecks)
	if err != nil {
		return err
	}
	for _, sha := range append([]string{sha}, stored...) {
		exists, err := command.Exists(images.Get(ctx, sha))
		if !exists && err == nil {
			exists, err = command.Exists(images.Thumbnail(ctx, sha))
		}
		if exists || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has no expected image: is it the store that the workers of this database write to? "+
		"If it is, mosey maintain marks them as missing", images)
}
