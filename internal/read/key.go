package read

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/fetch"
)

// key reads a key file: a text whose lines are keys (indexnow.org, "Verifying ownership"). It has
// to be there itself. A redirect proves nothing, as many sites redirect to wherever they are told,
// and a page in HTML proves nothing, as many name there what was not found.
func (r *reading) key(at *crawl.Attempt, resp *fetch.Response) {
	at.Proof = &crawl.Proof{VerifiedFor: crawl.Millis(crawl.NoticeVerifiedFor), RefusedFor: crawl.Millis(crawl.NoticeRefusedFor)}
	switch {
	case resp == nil:
	case resp.Status >= 300 && resp.Status < 400:
		at.Error = "the key file redirects"
	case resp.Status != http.StatusOK:
		at.Error = fmt.Sprintf("the key file answers %d", resp.Status)
	case !r.d.Crawl.Kind.Traits().Takes(resp.MediaType):
		at.Error = fmt.Sprintf("the key file is %q and not text/plain", resp.MediaType)
	default:
		for line := range strings.Lines(strings.TrimPrefix(string(resp.Body), "\ufeff")) {
			if key := strings.TrimSpace(line); crawl.IsKey(key) && len(at.Proof.Keys) < crawl.KeysMax {
				at.Proof.Keys = append(at.Proof.Keys, key)
			}
		}
	}
}
