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
	// lookAgain is the wait for other processes.
	lookAgain = 300 * time.Millisecond
	// settleSpan bounds the start of requests decided before the block was stored.
	settleSpan = time.Second
)

// forgetting erases the content of a blocked domain's pages, in repeatable steps of some pages.
type forgetting struct {
	store  *db.Store
	domain string
	bytes  *imageBytes
	view   *command.ProgressLine
	// pages counts the domain's pages, and changed the erased rows.
	pages, changed int64
	// busy is set while an image on another host is fetched that only this domain names.
	busy  bool
	known map[int64]bool
}

// run ends when no content is left, or with an error if some must stay.
func (f *forgetting) run(ctx context.Context) error {
	settled := time.Now().Add(settleSpan)
	for again := true; again; {
		if err := f.await(ctx); err != nil {
			return err
		}
		changed, err := f.pass(ctx)
		if err != nil {
			return err
		}
		f.changed += changed
		again = changed > 0 || f.busy || time.Now().Before(settled)
		if changed == 0 && again {
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
	if f.bytes.left > 0 {
		return fmt.Errorf("the bytes of %s are still in the image store: %s; give the command again with the workers' "+
			"--image-store", explain.Count(f.bytes.left, "image"), f.bytes.trouble)
	}
	return f.store.NoteForgotten(ctx, f.domain)
}

func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(lookAgain):
		return nil
	}
}

func (f *forgetting) await(ctx context.Context) error {
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
func (f *forgetting) pass(ctx context.Context) (changed int64, err error) {
	f.pages, f.busy, f.known = 0, false, map[int64]bool{}
	f.bytes.left = 0
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
	n, err := f.store.ForgetRobots(ctx, f.domain)
	return changed + n, err
}

// step erases the content of some pages, and the images that only they name.
func (f *forgetting) step(ctx context.Context, pages []int64) (changed int64, err error) {
	alone, err := f.namedAlone(ctx, pages)
	if err != nil {
		return 0, err
	}
	called, err := f.store.PagesCalled(ctx, f.domain, pages)
	if err != nil {
		return 0, err
	}
	for some := range slices.Chunk(slices.Concat(pages, alone), db.ForgetStep) {
		n, err := f.bytes.forget(ctx, some)
		if err != nil {
			return changed, err
		}
		m, err := f.store.ForgetPages(ctx, some)
		if changed += n + m; err != nil {
			return changed, err
		}
	}
	n, err := f.closePending(ctx, alone)
	if changed += n; err != nil {
		return changed, err
	}
	m, err := search.Refold(ctx, f.store, called)
	return changed + int64(m), err
}

// namedAlone returns the other hosts' images that only this domain names and this pass has not
// seen.
func (f *forgetting) namedAlone(ctx context.Context, pages []int64) ([]int64, error) {
	named, err := f.store.ImagesNamed(ctx, f.domain, pages)
	if err != nil {
		return nil, err
	}
	named = slices.DeleteFunc(named, func(image int64) bool {
		known := f.known[image]
		f.known[image] = true
		return known
	})
	if len(named) == 0 {
		return nil, nil
	}
	return f.store.ImagesAlone(ctx, f.domain, named)
}

// closePending cancels the requests of images on other hosts.
func (f *forgetting) closePending(ctx context.Context, images []int64) (closed int64, err error) {
	if len(images) == 0 {
		return 0, nil
	}
	pending, err := f.store.PendingOf(ctx, images)
	if err != nil {
		return 0, err
	}
	for _, p := range pending {
		if p.InFlight {
			f.busy = true
			// closes it if its worker has died
			if err := f.store.RepairOpen(ctx, p.Domain, p.ID); err != nil {
				return closed, err
			}
			continue
		}
		recorded, err := f.store.Record(ctx, crawl.Attempt{
			CrawlID: p.ID, Domain: p.Domain, URL: p.URL, Kind: p.Kind, Run: p.Run,
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
func (f *forgetting) dropUnused(ctx context.Context) error {
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

func (f *forgetting) index(ctx context.Context) error {
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

// imageBytes erases images after their bytes.
type imageBytes struct {
	store *db.Store
	open  command.ImageStoreFlag
	e     *command.Env

	images *imagestore.Store
	// trouble is the error of the store, and left counts the contents that kept their bytes for it.
	trouble error
	left    int64
}

// forget erases images by their page ids, except images whose bytes cannot be deleted. It returns
// the number of images that had content.
func (b *imageBytes) forget(ctx context.Context, pages []int64) (int64, error) {
	own, err := b.store.ImageContentsOf(ctx, pages)
	if err != nil {
		return 0, err
	}
	erased, kept, err := b.erase(ctx, own)
	if err != nil {
		return 0, err
	}
	changed, err := b.store.ForgetImages(ctx, slices.DeleteFunc(slices.Clone(pages), func(page int64) bool { return kept[page] }))
	if err != nil {
		return changed, err
	}
	return changed, b.noteLost(ctx, erased)
}

func (b *imageBytes) drop(ctx context.Context, unused []db.OwnContent) error {
	if len(unused) == 0 {
		return nil
	}
	erased, _, err := b.erase(ctx, unused)
	if err != nil {
		return err
	}
	gone := slices.Clone(erased)
	for _, c := range unused {
		if !c.Stored {
			gone = append(gone, c.SHA256)
		}
	}
	if _, err := b.store.DropContents(ctx, gone); err != nil {
		return err
	}
	return b.noteLost(ctx, erased)
}

// noteLost marks as lost the erased images that another domain's request has found just before.
func (b *imageBytes) noteLost(ctx context.Context, erased []string) error {
	if len(erased) == 0 {
		return nil
	}
	_, err := command.NoteLostImages(ctx, b.store, b.images, erased)
	return err
}

// erase deletes the bytes of stored contents. It returns these contents, and the images with
// remaining bytes. Only the end of the context is an error.
func (b *imageBytes) erase(ctx context.Context, own []db.OwnContent) (erased []string, kept map[int64]bool, err error) {
	own = slices.DeleteFunc(slices.Clone(own), func(c db.OwnContent) bool { return !c.Stored })
	if len(own) == 0 {
		return nil, nil, nil
	}
	kept = map[int64]bool{}
	for _, c := range own {
		if b.trouble == nil {
			b.trouble = b.eraseOne(ctx, c.SHA256)
		}
		if err := context.Cause(ctx); err != nil {
			return erased, kept, err
		}
		if b.trouble == nil {
			erased = append(erased, c.SHA256)
			continue
		}
		b.left++
		for _, page := range c.Images {
			kept[page] = true
		}
	}
	return erased, kept, nil
}

func (b *imageBytes) eraseOne(ctx context.Context, sha string) error {
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
	return b.store.LoseImages(ctx, []string{sha}, true)
}

const recognized = 20

// recognize refuses a store without any stored image, because the workers use another.
func (b *imageBytes) recognize(ctx context.Context, images *imagestore.Store, sha string) error {
	stored, err := b.store.StoredImagesAfter(ctx, "", time.Now().Add(time.Hour), recognized)
	if err != nil {
		return err
	}
	for _, sha := range append([]string{sha}, stored...) {
		there, err := command.IsThere(images.Get(ctx, sha))
		if !there && err == nil {
			there, err = command.IsThere(images.Thumbnail(ctx, sha))
		}
		if there || err != nil {
			return err
		}
	}
	return fmt.Errorf("%s has no expected image: is it the store that the workers of this database write to? "+
		"If it is, mosey maintain marks them as missing", images)
}
