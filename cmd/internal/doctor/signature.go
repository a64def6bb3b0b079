package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/botauth"
)

func lookSignature(ctx context.Context, p *Patient) ([]Finding, error) {
	keyID, directory, err := p.Fetch.SignedBy()
	switch {
	case err != nil:
		return one(Fault, "Give a key and an address by which requests can be signed.", "%v", err), nil
	case keyID == "":
		return fine("requests are not signed (--sign)"), nil
	}
	return p.lookDirectory(ctx, directory, keyID)
}

// lookDirectory looks for a key where sites will.
func (p *Patient) lookDirectory(ctx context.Context, directory, keyID string) ([]Finding, error) {
	remedy := fmt.Sprintf("Serve there what mosey identity directory prints, as %s: until then no site can verify a signature.",
		botauth.DirectoryType)
	page, err := urls.Parse(directory)
	if err != nil {
		return one(Fault, remedy, "%s is no address: %v", directory, err), nil
	}
	resp, err := p.fetch(ctx, page, botauth.DirectoryType)
	if err != nil {
		return one(Fault, remedy, "%s cannot be reached: %v", page, err), nil
	}
	defer resp.Release()
	if resp.Status != http.StatusOK {
		return one(Fault, remedy, "%s answers with the status %d, and redirects are not followed", page, resp.Status), nil
	}
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		} `json:"keys"`
	}
	if err := json.Unmarshal(resp.Body, &set); err != nil {
		return one(Fault, remedy, "%s has no directory of keys: %v", page, err), nil
	}
	for _, k := range set.Keys {
		switch {
		case k.ID != keyID:
		case resp.MediaType != botauth.DirectoryType:
			return one(Warning, remedy, "%s has the key %s, and is of the type %q", page, keyID, resp.MediaType), nil
		default:
			return fine("requests are signed by the key %s, which is at %s", keyID, page), nil
		}
	}
	return one(Fault, remedy, "%s has %d keys, and not %s, which signs", page, len(set.Keys), keyID), nil
}
