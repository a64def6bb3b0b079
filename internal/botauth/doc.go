// Package botauth signs requests, so that a site can tell who makes them: Web Bot Auth, which is HTTP
// Message Signatures (RFC 9421) with an Ed25519 key, and a header that names where the public key is.
//
// Two forms of it are known, each by the version of the draft that describes it; see [Form]. A
// signature is made for one request to one authority. It lasts a minute, and says nothing to any other.
//
// Keys are files of the operator's. They are read again every few seconds, so that they change
// without a restart. The private part of a [Key] lives in a function: nothing that prints, logs or
// encodes a value of this package can show it, and no error quotes what a file has.
package botauth
