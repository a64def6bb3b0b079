// Package botauth signs requests, so that a site can tell who makes them: Web Bot Auth, which is
// HTTP Message Signatures (RFC 9421) with an Ed25519 key, and a header that names where the public
// key is. [Form] has the supported drafts. A signature is for one request to one authority, and
// lasts a minute.
//
// Keys are files of the operator, read again every few seconds. The private part of a [Key] lives in
// a function: nothing that prints, logs or encodes a value can show it, and no error quotes a file.
package botauth
