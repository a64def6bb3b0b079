package control

import (
	"cmp"
	"context"
	"fmt"
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
	Add    listAddCmd    `cmd:"" help:"Put hosts, domains or networks on a list."`
	Remove listRemoveCmd `cmd:"" help:"Take entries off a list."`
	Show   listShowCmd   `cmd:"" help:"Show the entries of a list, or of both."`
}

type listArg struct {
	List string `arg:"" enum:"allow,block" help:"allow or block. Nothing on the block list is asked; where the allow list has entries, only what is on it."`
}

type listAddCmd struct {
	command.Answer
	listArg

	Entries []string `arg:"" optional:"" name:"entry" help:"example.org (with all below it), shop.example.org, *.example.org, 192.0.2.0/24."`
	File    []string `help:"File of entries, one a line, such as a hosts file, or - for standard input. # begins a comment. Repeatable." placeholder:"FILE" sep:"none"`
	Reason  string   `help:"Why, for those who ask later. Default: of the entries of a file its name." placeholder:"TEXT"`
}

// Run puts the entries on the list, from the next request on.
func (l *listAddCmd) Run(ctx context.Context, e *command.Env) error {
	if len(l.Entries)+len(l.File) == 0 {
		return wiring.Usagef("list add %s: want entries, such as example.org, or --file", l.List)
	}
	entries, err := listEntries(l.Entries)
	if err == nil {
		err = checkReason(l.Reason, 0)
	}
	if err != nil {
		return err
	}
	var all []listed
	if len(entries) > 0 {
		all = append(all, listed{entries, l.Reason})
	}
	for _, name := range l.File {
		entries, err := entriesOfFile(e, name)
		if err != nil {
			return err
		}
		all = append(all, listed{entries, cmp.Or(l.Reason, name[:min(len(name), crawl.ControlReasonMax)])})
	}
	return command.WithNewStore(ctx, e, func(store *db.Store) error {
		for _, some := range all {
			if err := l.add(ctx, e, store, some); err != nil {
				return err
			}
		}
		return nil
	})
}

type listed struct {
	entries []lists.Entry
	reason  string
}

func entriesOfFile(e *command.Env, name string) ([]lists.Entry, error) {
	var entries []lists.Entry
	var bad seed.BadLines
	err := seed.EachLine("list", name, e.Stdin, "one entry a line", func(at func() string, line string) {
		entry, found, err := lists.ParseLine(line)
		switch {
		case err != nil:
			bad.Add(fmt.Sprintf("%s: %v", at(), err))
		case found:
			entries = append(entries, entry)
		}
	})
	if err != nil {
		return nil, err
	}
	for _, line := range bad.Shown {
		fmt.Fprintln(e.Stderr, "skipped: "+line)
	}
	if bad.All > len(bad.Shown) {
		fmt.Fprintf(e.Stderr, "skipped: %d lines in all that are no entries\n", bad.All)
	}
	if len(entries) == 0 {
		return nil, wiring.Usagef("no entries in %s: want one a line, such as example.org, *.example.org or 192.0.2.0/24", name)
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

func (l *listAddCmd) add(ctx context.Context, e *command.Env, store *db.Store, some listed) error {
	list := lists.List(l.List)
	sizes, err := store.ListSizes(ctx)
	if err != nil {
		return err
	}
	added, err := store.AddToList(ctx, list, some.entries, some.reason, command.Whoami())
	if err != nil {
		return err
	}
	says := fmt.Sprintf("%s on the %s list, %d of them new.", explain.Count(int64(len(some.entries)), "entry"), list, added)
	if list == lists.Allow && sizes[lists.Allow] == 0 {
		says += "\nOnly what is on the allow list is crawled now, in all runs. To undo it:\n  mosey list remove allow --all"
	}
	if err := l.Tell(e, command.Change{Did: "added", List: string(list), Count: new(int64(added)), Says: says}); err != nil {
		return err
	}
	if list == lists.Allow {
		goOnAll(ctx, e, store)
	}
	return nil
}

type listRemoveCmd struct {
	command.Answer
	listArg

	Entries []string `arg:"" optional:"" name:"entry" help:"Entries as mosey list show has them."`
	All     bool     `help:"All of them."`
}

// Run removes the entries and rechecks the domains that they blocked.
func (l *listRemoveCmd) Run(ctx context.Context, e *command.Env) error {
	if l.All == (len(l.Entries) > 0) {
		return wiring.Usagef("list remove %s: want entries, such as example.org, or --all", l.List)
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
			return fmt.Errorf("%s on the %s list: mosey list show %s shows what is", noneOf(l.Entries), l.List, l.List)
		}
		if err := l.Tell(e, command.Change{
			Did: "removed", List: l.List, Count: new(int64(removed)),
			Says: fmt.Sprintf("%s taken off the %s list.", explain.Count(int64(removed), "entry"), l.List),
		}); err != nil {
			return err
		}
		goOnAll(ctx, e, store)
		return nil
	})
}

func noneOf(entries []string) string {
	switch len(entries) {
	case 0:
		return "nothing is"
	case 1:
		return entries[0] + " is not"
	}
	return "none of these is"
}

// goOnAll makes the active runs apply the changed lists.
func goOnAll(ctx context.Context, e *command.Env, store *db.Store) {
	command.Tell(ctx, e, "crawls, which find out by themselves", func(ctx context.Context) error {
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
	JSON bool   `name:"json" help:"Print one JSON object a line."`
}

func (l *listShowCmd) Run(ctx context.Context, e *command.Env) error {
	which, named := []lists.List{lists.Allow, lists.Block}, "allow or block"
	if l.List != "both" {
		which, named = []lists.List{lists.List(l.List)}, l.List
	}
	return command.WithReader(ctx, e, func(store *db.Store) error {
		t, shown := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0), false
		for _, list := range which {
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
			fmt.Fprintf(e.Stdout, "Nothing is on the %s list.\n", named)
		}
		return command.Flush(t)
	})
}
