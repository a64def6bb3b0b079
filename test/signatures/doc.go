// Package signatures verifies HTTP Message Signatures (RFC 9421) as a site with Web Bot Auth does.
// It implements the RFC independently of the signing code, and parses structured fields itself.
package signatures
