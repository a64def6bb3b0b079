-- The kinds of requests. Generated from crawl/kinds (go tool task generate): change them there.

-- Whether requests of a kind count as pages of their run.
CREATE OR REPLACE FUNCTION kind_counted(p_kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_kind IN ('page', 'favicon')
$$;

-- Whether they count as images of their run.
CREATE OR REPLACE FUNCTION kind_image(p_kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_kind = 'image'
$$;

-- Whether what is fetched is read for its links and its words.
CREATE OR REPLACE FUNCTION kind_document(p_kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_kind = 'page'
$$;

-- Whether it announces pages, as sitemaps and feeds do.
CREATE OR REPLACE FUNCTION kind_announces(p_kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_kind IN ('sitemap', 'feed')
$$;

-- Whether files of the kind name each other.
CREATE OR REPLACE FUNCTION kind_nested(p_kind text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT p_kind = 'sitemap'
$$;

-- Where crawls of a kind come in the frontier; null is by depth and rank.
CREATE OR REPLACE FUNCTION kind_priority(p_kind text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE p_kind WHEN 'image' THEN 3::smallint END
$$;
