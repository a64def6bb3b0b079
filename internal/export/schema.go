package export

import (
	"slices"
	"time"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/kinds"
	"github.com/mosey-web/mosey/crawl/report"
)

func linkColumns() []column[report.LinkRow] {
	type row = report.LinkRow
	return []column[row]{
		number("from_id", "`id` of the page with the link", func(r *row) int64 { return r.FromID }),
		text("from_url", "URL of that page", func(r *row) string { return r.FromURL }),
		lowCardinality(text("from_domain", "domain of that page", func(r *row) string { return r.FromDomain })),
		number("to_id", "`id` of the target page", func(r *row) int64 { return r.ToID }),
		text("to_url", "URL of the target page", func(r *row) string { return r.URL }),
		lowCardinality(text("to_domain", "domain of the target page", func(r *row) string { return r.Domain })),
		lowCardinality(text("kind", "`link`, `redirect`, `sitemap` or `feed`", func(r *row) string { return r.Kind })),
		maybeText("anchor", "text of the link", func(r *row) string { return r.Anchor }),
		flag("nofollow", "whether the link or its page has `nofollow`", func(r *row) bool { return r.NoFollow }),
		flag("ugc", "whether the link has `ugc`", hasMark("ugc")),
		flag("sponsored", "whether the link has `sponsored`", hasMark("sponsored")),
		flag("canonical", "whether the target is only the page's canonical URL", hasMark("canonical")),
		flag("alternate", "whether the target is only the page in another language", hasMark("alternate")),
		instant("first_seen", "time when the link was first found", func(r *row) time.Time { return r.FirstSeen }),
		maybeInstant("last_seen", "time when the link was last found", func(r *row) time.Time { return r.LastSeen }),
		maybeInstant("gone_at", "time when the link was found missing; null while it exists", func(r *row) time.Time { return r.GoneAt }),
	}
}

// hasMark reports whether a link has a mark of crawl.Rel.
func hasMark(name string) func(*report.LinkRow) bool {
	return func(r *report.LinkRow) bool { return slices.Contains(r.Rel, name) }
}

func crawlColumns() []column[report.CrawlRow] {
	type row = report.CrawlRow
	return []column[row]{
		number("id", "id of the attempt", func(r *row) int64 { return r.ID }),
		number("page_id", "`id` of the page", func(r *row) int64 { return r.PageID }),
		maybeNumber("previous_id", "`id` of the previous attempt of the same run", func(r *row) *int64 { return r.PreviousID }),
		lowCardinality(text("run", "name of the run", func(r *row) string { return r.Run })),
		lowCardinality(text("domain", "requested domain", func(r *row) string { return r.Domain })),
		text("url", "requested URL", func(r *row) string { return r.URL }),
		lowCardinality(text("kind", kinds.Names(), func(r *row) string { return string(r.Kind) })),
		flag("prerequisite", "whether another page required the attempt", func(r *row) bool { return r.Prerequisite }),
		lowCardinality(text("outcome", "`success`, `failed`, `timeout`, `blocked_robots`, `blocked_4xx`, `blocked_5xx`, `skipped`",
			func(r *row) string { return string(r.Outcome) })),
		positive("status_code", "HTTP status", func(r *row) int64 { return int64(r.StatusCode) }),
		maybeText("error", "error message", func(r *row) string { return r.Error }),
		lowCardinality(maybeText("skip_reason", "reason for no request, or for a response without content",
			func(r *row) string { return r.Skipped })),
		lowCardinality(maybeText("unchanged_reason", "evidence that the content is unchanged", func(r *row) string { return r.Unchanged })),
		lowCardinality(maybeText("content_type", "Content-Type of the response", func(r *row) string { return r.ContentType })),
		maybeNumber("bytes", "size of the body on the wire", func(r *row) *int64 { return r.Bytes }),
		flag("truncated", "whether the body was longer than the limit", func(r *row) bool { return r.Truncated }),
		lowCardinality(maybeText("ip", "requested address", func(r *row) string { return r.IP })),
		number("depth", "links between a seed and the page", func(r *row) int64 { return int64(r.Depth) }),
		number("redirects", "redirects since the last link", func(r *row) int64 { return int64(r.Redirects) }),
		instant("scheduled_for", "time when the attempt was due", func(r *row) time.Time { return r.ScheduledFor }),
		instant("completed_at", "time when the attempt ended", func(r *row) time.Time { return r.CompletedAt }),
		maybeMillis("duration_ms", "duration of the request", func(r *row) *crawl.Millis { return r.Duration }),
		maybeMillis("delay_ms", "delay of the domain afterwards; null without a request",
			func(r *row) *crawl.Millis { return r.Delay }),
		lowCardinality(maybeText("delay_reason", "reason for the delay", func(r *row) string { return r.DelayReason })),
		maybeMillis("retry_after_ms", "delay that the server requested with Retry-After", func(r *row) *crawl.Millis { return r.RetryAfter }),
		flag("lost", "whether the worker died or stalled: the request may have been made", func(r *row) bool { return r.Lost }),
		lowCardinality(maybeText("worker", "process that made the request: `mosey/VERSION PID@HOST`", func(r *row) string { return r.Worker })),
		number("attempt", "number of the attempt in the visit to its page, from 1", func(r *row) int64 { return int64(r.Attempt) }),
		flag("is_revisit", "whether the attempt began another visit to the page", func(r *row) bool { return r.IsRevisit }),
		maybeNumber("robots_version", "fetch time of the applied robots.txt, in microseconds since 1970",
			func(r *row) *int64 { return r.RobotsVersion }),
		maybeMillis("ip_delay_ms", "delay of the address afterwards", func(r *row) *crawl.Millis { return r.IPDelay }),
		lowCardinality(maybeText("subnet", "network of the address", func(r *row) string { return r.Subnet })),
		maybeMillis("subnet_delay_ms", "delay of the subnet afterwards", func(r *row) *crawl.Millis { return r.SubnetDelay }),
		lowCardinality(maybeText("registered", "registered domain whose delay applied", func(r *row) string { return r.Registered })),
		maybeMillis("registered_delay_ms", "delay of the registered domain afterwards", func(r *row) *crawl.Millis { return r.RegisteredDelay }),
		maybeText("archived", "record of the response in the archive, a JSON object: `file`, `offset`, `length`, `digest`, `at`",
			func(r *row) string { return string(r.Archived) }),
	}
}

func domainColumns() []column[report.DomainRow] {
	type row = report.DomainRow
	total := func(name, doc string, get func(*report.Totals) int64) column[row] {
		return number(name, doc, func(r *row) int64 { return get(&r.Totals) })
	}
	return []column[row]{
		number("id", "id of the domain", func(r *row) int64 { return r.ID }),
		text("domain", "host, without `www.`", func(r *row) string { return r.Domain }),
		lowCardinality(text("status", "`pending`, `active`, `exhausted`, `blocked`, `unreachable`",
			func(r *row) string { return string(r.Status) })),
		maybeText("reason", "reason for the status; null after a decision of an operator", func(r *row) string {
			if slices.Contains(r.Controls, string(crawl.ControlBlock)) || slices.Contains(r.Controls, string(crawl.ControlStop)) {
				return "" // an operator's reason
			}
			return r.Reason
		}),
		maybeInstant("deferred_until", "no request is made before this time", func(r *row) time.Time { return r.DeferredUntil }),
		lowCardinality(maybeText("source", "kind of seed list with the domain: `tranco`, `urls`, …", func(r *row) string { return r.Source })),
		positive("seed_rank", "rank in that list", func(r *row) int64 { return int64(r.Rank) }),
		declare(Real, false, "priority_score", "order of the dispatcher: higher is earlier", func(r *row) value { return rounded(r.Score) }),
		maybeText("claimed_by", "workflow that serves the domain", func(r *row) string { return r.Claimed }),
		maybeInstant("claim_expires_at", "time when the claim ends unless it is renewed", func(r *row) time.Time { return r.ClaimEnd }),
		maybeInstant("counted_at", "time when the next columns, up to `last_crawled_at`, were last counted",
			func(r *row) time.Time { return r.CountedAt }),
		number("pages_crawled", "successful fetches of pages, repetitions included", func(r *row) int64 { return r.Crawled }),
		number("pages_discovered", "known pages, up to a million", func(r *row) int64 { return r.Discovered }),
		maybeReal("error_rate", "share of failures in the last hundred page requests", func(r *row) *float32 { return r.ErrorRate }),
		lowCardinality(maybeText("placeholder", "`parked` or `default page` if the pages read by these requests are all such pages; "+
			"`soft 404` if the site sends pages that do not exist",
			func(r *row) string { return string(r.Placeholder) })),
		maybeInstant("owner_since", "time at which another owner was found", func(r *row) time.Time { return r.OwnerSince }),
		maybeReal("yield_rate", "share of new content in the last hundred page requests", func(r *row) *float32 { return r.YieldRate }),
		positive("avg_response_ms", "average duration of these requests",
			func(r *row) int64 { return time.Duration(r.AvgResponse).Milliseconds() }),
		positive("avg_page_bytes", "average body size of these requests, in bytes", func(r *row) int64 { return r.AvgBytes }),
		maybeInstant("first_crawled_at", "time of the first request", func(r *row) time.Time { return r.First }),
		maybeInstant("last_crawled_at", "time of the last request", func(r *row) time.Time { return r.Last }),
		texts("controls", "controls: `pause`, `stop`, `block`, `delay`, `budget`, `window`",
			func(r *row) []string { return r.Controls }),
		positive("crawl_delay_ms", "largest `Crawl-delay` of the domain's robots.txt files",
			func(r *row) int64 { return r.CrawlDelay.Count() }),
		texts("sitemaps", "sitemap URLs in the domain's robots.txt files", func(r *row) []string { return r.Sitemaps }),
		flag("seed", "whether the domain was seeded", func(r *row) bool { return r.Seed }),
		number("runs", "runs with the domain; the next columns are sums over these runs", func(r *row) int64 { return r.Runs }),
		total("requests", "attempts with a request, failed or not", func(t *report.Totals) int64 { return t.RequestCount }),
		total("success", "attempts with the outcome `success`", func(t *report.Totals) int64 { return t.Success }),
		total("failed", "attempts with the outcome `failed`", func(t *report.Totals) int64 { return t.Failed }),
		total("timeout", "attempts with the outcome `timeout`", func(t *report.Totals) int64 { return t.Timeout }),
		total("blocked_robots", "attempts with the outcome `blocked_robots`", func(t *report.Totals) int64 { return t.BlockedRobots }),
		total("blocked_4xx", "attempts with the outcome `blocked_4xx`", func(t *report.Totals) int64 { return t.Blocked4xx }),
		total("blocked_5xx", "attempts with the outcome `blocked_5xx`", func(t *report.Totals) int64 { return t.Blocked5xx }),
		total("skipped", "attempts with the outcome `skipped`", func(t *report.Totals) int64 { return t.Skipped }),
		total("nofollow", "pages that forbid following links", func(t *report.Totals) int64 { return t.NoFollow }),
		total("bytes", "body bytes on the wire", func(t *report.Totals) int64 { return t.Bytes }),
		total("images_found", "images that the domain's pages name", func(t *report.Totals) int64 { return t.ImagesFound }),
		total("images_requests", "requests for images, not counted in the other columns",
			func(t *report.Totals) int64 { return t.ImageRequests }),
		total("images_stored", "images of the domain with recorded content", func(t *report.Totals) int64 { return t.ImagesStored }),
		instant("found_at", "when it was first heard of", func(r *row) time.Time { return r.FoundAt }),
	}
}

func imageColumns() []column[report.ImageRow] {
	type row = report.ImageRow
	metaColumn := func(name, doc string, get func(*crawl.ImageMeta) string) column[row] {
		return maybeText(name, doc, func(r *row) string { return get(&r.Meta) })
	}
	hash := func(name, doc string, get func(*row) *crawl.ImageHash) column[row] {
		return maybeText(name, doc, func(r *row) string {
			if h := get(r); h != nil {
				return h.String()
			}
			return ""
		})
	}
	return []column[row]{
		text("id", "id of the image, a UUID", func(r *row) string { return r.ID }),
		text("url", "canonical URL", func(r *row) string { return r.URL }),
		lowCardinality(text("domain", "host of the image, without `www.`", func(r *row) string { return r.Domain })),
		maybeText("sha256_hash", "SHA-256 of the bytes at the last fetch, in hexadecimal; the next columns up to `license` describe these bytes",
			func(r *row) string { return r.SHA256 }),
		positive("width", "displayed width, in pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "displayed height, in pixels", func(r *row) int64 { return int64(r.Height) }),
		lowCardinality(maybeText("format", "`jpeg`, `png`, `gif`, `webp`, `bmp`, `tiff`, `avif`, `heic`, by the first bytes",
			func(r *row) string { return string(r.Format) })),
		lowCardinality(maybeText("content_type", "Content-Type of the response", func(r *row) string { return r.ContentType })),
		positive("file_size_bytes", "number of bytes", func(r *row) int64 { return r.Bytes }),
		hash("phash", "perceptual hash, 16 hexadecimal digits; null if the image was not decoded",
			func(r *row) *crawl.ImageHash { return r.PHash }),
		hash("dhash", "second perceptual hash", func(r *row) *crawl.ImageHash { return r.DHash }),
		positive("frames", "more than 1 for an animation", func(r *row) int64 { return int64(r.Frames) }),
		flag("flat", "whether the image has too little detail for its hashes to distinguish it", func(r *row) bool { return r.Flat }),
		lowCardinality(maybeText("undecoded", "reason for missing hashes", func(r *row) string { return r.Undecoded })),
		lowCardinality(metaColumn("camera", "make and model, from the metadata", func(m *crawl.ImageMeta) string { return m.Camera })),
		maybeInstant("taken_at", "time of the picture from the metadata, in the camera's time", func(r *row) time.Time { return r.Meta.TakenAt }),
		metaColumn("creator", "from the metadata", func(m *crawl.ImageMeta) string { return m.Creator }),
		metaColumn("credit", "from the metadata", func(m *crawl.ImageMeta) string { return m.Credit }),
		metaColumn("copyright", "from the metadata", func(m *crawl.ImageMeta) string { return m.Copyright }),
		metaColumn("license", "terms of use, usually a URL", func(m *crawl.ImageMeta) string { return m.License }),
		instant("discovered_at", "time when a page with the image was first read", func(r *row) time.Time { return r.DiscoveredAt }),
		maybeInstant("last_seen_at", "time of the last response", func(r *row) time.Time { return r.LastSeenAt }),
		declare(Bool, true, "download_success", "whether the last fetch returned the image; null before the first fetch",
			func(r *row) value { return orNull(r.Success, truth) }),
		lowCardinality(maybeText("problem", imageProblemDoc, func(r *row) string { return string(r.Problem) })),
		maybeInstant("stored_at", "time when the bytes were stored under their hash", func(r *row) time.Time { return r.StoredAt }),
		number("pages", "number of pages with the image, up to 1000; the next columns describe the first page",
			func(r *row) int64 { return r.Pages }),
		maybeText("source_page_url", "URL of that page", func(r *row) string { return r.Source }),
		lowCardinality(maybeText("discovery_type", discoveryDoc, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "alternative text", func(r *row) string { return r.Alt }),
		maybeText("caption", "caption of the figure", func(r *row) string { return r.Caption }),
	}
}

const (
	imageProblemDoc = "reason for no image: `not answered`, `not an image`, `svg`, `mismatch`, `too small`, `too large`, " +
		"`malformed`, `forbidden`"
	discoveryDoc = "source of the image in the page: `img`, `srcset`, `picture`, `lazy`, `css`, `og:image`, `twitter:image`, " +
		"`image_src`, `icon`"
)

func provenanceColumns() []column[report.ProvenanceRow] {
	type row = report.ProvenanceRow
	return []column[row]{
		text("id", "id of the pair of image and page, a UUID", func(r *row) string { return r.ID }),
		text("image_id", "`id` of the image", func(r *row) string { return r.ImageID }),
		text("image_url", "URL of the image", func(r *row) string { return r.ImageURL }),
		number("page_id", "`id` of the page with the image", func(r *row) int64 { return r.PageID }),
		text("source_page_url", "URL of the page", func(r *row) string { return r.PageURL }),
		lowCardinality(text("source_domain", "domain of the page", func(r *row) string { return r.Domain })),
		instant("discovered_at", "time when the image was first found in the page", func(r *row) time.Time { return r.DiscoveredAt }),
		lowCardinality(text("discovery_type", discoveryDoc, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "alternative text", func(r *row) string { return r.Alt }),
		maybeText("caption", "caption of the figure", func(r *row) string { return r.Caption }),
		positive("width", "width in the page, in CSS pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "height in the page, in CSS pixels", func(r *row) int64 { return int64(r.Height) }),
		texts("variants", "URLs of the same image in other sizes and formats", func(r *row) []string { return r.Variants }),
		maybeInstant("gone_at", "time when the image was found missing; null while it exists", func(r *row) time.Time { return r.GoneAt }),
	}
}
