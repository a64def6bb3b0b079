package doctor

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/db"
)

// setting is a required setting of Postgres, with its reason.
type setting struct {
	name string
	// isWrong reports whether a value is wrong. Numbers with a unit are in bytes or milliseconds.
	isWrong  func(text string, number float64) bool
	severity Severity
	// want is the right value, or a whole remedy. restart is set if Postgres needs a restart.
	want        string
	restart     bool
	consequence string
}

func isOff(text string, _ float64) bool { return text == "off" }
func isNot(want string) func(string, float64) bool {
	return func(text string, _ float64) bool { return text != want }
}
func isPositive(_ string, n float64) bool { return n > 0 }
func isBelow(minimum float64) func(string, float64) bool {
	return func(_ string, n float64) bool { return n < minimum }
}

// settings lists the settings checked. Mosey sets others for its own sessions (db.Open).
var settings = []setting{
	{"fsync", isOff, Fault, "on", false, "a crash of the machine may destroy the database"},
	{"full_page_writes", isOff, Fault, "on", false, "a crash of the machine may corrupt the database"},
	{"synchronous_commit", isOff, Fault, "on", false, "a crash forgets the last requests, and a site may be requested again too soon"},
	{"default_transaction_read_only", isNot("off"), Fault, "off", false, "Postgres stores no changes"},
	{
		"default_transaction_isolation", isNot("read committed"), Fault, "'read committed'", false,
		"Mosey locks rows, and then must see the latest commits",
	},
	{"autovacuum", isOff, Fault, "on", false, "Postgres never removes dead rows, and statistics become stale"},
	{"track_counts", isOff, Fault, "on", false, "autovacuum needs these counts"},
	{"lock_timeout", isPositive, Warning, "0", false, "statements that wait for another transaction fail"},
	{"transaction_timeout", isPositive, Warning, "0", false, "statements that read whole tables, such as mosey audit, are aborted"},
	{"shared_buffers", isBelow(128 << 20), Warning, "'256MB'", true, "the indexes that each page needs do not stay in memory"},
	{"work_mem", isBelow(4 << 20), Warning, "'4MB'", false, "sorts and bitmaps go to the disk"},
	{"max_wal_size", isBelow(1 << 30), Note, "'2GB'", false, "checkpoints come often, and each makes the next changes larger"},
	{"log_statement", isNot("none"), Note, "none", false, "each statement of each page is written to the log"},
	{"log_parameter_max_length_on_error", isNot("0"), Note, "0", false, "a failed statement writes page content to the log"},
	{
		"data_checksums", isOff, Note, "Stop Postgres, run pg_checksums --enable, and start it.", false,
		"Postgres does not notice corrupt data from the disk",
	},
}

var unitBytes = map[string]float64{
	"": 1, "B": 1, "kB": 1 << 10, "8kB": 8 << 10, "MB": 1 << 20, "16MB": 16 << 20, "ms": 1, "s": 1000,
	"min": 60_000,
}

func checkSettings(ctx context.Context, store *db.Store) (found []Finding, err error) {
	names := make([]string, len(settings))
	for i, s := range settings {
		names[i] = s.name
	}
	values, err := store.ServerSettings(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, s := range settings {
		if v, known := values[s.name]; known { // old versions lack some
			found = append(found, s.judge(v)...)
		}
	}
	if !slices.ContainsFunc(found, Finding.isProblem) {
		found = append(okFinding("all %d settings are good", len(values)), found...)
	}
	return found, nil
}

func (s setting) judge(v db.ServerSetting) []Finding {
	n, err := strconv.ParseFloat(v.Value, 64)
	if err != nil {
		n = 0 // a word
	}
	if !s.isWrong(v.Value, n*unitBytes[v.Unit]) {
		return nil
	}
	remedy := fmt.Sprintf(`psql -c "ALTER SYSTEM SET %s = %s" -c "SELECT pg_reload_conf()"`, s.name, s.want)
	switch {
	case v.Scope != "": // overrides the server's value
		remedy = fmt.Sprintf(`psql -c "ALTER %s RESET %s"`, v.Scope, s.name)
	case strings.HasSuffix(s.want, "."):
		remedy = s.want
	case s.restart:
		remedy = fmt.Sprintf("ALTER SYSTEM SET %s = %s; then restart Postgres.", s.name, s.want)
	}
	value := v.Value
	if v.Unit != "" {
		value += " × " + v.Unit
	}
	return newFinding(s.severity, remedy, "%s is %s: %s", s.name, value, s.consequence)
}
