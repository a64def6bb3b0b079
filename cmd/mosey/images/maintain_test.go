package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/imagestore"
	"github.com/mosey-web/mosey/test/dbtest"
)

// maintenanceTest is a run of `mosey maintain` on images that are a day old, in a database
// and a store of its own.
type maintenanceTest struct {
	*maintenance

	dir string
	env *command.Env
	out *strings.Builder
}

func newMaintenance(t *testing.T) *maintenanceTest {
	t.Helper()
	url := dbtest.URL(t)
	store, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	dir := t.TempDir()
	images, err := imagestore.Open(t.Context(), dir)
	require.NoError(t, err)
	out := &strings.Builder{}
	e := &command.Env{Stdout: out, Stderr: io.Discard, Environ: []string{"DATABASE_URL=" + url, "MOSEY_IMAGE_STORE=" + images.String()}}
	cmd := &MaintainCmd{OlderThan: imagestore.DeleteAgeMin}
	cmd.ImageStore = images.String()
	return &maintenanceTest{
		maintenance: &maintenance{MaintainCmd: cmd, store: store, images: images, view: command.NewProgressLine(e)},
		dir:         dir, env: e, out: out,
	}
}

// maintain runs the command and returns its output.
func (m *maintenanceTest) maintain(t *testing.T) string {
	t.Helper()
	m.out.Reset()
	require.NoError(t, m.Run(t.Context(), m.env))
	return m.out.String()
}

func shaOfBody(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

func (m *maintenanceTest) path(sha string) string {
	return filepath.Join(m.dir, sha[:2], sha[2:4], sha)
}

func (m *maintenanceTest) thumbnail(sha string) string {
	return filepath.Join(m.dir, "thumbnails", sha[:2], sha[2:4], sha+".jpg")
}

// object puts an image into the store.
func (m *maintenanceTest) object(t *testing.T, body string, old time.Duration) {
	t.Helper()
	m.file(t, m.path(shaOfBody(body)), body, old)
}

func (*maintenanceTest) file(t *testing.T, name, body string, old time.Duration) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(body), 0o600))
	at := time.Now().Add(-old)
	require.NoError(t, os.Chtimes(name, at, at))
}

// objects are the files in the store, thumbnails included.
func (m *maintenanceTest) objects(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// stored makes rows of contents that images have, or none has.
func (m *maintenanceTest) stored(t *testing.T, stored string, had bool, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		_, err := m.store.Pool().Exec(t.Context(), `INSERT INTO image_contents
			(sha256_hash, file_size_bytes, format, width, height, stored_at, thumbnail_at)
			SELECT $1, 1, 'png', 1, 1, CASE $2 WHEN 'image' THEN at END, CASE $2 WHEN 'thumbnail' THEN at END
			FROM (VALUES (now() - interval '1 day')) AS v (at)`, shaOfBody(body), stored)
		require.NoError(t, err)
		if had {
			m.nowHad(t, body)
		}
	}
}

// nowHad makes an image that has a content.
func (m *maintenanceTest) nowHad(t *testing.T, body string) {
	t.Helper()
	_, err := m.store.Pool().Exec(t.Context(), `INSERT INTO images (id, page_id, url, domain, sha256_hash)
		VALUES (uuid_v7(), hashtextextended($1, 0), 'http://a.example/' || $1, 'a.example', $1)`, shaOfBody(body))
	require.NoError(t, err)
}

// storedSince is which of some contents are noted as stored.
func (m *maintenanceTest) storedSince(t *testing.T, bodies ...string) (stored []bool) {
	t.Helper()
	for _, body := range bodies {
		facts, err := m.store.ImageContent(t.Context(), shaOfBody(body))
		require.NoError(t, err)
		stored = append(stored, facts.Stored)
	}
	return stored
}

// In a large store hours pass between the look at an object and its deletion.
func TestMaintainSparesWhatHasComeToBeNeeded(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	const orphan, found, written, gone = "nobody's", "met again", "written again", "known, nobody's"
	for _, body := range []string{orphan, found, written, gone} {
		m.object(t, body, 24*time.Hour)
	}
	m.stored(t, "image", false, found, gone)
	require.NoError(t, m.scan(t.Context()))
	require.Len(t, m.orphans, 4)

	m.nowHad(t, found) // a worker has taken it for stored
	m.file(t, m.path(shaOfBody(written)), written, 0)
	require.NoError(t, m.repair(t.Context()))
	require.EqualValues(t, 2, m.found.Orphans, "that were deleted")
	require.EqualValues(t, len(orphan)+len(gone), m.found.OrphanBytes)
	require.ElementsMatch(t, []string{m.path(shaOfBody(found)), m.path(shaOfBody(written))}, m.objects(t))
	require.Equal(t, []bool{true, false}, m.storedSince(t, found, gone))
	require.Zero(t, m.found.Missing)
}

func TestMaintainNotesWhatItHasDeletedAndIsNeeded(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	const gone, there, small, none = "deleted", "stored again", "a thumbnail", "not said to be stored"
	m.stored(t, "image", true, gone, there)
	m.stored(t, "thumbnail", true, small)
	m.stored(t, "", true, none)
	m.object(t, there, 0)
	sha := shaOfBody(small)
	m.file(t, m.thumbnail(sha), "small", 0)
	require.NoError(t, m.markMissing(t.Context(), []string{shaOfBody(gone), shaOfBody(there), shaOfBody(small), shaOfBody(none)}))
	require.Equal(t, []bool{false, true}, m.storedSince(t, gone, there))
	facts, err := m.store.ImageContent(t.Context(), sha)
	require.NoError(t, err)
	require.True(t, facts.Thumbnail)
	require.EqualValues(t, 1, m.found.Missing)
}

// A row that is younger than the listing may be of an object that was not yet there.
func TestMaintainMissesOnlyWhatWasStoredBefore(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	m.stored(t, "image", true, "stored just now", "stored yesterday")
	_, err := m.store.Pool().Exec(t.Context(), "UPDATE image_contents SET stored_at = now() WHERE sha256_hash = $1", shaOfBody("stored just now"))
	require.NoError(t, err)
	m.OlderThan = 2 * time.Hour
	require.Contains(t, m.maintain(t), "1 image missing: marked")
	require.Equal(t, []bool{true, false}, m.storedSince(t, "stored just now", "stored yesterday"))
}

func TestMaintainOfThumbnailsAlone(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	for n := range 13 {
		for _, body := range []string{fmt.Sprint("right ", n), fmt.Sprint("nobody's ", n)} {
			sha := shaOfBody(body)
			m.file(t, m.thumbnail(sha), body, 25*time.Hour)
		}
		m.stored(t, "thumbnail", true, fmt.Sprint("right ", n))
	}
	require.Contains(t, m.maintain(t), "13 objects unreferenced, ", "as many are as they should be")
	require.Len(t, m.objects(t), 13)
}
