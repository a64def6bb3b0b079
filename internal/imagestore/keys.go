package imagestore

import (
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

const (
	shaDigits = 64

	thumbnailsPrefix = "thumbnails/"
	thumbnailSuffix  = ".jpg"
	// probePrefix begins the names of what Check writes.
	probePrefix = "mosey-check-"
)

// imageKey is where an image is. Two levels of 256 keep a directory of ten million images
// at 150 files each.
func imageKey(sha string) string { return sha[0:2] + "/" + sha[2:4] + "/" + sha }

// thumbnailKey is where the thumbnail of an image is.
func thumbnailKey(sha string) string { return thumbnailsPrefix + imageKey(sha) + thumbnailSuffix }

// parseKey reads what imageKey and thumbnailKey write, and nothing else.
func parseKey(key string) (sha string, thumbnail, ok bool) {
	rest, thumbnail := strings.CutPrefix(key, thumbnailsPrefix)
	if thumbnail {
		rest, ok = strings.CutSuffix(rest, thumbnailSuffix)
		if !ok {
			return "", false, false
		}
	}
	sha = rest[strings.LastIndexByte(rest, '/')+1:]
	if checkSHA(sha) != nil || rest != imageKey(sha) {
		return "", false, false
	}
	return sha, thumbnail, true
}

// mayHaveKeys reports whether keys of ours can be below a path: "ab", "ab/cd", thumbnails
// and the same below it.
func mayHaveKeys(path string) bool {
	rest, _ := strings.CutPrefix(path+"/", thumbnailsPrefix)
	switch len(rest) {
	case 0:
		return true
	case len("ab/"):
		return isHex(rest[:2])
	case len("ab/cd/"):
		return isHex(rest[:2]) && rest[2] == '/' && isHex(rest[3:5])
	default:
		return false
	}
}

// checkSHA refuses what is no SHA-256 in lower case hexadecimal digits.
func checkSHA(sha string) error {
	if len(sha) != shaDigits || !isHex(sha) {
		return fmt.Errorf("%w: image %q: want its SHA-256 as %d hexadecimal digits in lower case",
			crawl.ErrInvalid, sha[:min(len(sha), shaDigits)], shaDigits)
	}
	return nil
}

func isHex(text string) bool {
	return strings.Trim(text, "0123456789abcdef") == ""
}
