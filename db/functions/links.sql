-- Stores the links of attempts and adds their targets to the runs, as the caller has decided. A
-- page that was not read again keeps the links of its last visit. p is the document of the
-- attempts. Returns the attempts whose run has new due domains, or null.
CREATE OR REPLACE FUNCTION links_record(p jsonb, v closed_attempt[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    v_links found_link[];
    v_reread_pages bigint[];
    v_forbidden_pages bigint[];
    v_found found_page[] := ARRAY[]::found_page[];
    v_added record;
BEGIN
    IF jsonb_path_exists(p, '$[*].links') THEN
        IF jsonb_path_exists(p, '$[*].links[*].registered_domain') THEN
            PERFORM registered_add(array_agg(l ->> 'domain'), array_agg(l ->> 'registered_domain'))
            FROM unnest(v) a CROSS JOIN jsonb_array_elements(a.doc -> 'links') AS l WHERE l ? 'registered_domain';
        END IF;
        SELECT array_agg((a.page_id, a.run_id, a.domain, a.doc ? 'redirect', a.doc -> 'follow',
            jsonb_array_length(a.doc -> 'links') - l.place, y.id, y.id IS NULL, l.url, l.domain, l.origin,
            coalesce(l.kind, 'page'), l.patterns, coalesce(l.nofollow, false), l.trap, l.trap_evidence, l.anchor,
            l.rel, coalesce(l.priority, sitemap_priority(l.kind, a.doc -> 'follow', l.place)), l.request_target)::found_link)
        INTO v_links
        FROM unnest(v) a CROSS JOIN LATERAL ROWS FROM (
            jsonb_to_recordset(a.doc -> 'links') AS (
                url text, domain text, origin text, kind text, patterns text[], nofollow boolean, trap text, trap_evidence text,
                anchor text, rel smallint, priority smallint, request_target text
            )
        ) WITH ORDINALITY
            AS l (url, domain, origin, kind, patterns, nofollow, trap, trap_evidence, anchor, rel, priority, request_target, place)
        LEFT JOIN LATERAL (
            SELECT x.id FROM pages x WHERE x.domain = l.domain AND x.url = l.url LIMIT 1
        ) y ON true;
        IF EXISTS (SELECT 1 FROM unnest(v_links) l WHERE l.is_new) THEN
            -- sorted, so that two transactions that find the same pages do not deadlock
            INSERT INTO pages (url, domain, origin, kind, patterns, request_target)
            SELECT DISTINCT ON (l.domain, l.url) l.url, l.domain, l.origin, l.kind, l.patterns, l.request_target
            FROM unnest(v_links) l WHERE l.is_new ORDER BY l.domain, l.url
            ON CONFLICT (domain, url) DO NOTHING;
            v_links := ARRAY(
                SELECT (l.from_id, l.run_id, l.claimed_domain, l.redirect, l.follow, l.after,
                    coalesce(l.id, (SELECT x.id FROM pages x WHERE x.domain = l.domain AND x.url = l.url)),
                    l.is_new, l.url, l.domain, l.origin, l.kind, l.patterns, l.nofollow, l.trap, l.trap_evidence, l.anchor,
                    l.rel, l.priority, l.request_target)::found_link
                FROM unnest(v_links) l
            );
        END IF;
        INSERT INTO page_links (from_page_id, to_page_id, kind, nofollow, anchor, rel)
        SELECT l.from_id, l.id, link_kind(l.redirect, l.kind) AS kind, bool_and(l.nofollow), min(l.anchor), min(l.rel)
        FROM unnest(v_links) l GROUP BY l.from_id, l.id, link_kind(l.redirect, l.kind) ORDER BY l.from_id, l.id
        ON CONFLICT DO NOTHING;
        IF jsonb_path_exists(p, '$[*].links[*].trap') THEN
            UPDATE pages x SET trap = k.trap, trap_evidence = k.trap_evidence, updated_at = clock_timestamp()
            FROM (
                SELECT DISTINCT ON (l.id) l.id, l.trap, l.trap_evidence FROM unnest(v_links) l
                WHERE l.trap IS NOT NULL ORDER BY l.id, l.from_id, l.after DESC
            ) k
            WHERE x.id = ANY (ARRAY(SELECT y.id FROM unnest(v_links) y WHERE y.trap IS NOT NULL)) AND x.id = k.id AND x.trap IS NULL;
        END IF;
        v_found := ARRAY(
            SELECT (l.run_id, l.id, l.domain, l.url, l.kind, l.claimed_domain, l.follow, l.is_new, l.after, l.priority)::found_page
            FROM unnest(v_links) l
            WHERE NOT l.nofollow AND l.trap IS NULL AND l.follow IS NOT NULL
        );
    END IF;
    v_reread_pages := ARRAY(SELECT a.page_id FROM unnest(v) a WHERE a.fetched_at IS NOT NULL AND a.doc ? 'all_links');
    IF cardinality(v_reread_pages) > 0 THEN
        -- pages that were read before: links have changed, are there again, or are gone
        UPDATE page_links x SET nofollow = f.nofollow, anchor = f.anchor, rel = f.rel, gone_at = NULL, last_seen = NULL
        FROM (
            SELECT l.from_id, l.id, link_kind(l.redirect, l.kind) AS kind,
                bool_and(l.nofollow) AS nofollow, min(l.anchor) AS anchor, min(l.rel) AS rel
            FROM unnest(v_links) l WHERE l.from_id = ANY (v_reread_pages) GROUP BY l.from_id, l.id, link_kind(l.redirect, l.kind)
        ) f
        WHERE x.from_page_id = ANY (v_reread_pages) AND x.from_page_id = f.from_id AND x.to_page_id = f.id AND x.kind = f.kind
            AND (x.nofollow, x.anchor, x.rel, x.gone_at) IS DISTINCT FROM (f.nofollow, f.anchor, f.rel, NULL);
        UPDATE page_links x SET gone_at = a.ended_at, last_seen = a.fetched_at
        FROM unnest(v) a
        WHERE x.from_page_id = ANY (v_reread_pages) AND a.page_id = ANY (v_reread_pages) AND x.from_page_id = a.page_id AND x.gone_at IS NULL
            AND (x.kind <> ALL (kinds('announces')) OR a.doc ? 'all_sitemaps')
            AND NOT EXISTS (
                SELECT 1 FROM unnest(v_links) l
                WHERE l.from_id = x.from_page_id AND l.id = x.to_page_id AND link_kind(l.redirect, l.kind) = x.kind
            );
    END IF;
    IF jsonb_path_exists(p, '$[*].follow_known') THEN
        v_found := v_found || ARRAY(
            SELECT (a.run_id, x.id, x.domain, x.url, crawl_kind(k.kind, x.kind), a.domain, k.follow, false, 0,
                sitemap_priority(k.kind, k.follow, row_number() OVER (PARTITION BY a.n, k.kind ORDER BY x.id)))::found_page
            FROM unnest(v) a CROSS JOIN LATERAL jsonb_each(a.doc -> 'follow_known') AS k (kind, follow)
            CROSS JOIN LATERAL (
                SELECT y.to_page_id, y.nofollow FROM page_links y
                WHERE y.from_page_id = a.page_id AND y.kind = k.kind AND y.gone_at IS NULL OFFSET 0
            ) l
            CROSS JOIN LATERAL (
                SELECT y.id, y.domain, y.url, y.kind, y.trap FROM pages y WHERE y.id = l.to_page_id LIMIT 1
            ) x
            -- each run decides again about a page that a pattern stopped
            WHERE NOT l.nofollow AND coalesce(x.trap, 'pattern') = 'pattern'
        );
    END IF;
    IF jsonb_path_exists(p, '$[*].all_images') OR jsonb_path_exists(p, '$[*].images') THEN
        v_found := v_found || images_find(v);
    END IF;
    IF jsonb_path_exists(p, '$[*].links_forbidden') THEN
        v_forbidden_pages := ARRAY(SELECT a.page_id FROM unnest(v) a WHERE a.doc ? 'links_forbidden');
        DELETE FROM page_links x WHERE x.from_page_id = ANY (v_forbidden_pages);
        DELETE FROM provenance o WHERE o.page_id = ANY (v_forbidden_pages);
    END IF;
    IF jsonb_path_exists(p, '$[*].follow_known.image') THEN
        -- the images that pages named at their last visit
        v_found := v_found || ARRAY(
            SELECT (a.run_id, i.page_id, i.domain, i.url, 'image', a.domain, a.doc #> '{follow_known,image}', false, 0,
                kind_priority('image'))::found_page
            FROM unnest(v) a CROSS JOIN LATERAL (
                SELECT o.image_id FROM provenance o
                WHERE o.page_id = a.page_id AND o.gone_at IS NULL AND o.discovery_type <> 'icon' OFFSET 0
            ) o CROSS JOIN LATERAL (SELECT x.page_id, x.domain, x.url FROM images x WHERE x.id = o.image_id LIMIT 1) i
            WHERE a.doc #> '{follow_known,image}' IS NOT NULL
        );
    END IF;
    IF cardinality(v_found) = 0 THEN
        RETURN NULL;
    END IF;
    v_added := attempts_add(v_found);
    IF v_added.newly_due_runs IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(SELECT a.n FROM unnest(v) a WHERE a.run_id = ANY (v_added.newly_due_runs));
END
$$;

-- Returns the kind of a link's request. A plain link leads to a page, even if a sitemap link
-- exists.
CREATE OR REPLACE FUNCTION crawl_kind(p_link text, p_page text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_link = ANY (kinds('announces')) THEN p_link
        WHEN p_link = 'link' AND p_page <> ALL (kinds('counted')) THEN 'page'
        ELSE p_page
    END
$$;

-- Returns the priority of the nth sitemap, or of a feed, that a page or sitemap names; null means
-- by depth. A feed and the first sitemap come after the linked pages, so that the first pages of a
-- site are soon found by a search. Each further sitemap comes after the pages one link deeper, so
-- that hundreds of sitemaps do not precede all pages. Retries come last (decide.RetryPriority).
CREATE OR REPLACE FUNCTION sitemap_priority(p_link text, p_follow jsonb, n bigint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN p_link = ANY (kinds('nested')) THEN greatest(-n - (p_follow ->> 'depth')::bigint, -5000)::smallint
        WHEN p_link = ANY (kinds('announces')) THEN (-1 - (p_follow ->> 'depth')::bigint)::smallint
    END
$$;

-- Returns the kind of a link, by the kind of its target.
CREATE OR REPLACE FUNCTION link_kind(redirect boolean, kind text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN redirect THEN 'redirect' WHEN kind = ANY (kinds('announces')) THEN kind ELSE 'link' END
$$;
