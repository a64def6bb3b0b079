package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
)

func TestDatabaseURL(t *testing.T) {
	t.Parallel()

	t.Run("SizesThePool", func(t *testing.T) {
		t.Parallel()
		url := dbtest.URL(t)
		for parameter, want := range map[string]int32{"": db.PoolConnsDefault, "&pool_max_conns=3": 3, "&pool_max_conns=40": 40} {
			store, err := db.OpenOwner(t.Context(), url+parameter)
			require.NoError(t, err)
			require.Equal(t, want, store.Pool().Config().MaxConns, parameter)
			store.Close()
		}
	})

	t.Run("ThatIsBadIsToldWithoutItsPassword", func(t *testing.T) {
		t.Parallel()
		for url, want := range map[string]string{
			"http//nowhere":                                        "http//nowhere",
			"postgres://localhost:port/mosey":                      "port",
			"postgres://mosey:SECRET@localhost:port/mosey":         "port",
			"postgres://mosey:SECRET@db/m?sslmode=perhaps":         "sslmode",
			"postgres://mosey:SECRET@db/m?pool_max_conns=many":     "pool_max_conns",
			"postgres://db:port/m?password=SECRET&sslmode=disable": "port",
			"postgres://mosey:SEC/RET@db/mosey":                    "percent-encode",
			"postgres://mosey:SEC%RET@db/mosey":                    "percent-encode",
			"postgres://mosey:SEC:RET SECRET@db:port/mosey":        "port",
			"postgres://mosey:SEC?RET@SECRET@db/mosey":             "percent-encode",
			"postgres://mosey:SEC#RET/SECRET@db/mosey":             "PGPASSWORD",
			"host=db port=none password=SECRET":                    "neither a URL nor key=value pairs",
			"host=db password='SEC RET":                            "neither a URL nor key=value pairs",
		} {
			_, err := db.Open(t.Context(), url)
			require.ErrorIs(t, err, db.ErrURL, url)
			require.ErrorContains(t, err, want, url)
			for _, piece := range []string{"SEC", "RET"} {
				require.NotContains(t, err.Error(), piece, url)
			}
		}
	})
}
