package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/internal/payloads"
)

// codecCmd shows Temporal's UI and the temporal command what is encrypted.
type codecCmd struct {
	Listen string   `help:"Address to serve at. Whoever reaches it can decrypt what Temporal shows him." default:"127.0.0.1:8234" placeholder:"[HOST]:PORT"`
	Origin []string `help:"Address of the Temporal UI whose pages may ask. Repeatable. Default: the usual one, at port 8233 of this machine." placeholder:"URL"`
}

// originsDefault are where Mosey's own Temporal and that of docker/compose.yaml have their UI.
var originsDefault = []string{"http://127.0.0.1:8233", "http://localhost:8233"}

// Run serves until the context ends.
func (c *codecCmd) Run(ctx context.Context, e *command.Env) error {
	if e.Payloads.PayloadKeys == "" {
		return wiring.Usagef("mosey codec needs the keys that payloads are encrypted with: " +
			"name their file with --payload-keys (MOSEY_PAYLOAD_KEYS)")
	}
	keys, err := payloads.ReadFile(e.Payloads.PayloadKeys)
	if err != nil {
		return wiring.Usagef("--payload-keys: %w", err)
	}
	origins, err := originsOf(c.Origin)
	if err != nil {
		return err
	}
	listener, err := command.Listen(ctx, "--listen", c.Listen, "an address such as :8234 or 10.0.0.1:8234")
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Stdout, "Codec server   http://%s\nCtrl-C stops.\n", listener.Addr())
	return command.ServeUntil(ctx, listener, keys.Server(origins), e.NewLogger(e.Stderr, slog.LevelWarn))
}

// originsOf are the origins of addresses, as browsers name them.
func originsOf(addresses []string) ([]string, error) {
	if len(addresses) == 0 {
		return originsDefault, nil
	}
	origins := make([]string, len(addresses))
	for i, address := range addresses {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, wiring.Usagef("--origin %q: want the address of a Temporal UI, such as https://temporal.example.org", address)
		}
		origins[i] = u.Scheme + "://" + u.Host
	}
	return origins, nil
}
