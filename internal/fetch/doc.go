// Package fetch performs one polite HTTP request: one GET, on one connection
// of its own, to an address the caller has chosen, bounded in everything.
//
// # Politeness
//
// A [Client] never resolves names and never follows redirects, so a request
// goes to the address its politeness guard was taken for and to no other. When
// [Client.Do] returns, the connection is closed: EndedAt is the instant from which the
// site's delay counts. After [Request.Deadline] no byte is written, so that a process
// that was frozen past its guard wakes up unable to send.
//
// # Safety
//
// Everything that arrives is hostile. Time is bounded by limits of [Config], headers and
// body by size, compressed bodies by their ratio and by the number of their codings.
// Addresses that are not public are refused at connect time, unless their network is in
// [Config.AllowNetworks].
//
// # Failures
//
// Any HTTP status is a [Response]. Everything else is an [*Error] whose [Cause] says what
// went wrong, and which can be tested by errors.Is(err, fetch.CauseTimeout).
package fetch
