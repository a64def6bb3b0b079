package dbtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Login makes a role that logs in and is a member of one role alone, such as mosey_reader. It
// returns the URL by which that one connects to a database of New or URL.
func Login(t testing.TB, database, role string) string {
	t.Helper()
	name, password := "mosey_login_"+strings.ToLower(rand.Text()), rand.Text()
	require.NoError(t, shared.exec(t.Context(), fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s' IN ROLE %s", name, password, role)))
	t.Cleanup(func() {
		// the test's own context has ended by now
		require.NoError(t, shared.exec(context.Background(), "DROP ROLE "+name))
	})
	u, err := url.Parse(database)
	require.NoError(t, err)
	u.User = url.UserPassword(name, password)
	query := u.Query()
	query.Del("passfile")
	u.RawQuery = query.Encode()
	return u.String()
}
