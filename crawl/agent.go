package crawl

import (
	"fmt"
	"strings"
)

// AgentOf is the product token that robots.txt knows a User-Agent by: what
// precedes the first slash or space, in lower case. RFC 9309 §2.2.1 allows
// letters, '_' and '-'; anything else wraps ErrInvalid.
func AgentOf(userAgent string) (string, error) {
	token := userAgent
	if i := strings.IndexAny(userAgent, "/ \t"); i >= 0 {
		token = userAgent[:i]
	}
	token = strings.ToLower(token)
	if token == "" || strings.Trim(token, "abcdefghijklmnopqrstuvwxyz_-") != "" {
		return "", fmt.Errorf("%w: user agent %q: must begin with a product token of letters, '_' and '-', "+
			"such as mosey/1.0, because robots.txt is read for it", ErrInvalid, userAgent)
	}
	return token, nil
}
