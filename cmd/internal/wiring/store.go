package wiring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
)

// OpenStore connects to a database, with the rights of a worker, and checks that it
// has a schema that this program can use. Its statements are counted, and traced, by t.
func OpenStore(ctx context.Context, url string, t *Telemetry) (*db.Store, error) {
	return openChecked(ctx, func() (*db.Store, error) { return db.OpenTraced(ctx, url, t.queries()) })
}

// OpenReader is OpenStore for what only reads, with the rights of a reader.
func OpenReader(ctx context.Context, url string) (*db.Store, error) {
	return openChecked(ctx, func() (*db.Store, error) { return db.OpenReader(ctx, url) })
}

func openChecked(ctx context.Context, open func() (*db.Store, error)) (*db.Store, error) {
	store, err := open()
	if err != nil {
		return nil, Describe(err)
	}
	if err := CheckSchema(ctx, store); err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// CheckSchema refuses a schema that this program cannot use.
func CheckSchema(ctx context.Context, store *db.Store) error {
	schema, err := db.SchemaOf(ctx, store.Pool())
	if err != nil {
		return err
	}
	return schema.Check()
}

// Migrate brings a database to the newest schema, as its owner. It returns the schema
// and how many migrations that took. It tells waits whom it waits for.
func Migrate(ctx context.Context, url string, waits func(string)) (schema db.Schema, applied int, err error) {
	err = AsOwner(ctx, url, func(owner *db.Store) error {
		if applied, err = db.Migrate(ctx, owner.Pool(), waits); err != nil {
			return err
		}
		schema, err = db.SchemaOf(ctx, owner.Pool())
		return err
	})
	return schema, applied, err
}

// Describe makes one line, with a remedy, of a database that cannot be opened.
func Describe(err error) error {
	if errors.Is(err, db.ErrURL) {
		return Usagef("%w: want a URL such as postgres://mosey@localhost:5432/mosey", err)
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		// every address that was tried has a line of its own
		return fmt.Errorf("%s: does DATABASE_URL name a Postgres that runs? "+askDoctor, strings.Join(strings.Fields(err.Error()), " "))
	}
	return err
}

// AsOwner calls fn with a database, whatever its schema is, and the rights of its owner.
func AsOwner(ctx context.Context, url string, fn func(*db.Store) error) error {
	owner, err := db.OpenOwner(ctx, url)
	if err != nil {
		return Describe(err)
	}
	defer owner.Close()
	return fn(owner)
}

// imageStore opens the store of images when it is first needed. Most workers never need
// it, and a store that cannot be opened must only affect runs that store images.
type imageStore struct {
	where string
	t     *Telemetry

	mu    sync.Mutex
	store *imagestore.Store
}

func (s *imageStore) open(ctx context.Context) (*imagestore.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.store != nil {
		return s.store, nil
	}
	var err error
	s.store, err = imagestore.Open(ctx, s.where)
	return s.store, err
}

// with opens the store, has op done with it, and counts that.
func (s *imageStore) with(ctx context.Context, operation string, op func(*imagestore.Store) error) error {
	store, err := s.open(ctx)
	if err == nil {
		err = op(store)
	}
	if s.t.counting() {
		s.t.ImageStore(operation, err)
	}
	return err
}

func (s *imageStore) Put(ctx context.Context, sha256 string, body io.ReadSeeker, size int64, mediaType string) error {
	return s.with(ctx, "put", func(store *imagestore.Store) error { return store.Put(ctx, sha256, body, size, mediaType) })
}

func (s *imageStore) PutThumbnail(ctx context.Context, sha256 string, jpeg []byte) error {
	return s.with(ctx, "thumbnail", func(store *imagestore.Store) error { return store.PutThumbnail(ctx, sha256, jpeg) })
}

func (s *imageStore) Check(ctx context.Context, size int64) error {
	return s.with(ctx, "check", func(store *imagestore.Store) error { return store.Check(ctx, size) })
}

// ImagesIn opens the store of images at a place, once that is asked for.
func ImagesIn(where string) func(context.Context) (*imagestore.Store, error) {
	return (&imageStore{where: where}).open
}
