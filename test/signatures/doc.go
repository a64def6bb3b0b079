// Package signatures verifies HTTP Message Signatures (RFC 9421) as a site does that knows Web Bot
// Auth. It is written from the RFC, and shares no code with what signs: it reads structured fields
// by itself.
package signatures
