// Package botauth signs requests, so that sites can identify their sender. It implements Web Bot
// Auth: HTTP Message Signatures (RFC 9421) with an Ed25519 key, and a header that names the public
// key's URL. [Form] lists the drafts. A signature covers one request to one authority, and lasts a
// minute.
//
// Keys are the operator's files, read again every few seconds. A function holds the private part of
// a [Key], so that printing, logging or encoding cannot reveal it. No error quotes a file.
package botauth
