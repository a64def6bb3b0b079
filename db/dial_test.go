package db

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticeVanished(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres://mosey@db.example:5432/mosey":                        "60000",
		"postgres://mosey@10.77.0.3/mosey":                              "60000",
		"postgres://mosey@10.77.0.3/mosey?tcp_user_timeout=0":           "0",
		"postgres://mosey@localhost/mosey":                              "",
		"postgres://mosey@127.0.0.1:5433/mosey":                         "",
		"postgres://mosey@[::1]/mosey":                                  "",
		"postgres:///mosey?host=%2Fvar%2Frun%2Fpostgresql&user=mosey":   "",
		"host=db.example user=mosey dbname=mosey tcp_keepalives_idle=7": "60000",
	} {
		cfg, err := parseURL(url)
		require.NoError(t, err)
		detectLostPeer(cfg)
		require.Equal(t, want, cfg.ConnConfig.RuntimeParams["tcp_user_timeout"], url)
		if want == "60000" && cfg.ConnConfig.Host != "db.example" {
			require.Equal(t, "20", cfg.ConnConfig.RuntimeParams["tcp_keepalives_idle"], url)
		}
	}
}
