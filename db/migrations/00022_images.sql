-- +goose Up

-- What the bytes of images say (crawl.ImageContent): one row for all URLs that have the
-- same.
CREATE TABLE image_contents (
    sha256_hash text PRIMARY KEY CHECK (sha256_hash ~ '^[0-9a-f]{64}$'),
    file_size_bytes bigint NOT NULL,
    format text NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    frames integer,
    -- null where the picture was not decoded, for undecoded
    phash bigint,
    dhash bigint,
    undecoded text,
    -- there is too little in the picture for its hashes to tell it from others
    flat boolean NOT NULL DEFAULT false,
    camera text,
    taken_at timestamptz,
    creator text,
    credit text,
    copyright text,
    license text,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    -- since when its bytes, and a small picture of it, are in the object store
    stored_at timestamptz,
    thumbnail_at timestamptz
);

-- The three bands of a hash (image_band_near): every third bit of it, so that each band has
-- its part of the low frequencies, which are less random than the others. Two hashes that
-- differ in at most 8 bits differ in at most 2 in one of them. Each index has all of the
-- hash, so that rows are read only of those that are alike.
CREATE INDEX image_contents_band1 ON image_contents ((phash & -7905747460161236407), phash)
WHERE phash IS NOT NULL AND NOT flat;
CREATE INDEX image_contents_band2 ON image_contents ((phash & 2635249153387078802), phash)
WHERE phash IS NOT NULL AND NOT flat;
CREATE INDEX image_contents_band3 ON image_contents ((phash & 5270498306774157604), phash)
WHERE phash IS NOT NULL AND NOT flat;

-- An image: one row a URL, from when a page names it. What it shares with others of the
-- same bytes is copied from image_contents.
CREATE TABLE images (
    id uuid PRIMARY KEY,
    -- the page of this URL, of kind image
    page_id bigint NOT NULL UNIQUE,
    url text NOT NULL UNIQUE,
    domain text NOT NULL,
    sha256_hash text REFERENCES image_contents (sha256_hash),
    width integer,
    height integer,
    format text,
    content_type text,
    file_size_bytes bigint,
    phash bigint,
    dhash bigint,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    -- when it was answered last, with these bytes
    last_seen_at timestamptz,
    -- null while it was not fetched; false says that its last fetch brought nothing, for
    -- problem
    download_success boolean,
    problem text
) WITH (fillfactor = 80);

CREATE INDEX images_domain ON images (domain, id);
CREATE INDEX images_content ON images (sha256_hash) WHERE sha256_hash IS NOT NULL;

-- Which pages name an image, and how: one row an image and page.
CREATE TABLE provenance (
    id uuid PRIMARY KEY,
    image_id uuid NOT NULL REFERENCES images (id),
    page_id bigint NOT NULL,
    source_page_url text NOT NULL,
    source_domain text NOT NULL,
    discovered_at timestamptz NOT NULL DEFAULT now(),
    discovery_type text NOT NULL,
    alt text,
    caption text,
    -- what the page says, in CSS pixels
    width integer,
    height integer,
    variants text [],
    -- when the page was found not to have it any more
    gone_at timestamptz,
    UNIQUE (page_id, image_id)
);

CREATE INDEX provenance_image ON provenance (image_id);
CREATE INDEX provenance_domain ON provenance (source_domain);

-- Whether the images of a page were recorded when it was read last.
ALTER TABLE pages ADD COLUMN images boolean;

-- Images that were found on the pages of a domain, requests for images that were begun to
-- it, and images from it whose content was recorded.
ALTER TABLE run_domains
ADD COLUMN images_found bigint NOT NULL DEFAULT 0,
ADD COLUMN images_started bigint NOT NULL DEFAULT 0,
ADD COLUMN images_stored bigint NOT NULL DEFAULT 0;

-- An image that an attempt has found on a page.
CREATE TYPE found_image AS (
    n integer,
    place bigint,
    page_id bigint,
    doc jsonb
);

DROP TYPE domain_run;
CREATE TYPE domain_run AS (
    n integer,
    crawl bigint,
    run_id bigint,
    name text,
    settings jsonb,
    seed boolean,
    -- of the run, of the domain in it, and of its registered domain
    pages_started bigint,
    domain_started bigint,
    registered_started bigint,
    depths jsonb,
    growths smallint,
    images_started bigint,
    next_due timestamptz,
    -- when the next image is due, while none is
    next_image timestamptz,
    locked_at timestamptz,
    crowded boolean,
    spent text,
    turn_started bigint,
    bytes bigint
);

DROP FUNCTION IF EXISTS domain_priority(integer, real, real, bigint, real, real, jsonb);
DROP FUNCTION IF EXISTS budget_refund(bigint, text);

-- A program from before takes an image for a page.
UPDATE schema_compatibility SET oldest = 22;

-- +goose Down
-- Migrations only go forward.
