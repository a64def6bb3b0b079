package db

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrURL says that a database URL cannot be read.
var ErrURL = errors.New("database URL")

// parseURL reads a database URL. What is wrong with one is told without its
// password: pgx leaves out some passwords only, and of those with special characters
// it quotes pieces.
func parseURL(url string) (*pgxpool.Config, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrURL, describeURL(url))
	}
	// pgxpool does not tell its own default from what was asked for
	plain, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrURL, describeURL(url))
	}
	if strings.Contains(cfg.ConnConfig.Host, "@") {
		// the rest of a password that pgx has cut short
		return nil, fmt.Errorf("%w: %s", ErrURL, malformedUser)
	}
	if _, given := plain.RuntimeParams["pool_max_conns"]; !given {
		cfg.MaxConns = max(cfg.MaxConns, PoolConnsDefault)
	}
	return cfg, nil
}

// describeURL says what is wrong with a URL that cannot be read: what pgx says of it
// without its secrets.
func describeURL(url string) string {
	scheme, rest, isURL := strings.Cut(url, "://")
	if !isURL {
		if strings.Contains(url, "password") {
			return "neither a URL nor pairs of key=value"
		}
		return reason(url)
	}
	rest = rest[strings.LastIndex(rest, "@")+1:]
	text := reason(scheme + "://" + passwordParameter.ReplaceAllString(rest, ""))
	if text == "" {
		return malformedUser
	}
	return text
}

const malformedUser = "its user name or password is malformed: percent-encode special characters, " +
	"or give the password as PGPASSWORD"

var passwordParameter = regexp.MustCompile(`[a-z]*password=[^&]*`)

// reason is what pgx says of a URL without secrets; empty if it can be read.
func reason(url string) string {
	if _, err := pgxpool.ParseConfig(url); err != nil {
		return err.Error()
	}
	return ""
}
