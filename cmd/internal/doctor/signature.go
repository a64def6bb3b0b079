package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mosey-web/mosey/crawl/urls"
	"github.com/mosey-web/mosey/internal/botauth"
)

// signatureCheck is made with those of the identity, too.
const signatureCheck = "signature"

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
	if resp.Truncated {
		return one(Fault, remedy, "%s is longer than %d bytes", page, contactBytes), nil
	}
	keys, err := botauth.ReadDirectory(resp.Body)
	if err != nil {
		return one(Fault, remedy, "%s has no directory of keys: %v", page, err), nil
	}
	if _, has := keys[keyID]; !has {
		return one(Fault, remedy, "%s has %d keys, and not %s, which signs", page, len(keys), keyID), nil
	}
	found := fine("requests are signed by the key %s, which is at %s", keyID, page)
	if resp.MediaType != botauth.DirectoryType {
		found = one(Warning, remedy, "%s has the key %s, and is of the type %q", page, keyID, resp.MediaType)
	}
	const anew = "Serve it with the headers that mosey identity init or mosey identity directory --headers writes, " +
		"and write them anew each day."
	switch err := keys.Proves(keyID, directory, resp.Header, resp.Body, time.Now()); {
	case errors.Is(err, botauth.ErrUnsigned):
		return append(found, one(Note, anew, "%s is not signed by the key, as some verifiers want it", page)...), nil
	case err != nil:
		return append(found, one(Fault, anew, "%s is signed, and verifiers refuse that: %v", page, err)...), nil
	}
	return append(found, fine("%s is signed by the key for its host", page)...), nil
}
