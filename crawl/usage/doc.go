// Package usage reads the publisher's statements on the use of a page, beyond whether it may be
// fetched, and decides the permitted uses of the page by a crawl.
//
// # Signals
//
//   - meta name="robots" and X-Robots-Tag, with Google's values (Google Search Central, "Robots
//     meta tag, data-nosnippet, and X-Robots-Tag specifications") and noai and noimageai
//     (DeviantArt, 2022). Both may be addressed to one crawler: meta name="mosey", "X-Robots-Tag:
//     mosey: …".
//   - tdm-reservation and tdm-policy, as header, as meta element and in /.well-known/tdmrep.json
//     (W3C Community Group Report "TDM Reservation Protocol").
//   - Content-Signal, as header and in robots.txt (contentsignals.org,
//     draft-romm-aipref-contentsignals).
//   - Content-Usage, as header and, for a path, in robots.txt (draft-ietf-aipref-attach-04,
//     draft-ietf-aipref-vocab-06): train-ai, ai-use and search mean the same as ai-train, ai-input
//     and search in a Content-Signal, and are stored as these.
//
// # Merging
//
// The most restrictive signal wins, in any medium, addressed to all crawlers or to us: for this
// case Google documents "the sum of the negative rules". So "index" to us does not lift a "noindex"
// to all. Likewise a tdm-reservation of 0 does not lift a 1 of another medium. That is stricter
// than the TDM Reservation Protocol, where the page supersedes the header and the header the file.
//
// # Forbidden purposes
//
//	                          search     ai-train   archive
//	noai                      -          forbidden  -
//	tdm-reservation: 1        -          forbidden  -
//	Content-Signal ai-train   -          no         -
//	Content-Signal search     no         -          -
//	Content-Usage train-ai    -          n          -
//	Content-Usage search      n          -          -
//	noarchive                 -          -          forbidden
//
// Content-Signal use=immediate forbids all three, and use=reference ai-train and archive.
//
// The other signals forbid no purpose. A page with noindex, or a past unavailable_after, may be
// recorded but belongs in no index: see [Indexable]. For nofollow see [FollowLinks], and for
// noimageai and noimageindex see [AllowsImages], and for the bytes of images [AllowsCopies]. Users
// of the data find nosnippet and Content-Signal ai-input stored.
//
// Everything is bounded, and nothing fails: an unreadable signal is ignored.
package usage
