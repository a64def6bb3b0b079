// Package fetch performs one polite HTTP request: one GET, on its own connection, to an address
// that the caller has chosen, with all resources bounded.
//
// # Politeness
//
// A [Client] never resolves names and never follows redirects, so a request only goes to the
// address that the politeness guard granted. When [Client.Do] returns, the connection is closed:
// the site's delay counts from EndedAt. After [Request.Deadline] no byte is written, so that a
// process that was frozen past its lease cannot send.
//
// # Safety
//
// All input is hostile. [Config] limits time, headers and bodies. Compressed bodies are limited by
// their ratio and the number of their codings. Addresses that are not public are refused at connect
// time, unless their network is in [Config.AllowNetworks].
//
// # Failures
//
// Any HTTP status is a [Response]. Any failure is an [*Error] with a [Cause], which can be tested
// by errors.Is(err, fetch.CauseTimeout).
package fetch
