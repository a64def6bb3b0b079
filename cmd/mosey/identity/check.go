package identity

import (
	"context"

	"github.com/mosey-web/mosey/cmd/internal/doctor"
	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
)

// checkCmd checks what is published.
type checkCmd struct {
	wiring.FetchFlags
	wiring.IdentityFlags

	JSON bool `name:"json" help:"Print a JSON array of findings."`
}

// Run makes the checks. A fault makes it fail.
func (c *checkCmd) Run(ctx context.Context, e *command.Env) error {
	published, err := c.Published(c.AgentFlags)
	if err != nil {
		return wiring.Usagef("%w", err)
	}
	if !published.HasPage {
		return wiring.Usagef("--page: not given, and --contact is no URL; want the URL of the page about the crawler, " +
			"such as https://crawler.example.org/")
	}
	p := &doctor.Patient{Environ: e.Environ, Fetch: c.FetchFlags, Identity: c.IdentityFlags}
	return command.Examine(ctx, e, p, doctor.OfIdentity(), command.Examination{JSON: c.JSON})
}
