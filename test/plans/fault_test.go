package plans

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// oldFault is how attempt_facts once counted the attempts at a page. In a crawl it was planned
// to walk page_crawls_pkey, and took 41 % of what all of Postgres did. Here the index by
// pages is held away from it, so that it is planned so for certain.
const oldFault = `CREATE FUNCTION plans_fault(p_id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN (
		SELECT (
			SELECT count(*) FROM page_crawls x
			WHERE x.page_id + 0 = c.page_id AND x.run_id + 0 = c.run_id AND x.id <= c.id AND NOT x.prerequisite AND x.id >= coalesce((
				SELECT max(y.id) FROM page_crawls y WHERE y.page_id = c.page_id AND y.run_id = c.run_id AND y.id <= c.id AND y.is_revisit
			), 0)
		) FROM page_crawls c WHERE c.id = p_id
	);
END $$`

// otherFaults are statements about one row at most that read many, each in its own way, and
// fine those that read no more than they need.
var (
	otherFaults = map[string]string{
		"CountsAll":    "SELECT count(*) FROM run_domains WHERE run_id = 1",
		"SortsAll":     "SELECT domain FROM run_domains WHERE run_id = 1 ORDER BY bytes, domain LIMIT 1",
		"HashesAll":    "SELECT 1 FROM run_domains rd WHERE rd.run_id = 3 AND rd.domain = 'site-8.example' AND rd.domain IN (SELECT x.domain FROM domains x OFFSET 0)",
		"JoinsAll":     "SELECT d.id FROM domains d INNER JOIN run_domains rd ON rd.domain || '' = d.domain WHERE d.domain = 'site-8.example' AND rd.run_id = 1",
		"WalksAnIndex": "SELECT page_id FROM revisits WHERE run_id = 99 AND page_id > 0",
	}
	fine = map[string]string{
		"OfOneRow":    "SELECT * FROM page_crawls WHERE id = 2000",
		"OfManyRows":  "SELECT id FROM pages WHERE id < 5000",
		"Collecting":  "SELECT array_agg(id) FROM pages WHERE id < 5000",
		"OfAnArray":   "SELECT p.id FROM unnest(ARRAY(SELECT generate_series(1, 5000))) u (id) CROSS JOIN LATERAL (SELECT x.id FROM pages x WHERE x.id = u.id LIMIT 1) p",
		"ChangesRows": "UPDATE pages SET status = 'failed' WHERE id < 5000",
	}
)

// findsFaults shows that the judgement can fail, by plans that were carried out.
func (d *database) findsFaults(t *testing.T) {
	t.Helper()
	var last verdict
	seen := 0
	s := d.open(t, func(e executed) {
		if e.function == "plans_fault" || e.query == "Seeded" {
			last = judge(&e.plan)
			seen++
		}
	})
	defer s.store.Close()
	s.change(t, "plans_fault", func(t *testing.T, c change) {
		c.exec(oldFault)
		c.ok(c.Exec(t.Context(), "SELECT plans_fault($1)", attemptID(siteClaimed, 6)))
	})
	require.NotEmpty(t, last.fault, "it counts attempts along the wrong index")
	judged := func(name, sql string) verdict {
		last, seen = verdict{}, 0
		s.change(t, name, func(t *testing.T, c change) { c.ok(c.Exec(t.Context(), "-- name: Seeded :one\n"+sql)) })
		require.Equal(t, 1, seen, name)
		return last
	}
	for name, sql := range otherFaults {
		require.NotEmpty(t, judged(name, sql).fault, name)
	}
	for name, sql := range fine {
		require.Empty(t, judged(name, sql).fault, name)
	}
}
