package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/mosey-web/mosey/internal/explain"
)

// forgottenMost are how many domains are looked at.
const forgottenMost = 1_000

func lookForgotten(ctx context.Context, p *Patient) ([]Finding, error) {
	store, err := p.migrated(ctx)
	if err != nil {
		return nil, err
	}
	open, err := store.HalfForgotten(ctx, forgottenMost)
	if err != nil {
		return nil, err
	}
	if len(open) == 0 {
		return fine("what was to be erased is"), nil
	}
	var names, commands []string
	for _, f := range open {
		names = append(names, fmt.Sprintf("%s since %s", f.Domain, explain.Stamp(f.AskedAt)))
		commands = append(commands, fmt.Sprintf("mosey block %s --reason TEXT --forget", f.Domain))
	}
	return one(Fault, "Give the command again, unless it runs: "+strings.Join(commands[:min(len(commands), examplesMost)], "; ")+".",
		"what the pages of %s said is not all erased: %s", explain.Count(int64(len(open)), "domain"), named(names)), nil
}
