package control

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// imageBytes erases images, and their bytes before.
type imageBytes struct {
	store *db.Store
	open  func(context.Context) (*imagestore.Store, error)

	images *imagestore.Store
	// trouble is why the store cannot be used, and left how many contents have kept their bytes for
	// that.
	trouble error
	left    int64
}

// fault tells of bytes that could not be deleted.
func (b *imageBytes) fault() error {
	if b.left == 0 {
		return nil
	}
	return fmt.Errorf("the bytes of %s are still in the store of images: %s; give the command again, with the --image-store that "+
		"the workers have", explain.Count(b.left, "image"), b.trouble)
}

// forget erases what images were, by the ids of their pages, but for those whose bytes cannot be
// deleted. It returns how many had something.
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

// drop erases contents that no image has.
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

// noteLost notes what another domain's request has found to be stored just before it was erased.
func (b *imageBytes) noteLost(ctx context.Context, erased []string) error {
	if len(erased) == 0 {
		return nil
	}
	_, err := command.NoteLostImages(ctx, b.store, b.images, erased)
	return err
}

// erase deletes the bytes of contents that should be stored, and returns which those were, and the
// images whose bytes could not be deleted. Only an end of the context is an error.
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
		images, err := b.open(ctx)
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
	// a command that is killed now does not look for it again
	return b.store.LoseImages(ctx, []string{sha}, true)
}

// recognized is how many images are looked for in a store.
const recognized = 20

// recognize refuses a store in which no stored image is: it is not the workers' store, and their bytes
// would stay.
func (b *imageBytes) recognize(ctx context.Context, images *imagestore.Store, sha string) error {
	stored, err := b.store.StoredImagesAfter(ctx, "", time.Now().Add(time.Hour), recognized)
	if err != nil {
		return err
	}
	for _, sha := range append([]string{sha}, stored...) {
		for _, read := range []func() (bool, error){
			func() (bool, error) { return command.IsThere(images.Get(ctx, sha)) },
			func() (bool, error) { return command.IsThere(images.Thumbnail(ctx, sha)) },
		} {
			if there, err := read(); there || err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("%s has none of the images that should be in it: is it the store that the workers of this database write to? "+
		"If it is, mosey maintain notes that they are lost", images)
}
