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
		number("from_id", "`id` of the page that has the link", func(r *row) int64 { return r.FromID }),
		text("from_url", "its URL", func(r *row) string { return r.FromURL }),
		few(text("from_domain", "its domain", func(r *row) string { return r.FromDomain })),
		number("to_id", "`id` of the page that is linked to", func(r *row) int64 { return r.ToID }),
		text("to_url", "its URL", func(r *row) string { return r.URL }),
		few(text("to_domain", "its domain", func(r *row) string { return r.Domain })),
		few(text("kind", "`link`, `redirect`, or what it names: `sitemap`, `feed`", func(r *row) string { return r.Kind })),
		maybeText("anchor", "text of the link", func(r *row) string { return r.Anchor }),
		flag("nofollow", "whether the link, or its page, says so", func(r *row) bool { return r.NoFollow }),
		flag("ugc", "whether the link says so", marked("ugc")),
		flag("sponsored", "whether the link says so", marked("sponsored")),
		flag("canonical", "whether it is only the page's canonical URL", marked("canonical")),
		flag("alternate", "whether it is only the page in another language", marked("alternate")),
		instant("first_seen", "when its page was first read with it", func(r *row) time.Time { return r.FirstSeen }),
		maybeInstant("last_seen", "when its page was last read with it", func(r *row) time.Time { return r.LastSeen }),
		maybeInstant("gone_at", "when its page was read without it; null while it is there", func(r *row) time.Time { return r.GoneAt }),
	}
}

// marked reports whether a link has a mark of crawl.Rel.
func marked(name string) func(*report.LinkRow) bool {
	return func(r *report.LinkRow) bool { return slices.Contains(r.Rel, name) }
}

func crawlColumns() []column[report.CrawlRow] {
	type row = report.CrawlRow
	return []column[row]{
		number("id", "names the attempt", func(r *row) int64 { return r.ID }),
		number("page_id", "`id` of the page", func(r *row) int64 { return r.PageID }),
		maybeNumber("previous_id", "`id` of the attempt of the same run that it follows", func(r *row) *int64 { return r.PreviousID }),
		few(text("run", "name of the run", func(r *row) string { return r.Run })),
		few(text("domain", "domain that was asked", func(r *row) string { return r.Domain })),
		text("url", "what was asked for", func(r *row) string { return r.URL }),
		few(text("kind", kinds.Names(), func(r *row) string { return string(r.Kind) })),
		flag("prerequisite", "whether it was made for another page's sake", func(r *row) bool { return r.Prerequisite }),
		few(text("outcome", "`success`, `failed`, `timeout`, `blocked_robots`, `blocked_4xx`, `blocked_5xx`, `skipped`",
			func(r *row) string { return string(r.Outcome) })),
		positive("status_code", "HTTP status", func(r *row) int64 { return int64(r.StatusCode) }),
		maybeText("error", "what went wrong", func(r *row) string { return r.Error }),
		few(maybeText("skip_reason", "why no request was made, or why a successful one gave nothing", func(r *row) string { return r.Skipped })),
		few(maybeText("unchanged_reason", "how it was known that nothing had changed", func(r *row) string { return r.Unchanged })),
		few(maybeText("content_type", "as the server said", func(r *row) string { return r.ContentType })),
		maybeNumber("bytes", "size of the body on the wire", func(r *row) *int64 { return r.Bytes }),
		flag("truncated", "whether the body went on past what is read of one", func(r *row) bool { return r.Truncated }),
		few(maybeText("ip", "address that was asked", func(r *row) string { return r.IP })),
		number("depth", "links between a seed and the page", func(r *row) int64 { return int64(r.Depth) }),
		number("redirects", "redirects since the last link", func(r *row) int64 { return int64(r.Redirects) }),
		instant("scheduled_for", "when it was due", func(r *row) time.Time { return r.ScheduledFor }),
		instant("completed_at", "when it had ended", func(r *row) time.Time { return r.CompletedAt }),
		maybeMillis("duration_ms", "how long the request took", func(r *row) *crawl.Millis { return r.Duration }),
		maybeMillis("delay_ms", "how long the domain was left alone afterwards; null where no request was made",
			func(r *row) *crawl.Millis { return r.Delay }),
		few(maybeText("delay_reason", "why so long", func(r *row) string { return r.DelayReason })),
		maybeMillis("retry_after_ms", "how long the server asked us to wait", func(r *row) *crawl.Millis { return r.RetryAfter }),
		flag("lost", "whether the worker died or stood still: the request may have been made", func(r *row) bool { return r.Lost }),
		few(maybeText("worker", "process that made the request: `mosey/VERSION PID@HOST`", func(r *row) string { return r.Worker })),
		number("attempt", "its number in the visit to its page, from 1", func(r *row) int64 { return int64(r.Attempt) }),
		flag("is_revisit", "whether it began a further visit to the page", func(r *row) bool { return r.Again }),
		maybeNumber("robots_version", "the robots.txt that decided: when it was fetched, in microseconds since 1970",
			func(r *row) *int64 { return r.RobotsVersion }),
		maybeMillis("ip_delay_ms", "how long the address was left alone afterwards", func(r *row) *crawl.Millis { return r.IPDelay }),
		few(maybeText("subnet", "network of the address", func(r *row) string { return r.Subnet })),
		maybeMillis("subnet_delay_ms", "how long it was left alone afterwards", func(r *row) *crawl.Millis { return r.SubnetDelay }),
		few(maybeText("registered", "registered domain whose delay the request kept", func(r *row) string { return r.Registered })),
		maybeMillis("registered_delay_ms", "how long it was left alone afterwards", func(r *row) *crawl.Millis { return r.RegisteredDelay }),
	}
}

func domainColumns() []column[report.DomainRow] {
	type row = report.DomainRow
	total := func(name, doc string, get func(*report.Totals) int64) column[row] {
		return number(name, doc, func(r *row) int64 { return get(&r.Totals) })
	}
	return []column[row]{
		number("id", "names the domain", func(r *row) int64 { return r.ID }),
		text("domain", "host, without `www.`", func(r *row) string { return r.Domain }),
		few(text("status", "`pending`, `active`, `exhausted`, `blocked`, `unreachable`", func(r *row) string { return string(r.Status) })),
		maybeText("reason", "why; null where a person has decided that", func(r *row) string {
			if slices.Contains(r.Controls, string(crawl.ControlBlock)) || slices.Contains(r.Controls, string(crawl.ControlStop)) {
				return "" // a person's reason
			}
			return r.Reason
		}),
		maybeInstant("deferred_until", "it is not asked before", func(r *row) time.Time { return r.DeferredUntil }),
		few(maybeText("source", "kind of list that has named it: `tranco`, `urls`, …", func(r *row) string { return r.Source })),
		positive("seed_rank", "its place there", func(r *row) int64 { return int64(r.Rank) }),
		realNumber("priority_score", "by what the dispatcher takes domains: higher is sooner", func(r *row) float64 { return r.Score }),
		maybeText("claimed_by", "workflow that serves it", func(r *row) string { return r.Claimed }),
		maybeInstant("claim_expires_at", "its claim ends unless it is renewed", func(r *row) time.Time { return r.ClaimEnd }),
		maybeInstant("counted_at", "when what follows, up to `last_crawled_at`, was counted last", func(r *row) time.Time { return r.CountedAt }),
		number("pages_crawled", "pages that were fetched, each time anew", func(r *row) int64 { return r.Crawled }),
		number("pages_discovered", "pages that are known, up to a million", func(r *row) int64 { return r.Discovered }),
		maybeReal("error_rate", "share of the last hundred requests for its pages that failed", func(r *row) *float32 { return r.ErrorRate }),
		maybeReal("yield_rate", "share of them that brought something new", func(r *row) *float32 { return r.YieldRate }),
		positive("avg_response_ms", "how long they took on average", func(r *row) int64 { return time.Duration(r.AvgResponse).Milliseconds() }),
		positive("avg_page_bytes", "bytes of their bodies on average", func(r *row) int64 { return r.AvgBytes }),
		maybeInstant("first_crawled_at", "when it was first asked", func(r *row) time.Time { return r.First }),
		maybeInstant("last_crawled_at", "when it was last asked", func(r *row) time.Time { return r.Last }),
		texts("controls", "what people have decided about it: `pause`, `stop`, `block`, `delay`, `budget`, `window`",
			func(r *row) []string { return r.Controls }),
		positive("crawl_delay_ms", "largest `Crawl-delay` of its robots.txt files",
			func(r *row) int64 { return r.CrawlDelay.Count() }),
		texts("sitemaps", "URLs that its robots.txt files name", func(r *row) []string { return r.Sitemaps }),
		flag("seed", "whether it was seeded", func(r *row) bool { return r.Seed }),
		number("runs", "runs that know it; what follows is summed over them", func(r *row) int64 { return r.Runs }),
		total("requests", "requests that were made or tried", func(t *report.Totals) int64 { return t.Asked }),
		total("success", "attempts with this outcome", func(t *report.Totals) int64 { return t.Success }),
		total("failed", "the same", func(t *report.Totals) int64 { return t.Failed }),
		total("timeout", "the same", func(t *report.Totals) int64 { return t.Timeout }),
		total("blocked_robots", "the same", func(t *report.Totals) int64 { return t.BlockedRobots }),
		total("blocked_4xx", "the same", func(t *report.Totals) int64 { return t.Blocked4xx }),
		total("blocked_5xx", "the same", func(t *report.Totals) int64 { return t.Blocked5xx }),
		total("skipped", "the same", func(t *report.Totals) int64 { return t.Skipped }),
		total("nofollow", "pages that let no link be followed", func(t *report.Totals) int64 { return t.NoFollow }),
		total("bytes", "body bytes on the wire", func(t *report.Totals) int64 { return t.Bytes }),
		total("images_found", "images that its pages name", func(t *report.Totals) int64 { return t.ImagesFound }),
		total("images_requests", "requests to it for images, which are not among the others",
			func(t *report.Totals) int64 { return t.ImagesAsked }),
		total("images_stored", "images from it whose content was recorded", func(t *report.Totals) int64 { return t.ImagesStored }),
		instant("found_at", "when it was first heard of", func(r *row) time.Time { return r.FoundAt }),
	}
}

func imageColumns() []column[report.ImageRow] {
	type row = report.ImageRow
	said := func(name, doc string, get func(*crawl.ImageMeta) string) column[row] {
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
		text("id", "names the image: a UUID", func(r *row) string { return r.ID }),
		text("url", "canonical URL", func(r *row) string { return r.URL }),
		few(text("domain", "host that has it, without `www.`", func(r *row) string { return r.Domain })),
		maybeText("sha256_hash", "that of its bytes when they last came, in hexadecimal; so is what follows up to `license`",
			func(r *row) string { return r.SHA256 }),
		positive("width", "of the picture as it is shown, in pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "the same", func(r *row) int64 { return int64(r.Height) }),
		few(maybeText("format", "`jpeg`, `png`, `gif`, `webp`, `bmp`, `tiff`, `avif`, `heic`, by its first bytes",
			func(r *row) string { return string(r.Format) })),
		few(maybeText("content_type", "as the server said", func(r *row) string { return r.ContentType })),
		positive("file_size_bytes", "how many they are", func(r *row) int64 { return r.Bytes }),
		hash("phash", "perceptual hash, 16 hexadecimal digits; null where it was not decoded", func(r *row) *crawl.ImageHash { return r.PHash }),
		hash("dhash", "the other one", func(r *row) *crawl.ImageHash { return r.DHash }),
		positive("frames", "more than 1 for an animation", func(r *row) int64 { return int64(r.Frames) }),
		flag("flat", "whether there is too little in it for its hashes to tell it from others", func(r *row) bool { return r.Flat }),
		few(maybeText("undecoded", "why it has no hashes", func(r *row) string { return r.Undecoded })),
		few(said("camera", "make and model, as it says", func(m *crawl.ImageMeta) string { return m.Camera })),
		maybeInstant("taken_at", "when, as it says, in the time of its camera", func(r *row) time.Time { return r.Meta.TakenAt }),
		said("creator", "as it says", func(m *crawl.ImageMeta) string { return m.Creator }),
		said("credit", "the same", func(m *crawl.ImageMeta) string { return m.Credit }),
		said("copyright", "the same", func(m *crawl.ImageMeta) string { return m.Copyright }),
		said("license", "terms of use, as a rule a URL", func(m *crawl.ImageMeta) string { return m.License }),
		instant("discovered_at", "when a page was first found to name it", func(r *row) time.Time { return r.DiscoveredAt }),
		maybeInstant("last_seen_at", "when it was last answered", func(r *row) time.Time { return r.LastSeenAt }),
		maybeFlag("download_success", "whether its last fetch brought it; null while it was not fetched",
			func(r *row) *bool { return r.Success }),
		few(maybeText("problem", problems, func(r *row) string { return string(r.Problem) })),
		maybeInstant("stored_at", "since when its bytes are kept, under their hash", func(r *row) time.Time { return r.StoredAt }),
		number("pages", "how many pages name it, up to 1000; what follows is of the first", func(r *row) int64 { return r.Pages }),
		maybeText("source_page_url", "its URL", func(r *row) string { return r.Source }),
		few(maybeText("discovery_type", discoveries, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "text that stands for it", func(r *row) string { return r.Alt }),
		maybeText("caption", "that of its figure", func(r *row) string { return r.Caption }),
	}
}

const (
	problems = "why it did not: `not answered`, `not an image`, `svg`, `mismatch`, `too small`, `too large`, " +
		"`malformed`, `forbidden`"
	discoveries = "how the page names it: `img`, `srcset`, `picture`, `lazy`, `css`, `og:image`, `twitter:image`, " +
		"`image_src`, `icon`"
)

func provenanceColumns() []column[report.ProvenanceRow] {
	type row = report.ProvenanceRow
	return []column[row]{
		text("id", "names the pair of image and page: a UUID", func(r *row) string { return r.ID }),
		text("image_id", "`id` of the image", func(r *row) string { return r.ImageID }),
		text("image_url", "its URL", func(r *row) string { return r.ImageURL }),
		number("page_id", "`id` of the page that names it", func(r *row) int64 { return r.PageID }),
		text("source_page_url", "its URL", func(r *row) string { return r.PageURL }),
		few(text("source_domain", "its domain", func(r *row) string { return r.Domain })),
		instant("discovered_at", "when the page was first read with it", func(r *row) time.Time { return r.DiscoveredAt }),
		few(text("discovery_type", discoveries, func(r *row) string { return string(r.Discovery) })),
		maybeText("alt", "text that stands for it", func(r *row) string { return r.Alt }),
		maybeText("caption", "that of its figure", func(r *row) string { return r.Caption }),
		positive("width", "as the page says, in CSS pixels", func(r *row) int64 { return int64(r.Width) }),
		positive("height", "the same", func(r *row) int64 { return int64(r.Height) }),
		texts("variants", "URLs of the same image in other sizes and formats", func(r *row) []string { return r.Variants }),
		maybeInstant("gone_at", "when the page was read without it; null while it is there", func(r *row) time.Time { return r.GoneAt }),
	}
}
