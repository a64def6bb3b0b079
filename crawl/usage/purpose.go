package usage

import (
	"fmt"
	"time"

	"github.com/mosey-web/mosey/crawl/settings"
)

// Allows reports whether a page may be used for a purpose, by the table in the package's
// documentation, and if not the reason. An unknown purpose is never allowed.
func Allows(purpose settings.Purpose, p Usage) (bool, string) {
	p.NoIndex, p.NoImageIndex, p.NoImageAI = "", "", "" // these three forbid only the use of its images
	return AllowsImages(purpose, p)
}

// AllowsImages reports whether a page's images may be used for a purpose, and if not the reason. It
// is also for an image by itself: by the statements of its own header and its origin.
func AllowsImages(purpose settings.Purpose, p Usage) (bool, string) {
	switch purpose {
	case settings.PurposeSearch:
		return checkObjections(purpose,
			objection{"search=no", p.ContentSignals.Search.refusal()},
			p.ContentSignals.Use.below(Reference),
			objection{"noindex", p.NoIndex},
			objection{"noimageindex", p.NoImageIndex},
		)
	case settings.PurposeAITrain:
		return checkObjections(
			purpose,
			objection{"noai", p.NoAI},
			objection{"noimageai", p.NoImageAI},
			objection{"a TDM reservation", p.TDMReserved},
			objection{"ai-train=no", p.ContentSignals.AITrain.refusal()},
			p.ContentSignals.Use.below(Full),
		)
	case settings.PurposeArchive:
		return checkObjections(purpose, objection{"noarchive", p.NoArchive}, p.ContentSignals.Use.below(Full))
	}
	return false, fmt.Sprintf("unknown purpose %q", purpose)
}

// AllowsCopies reports whether copies of an image may be stored, and if not the reason. Its
// fingerprints and its thumbnail are no copies.
func AllowsCopies(p Usage) (bool, string) {
	return checkObjections("storing copies", p.ContentSignals.Use.below(Full))
}

// Indexable reports whether a page may be in an index at a time, and if not why.
func Indexable(p Usage, now time.Time) (bool, string) {
	if p.NoIndex.IsSet() {
		return checkObjections("an index", objection{"noindex", p.NoIndex})
	}
	if !p.UnavailableAfter.IsZero() && now.After(p.UnavailableAfter) {
		signal := "unavailable_after " + p.UnavailableAfter.Format(time.RFC3339)
		return checkObjections("an index", objection{signal, p.UnavailableAfterBy})
	}
	return true, ""
}

// Listed reports whether searches may find a page at a time, whatever its run's purpose.
func Listed(p Usage, now time.Time) bool {
	indexable, _ := Indexable(p, now)
	search, _ := Allows(settings.PurposeSearch, p)
	return indexable && search
}

// FollowLinks reports whether the links of a page may be followed, and if not why. The page's
// signals do not include the marks of single links.
func FollowLinks(p Usage) (bool, string) {
	return checkObjections("following links", objection{"nofollow", p.NoFollow})
}

// objection is a forbidding signal, if it has a source.
type objection struct {
	signal string
	source Source
}

// checkObjections allows use without an objection; else the first objection is the reason.
func checkObjections[T ~string](use T, objections ...objection) (bool, string) {
	for _, o := range objections {
		if o.source.IsSet() {
			return false, fmt.Sprintf("%s is forbidden by %s (%s)", use, o.signal, o.source)
		}
	}
	return true, ""
}
