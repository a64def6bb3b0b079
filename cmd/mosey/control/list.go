package control

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/mosey-web/mosey/cmd/internal/wiring"
	"github.com/mosey-web/mosey/cmd/mosey/command"
	"github.com/mosey-web/mosey/cmd/mosey/seed"
	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/lists"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/internal/explain"
	"github.com/mosey-web/mosey/workflows"
)

// ListCmd changes and shows the allow and block lists.
type ListCmd struct {
	Add    listAddCmd    `cmd:"" help:"Add hosts, domains or networks to a list."`
	Remove listRemoveCmd `cmd:"" help:"Remove entries from a list."`
	Show   listShowCmd   `cmd:"" help:"Show the entries of one list or both."`
}

type listArg struct {
	List string `arg:"" enum:"allow,block" help:"allow or block. Hosts on the block list are never requested. If the allow list has entries, only its hosts are requested."`
}

type listAddCmd struct {
	command.ChangePrinter
	listArg

	Entries []string `arg:"" optional:"" name:"entry" help:"Host, domain or network: example.org (with its subdomains), shop.example.org, *.example.org, 192.0.2.0/24."`
	File    []string `help:"File of entries, one per line, such as a hosts file, or - for standard input. # begins a comment. Repeatable." placeholder:"FILE" sep:"none"`
	Reason  string   `help:"Reason to store with the entries. Default: the file's name for entries of a file." placeholder:"TEXT"`
}

// Run puts the entries on the list, from the next request on.
func (l *listAddCmd) Run(ctx context.Context, e *command.Env) error {
	if len(l.Entries)+len(l.File) == 0 {
		return wiring.Usagef("list add %s: give entries, such as example.org, or --file", l.List)
	}
	entries, err := listEntries(l.Entries)
	if err == nil {
		err = checkReason(l.Reason, 0)
	}
	if err != nil {
		return err
	}
	var all []listInput
	if len(entries) > 0 {
		all = append(all, listInput{entries, l.Reason})
	}
	for _, name := range l.File {
		entries, err := entriesOfFile(e, name)
		if err != nil {
			return err
		}
		all = append(all, listInput{entries, cmp.Or(l.Reason, name[:min(len(name), crawl.ControlReasonMax)])})
	}
	return command.WithNewStore(ctx, e, func(store *db.Store) error {
		for _, input := range all {
			if err := l.add(ctx, e, store, input); err != nil {
				return err
			}
		}
		return nil
	})
}

type listInput struct {
	entries []lists.Entry
	reason  string
}

func entriesOfFile(e *command.Env, name string) ([]lists.Entry, error) {
	var text []byte
	var err error
	if name == "-" {
		name = "standard input"
		text, err = io.ReadAll(e.Stdin)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, wiring.Usagef("list file: %w", err)
	}
	var entries []lists.Entry
	var bad seed.BadLines
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		entry, found, err := lists.ParseLine(strings.TrimRight(line, "\r\n"))
		switch {
		case err != nil:
			bad.Add(fmt.Sprintf("%s:%d skipped: %v", name, number, err))
		case found:
			entries = append(entries, entry)
		}
	}
	for _, line := range bad.Examples {
		fmt.Fprintln(e.Stderr, line)
	}
	if bad.Count > len(bad.Examples) {
		fmt.Fprintf(e.Stderr, "%d lines skipped: not entries\n", bad.Count)
	}
	if len(entries) == 0 {
		return nil, wiring.Usagef("no entries in %s: want one per line, such as example.org, *.example.org or 192.0.2.0/24", name)
	}
	return entries, nil
}

func listEntries(texts []string) ([]lists.Entry, error) {
	var entries []lists.Entry
	for _, text := range texts {
		entry, err := lists.Parse(text)
		if err != nil {
			return nil, wiring.Usagef("%w", err)
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (l *listAddCmd) add(ctx context.Context, e *command.Env, store *db.Store, input listInput) error {
	list := lists.List(l.List)
	sizes, err := store.ListSizes(ctx)
	if err != nil {
		return err
	}
	added, err := store.AddToList(ctx, list, input.entries, input.reason, command.CurrentUser())
	if err != nil {
		return err
	}
	message := fmt.Sprintf("%s on the %s list, %d new.", explain.Count(int64(len(input.entries)), "entry"), list, added)
	if list == lists.Allow && sizes[lists.Allow] == 0 {
		message += "\nAll runs now crawl only the hosts of the allow list. To undo it:\n  mosey list remove allow --all"
	}
	if err := l.Print(e, command.Change{Action: "added", List: string(list), Count: new(int64(added)), Message: message}); err != nil {
		return err
	}
	if list == lists.Allow {
		applyLists(ctx, e, store)
	}
	return nil
}

type listRemoveCmd struct {
	command.ChangePrinter
	listArg

	Entries []string `arg:"" optional:"" name:"entry" help:"Entries as printed by mosey list show."`
	All     bool     `help:"Remove all entries."`
}

// Run removes the entries and rechecks the domains that they blocked.
func (l *listRemoveCmd) Run(ctx context.Context, e *command.Env) error {
	if l.All == (len(l.Entries) > 0) {
		return wiring.Usagef("list remove %s: give entries, such as example.org, or --all", l.List)
	}
	entries, err := listEntries(l.Entries)
	if err != nil {
		return err
	}
	return command.WithStore(ctx, e, func(store *db.Store) error {
		removed, err := store.RemoveFromList(ctx, lists.List(l.List), l.All, entries)
		if err != nil {
			return err
		}
		if removed == 0 {
			return fmt.Errorf("nothing to remove from the %s list: %q: mosey list show %s shows the entries", l.List, l.Entries, l.List)
		}
		if err := l.Print(e, command.Change{
			Action: "removed", List: l.List, Count: new(int64(removed)),
			Message: fmt.Sprintf("%s removed from the %s list.", explain.Count(int64(removed), "entry"), l.List),
		}); err != nil {
			return err
		}
		applyLists(ctx, e, store)
		return nil
	})
}

// applyLists makes the active runs apply the changed lists.
func applyLists(ctx context.Context, e *command.Env, store *db.Store) {
	command.Notify(ctx, e, "crawls, which notice the change later", func(ctx context.Context) error {
		runs, err := store.Runs(ctx)
		if err != nil {
			return err
		}
		return command.WithTemporal(ctx, e, func(starter workflows.Starter) error {
			for _, run := range runs {
				if run.Status != crawl.RunRunning {
					continue
				}
				if _, err := seed.StartSeeding(ctx, store, starter, run, settings.Settings{}); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

type listShowCmd struct {
	List string `arg:"" optional:"" enum:"allow,block,both" default:"both" help:"allow or block. Default: both."`
	JSON bool   `name:"json" help:"Print one JSON object per line."`
}

func (l *listShowCmd) Run(ctx context.Context, e *command.Env) error {
	selected, named := []lists.List{lists.Allow, lists.Block}, "allow or block"
	if l.List != "both" {
		selected, named = []lists.List{lists.List(l.List)}, l.List
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		t, shown := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0), false
		for _, list := range selected {
			err := store.ListEntries(ctx, list, func(entry db.ListEntry) error {
				if l.JSON {
					return command.PrintLines(e.Stdout, []db.ListEntry{entry})
				}
				if !shown {
					fmt.Fprintln(t, "LIST\tENTRY\tSET BY\tON\tREASON")
				}
				shown = true
				_, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n",
					list, entry.Entry, explain.OneLine(entry.SetBy), explain.Stamp(entry.SetAt), explain.OneLine(entry.Reason))
				return err
			})
			if err != nil {
				return err
			}
		}
		if !shown && !l.JSON {
			fmt.Fprintf(e.Stdout, "No entries on the %s list.\n", named)
		}
		return command.Flush(t)
	})
}
