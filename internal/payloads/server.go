package payloads

import (
	"net/http"
	"slices"

	"go.temporal.io/sdk/converter"
)

// bodyMost is how many bytes a request to a codec server has at the most. A page of a history has
// some hundred payloads of a few kilobytes.
const bodyMost = 32 << 20

// Server decrypts payloads for Temporal's web UI and its command line, and encrypts what they send:
// a codec server, with POST /decode and /encode. A browser may use it from pages of the origins
// alone, such as http://localhost:8233, so that no other page can, not even one whose name has
// become this machine's. Whoever else reaches it may use it: it is for the loopback address, or for
// behind something that asks who is there.
func (k *Keys) Server(origins []string) http.Handler {
	codec := http.MaxBytesHandler(converter.NewPayloadCodecHTTPHandler(k), bodyMost)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Vary", "Origin")
		origin := r.Header.Get("Origin")
		switch {
		case origin == "": // no browser, or a page that was asked for by hand
		case !slices.Contains(origins, origin):
			http.Error(w, origin+" may not decrypt payloads here: name it with --origin if it is your Temporal UI", http.StatusForbidden)
			return
		default:
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Allow-Credentials", "true")
			header.Set("Access-Control-Allow-Methods", http.MethodPost)
			header.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Namespace")
		}
		if r.Method == http.MethodOptions && origin != "" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		codec.ServeHTTP(w, r)
	})
}
