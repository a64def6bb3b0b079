package imagestore

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mosey-web/mosey/crawl"
)

const (
	shaDigits = 64

	thumbnailsPrefix = "thumbnails/"
	thumbnailSuffix  = ".jpg"
	probePrefix      = "mosey-check-" // of the objects of Check
)

// imageKey has two levels of 256, so that a folder of ten million images has 150 files.
func imageKey(sha string) string { return sha[0:2] + "/" + sha[2:4] + "/" + sha }

func thumbnailKey(sha string) string { return thumbnailsPrefix + imageKey(sha) + thumbnailSuffix }

// parseKey describes the object under a key of this package. ok is false for other keys.
func parseKey(key string) (o Object, ok bool) {
	rest, unfinished := cutTemporary(key)
	text, isProbe := strings.CutPrefix(rest, probePrefix) // rand.Text may return longer texts in the future
	if isProbe && len(text) >= 26 && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == "" {
		return Object{key: key, Leftover: true}, true
	}
	rest, thumbnail := strings.CutPrefix(rest, thumbnailsPrefix)
	if thumbnail {
		if rest, ok = strings.CutSuffix(rest, thumbnailSuffix); !ok {
			return Object{}, false
		}
	}
	sha := rest[strings.LastIndexByte(rest, '/')+1:]
	if checkSHA(sha) != nil || rest != imageKey(sha) {
		return Object{}, false
	}
	return Object{key: key, SHA256: sha, Thumbnail: thumbnail, Leftover: unfinished}, true
}

// cutTemporary removes the suffix of a partial file: the time in nanoseconds, which has 16
// hexadecimal digits from 2006 to 2262, and ".tmp".
func cutTemporary(key string) (rest string, temporary bool) {
	rest, ok := strings.CutSuffix(key, temporarySuffix)
	dot := strings.LastIndexByte(rest, '.')
	if !ok || dot < 0 {
		return key, false
	}
	stamp := rest[dot+1:]
	nanos, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil || nanos < 1<<60 || strconv.FormatInt(nanos, 16) != stamp {
		return key, false
	}
	return rest[:dot], true
}

// canHaveKeys reports whether a path may contain keys: "ab", "ab/cd", or these in thumbnails.
func canHaveKeys(path string) bool {
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

// checkSHA refuses a text that is not a SHA-256 in lower case hexadecimal digits.
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
