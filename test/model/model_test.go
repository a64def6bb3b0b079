package model_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mosey-web/mosey/db"
	"github.com/mosey-web/mosey/test/dbtest"
	"github.com/mosey-web/mosey/test/form"
	"github.com/mosey-web/mosey/test/race"
)

var (
	sequencesFlag = flag.Int("model.sequences", 0, "how many random sequences to try; 0 is 300, and 12 with -short")
	stepsFlag     = flag.Int("model.steps", 60, "how many steps each has")
	seedFlag      = flag.Uint64("model.seed", 0, "try the sequence of this seed alone, and tell what it does")
	withoutFlag   = flag.String("model.without", "", "leave steps out that have one of these words in them, such as away,recrawl")
	tryFlag       = flag.String("model.try", "", "try these steps alone, set apart by semicolons, and tell what they do")
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

// lanes is how many sequences are tried at a time, each lane with a database of its own.
const lanes = 3

// unsynchronized has no transaction wait for the disk.
const unsynchronized = "synchronous_commit=off"

// newPlace is a database for sequences.
func newPlace(t *testing.T) place {
	t.Helper()
	// what a crash of the database would lose is not what is tried
	url := dbtest.URL(t)
	if strings.Contains(url, "?") {
		url += "&" + unsynchronized
	} else {
		url += "?" + unsynchronized
	}
	store, err := db.OpenOwner(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(store.Close)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	_, err = conn.Exec(t.Context(), functions)
	require.NoError(t, err)
	return place{store: store, conn: conn}
}

// try goes through a sequence, and returns what is wrong, after how many steps.
func (p place) try(steps []string, trace func(string, ...any)) (wrong []string, after int, err error) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&inside{}}})
	sequence := func(ctx context.Context) error {
		b := newBench(ctx, p)
		if trace != nil {
			b.trace = func(format string, args ...any) { trace("%s", b.rename.Replace(fmt.Sprintf(format, args...))) }
		}
		for _, step := range steps {
			after++
			calls := b.calls
			if err := b.apply(step); err != nil {
				return fmt.Errorf("%s: %w", step, err)
			}
			if b.calls == calls && quietSteps[strings.Fields(step)[0]] && len(b.wrong) == 0 {
				continue // no row was written
			}
			if err := b.check(); err != nil {
				return fmt.Errorf("after %s: %w", step, err)
			}
			if wrong = b.wrong; len(wrong) > 0 {
				return nil
			}
		}
		err := b.settle()
		wrong = b.wrong
		return err
	}
	env.RegisterActivity(sequence)
	_, err = env.ExecuteActivity(sequence)
	return wrong, after, err
}

// quietSteps write no rows, unless they run an activity.
var quietSteps = map[string]bool{
	"work": true, "run": true, "site": true, "robots": true, "kill": true, "twice": true, "away": true, "back": true, "lose": true,
	"refuse": true, "web": true, "terminate": true, "outage": true,
}

// names matches the names and numbers that differ between complaints of one kind.
var names = regexp.MustCompile(`https?://\S+|\b[dr]\d\b|\d+`)

// faulty returns the kind of the first complaint, so that a shrunk sequence fails in the same way
// as the whole sequence.
func faulty(wrong []string) string {
	if len(wrong) == 0 {
		return ""
	}
	return names.ReplaceAllString(wrong[0], "…")
}

// shrinkSpan is the timeout of shrink.
const shrinkSpan = 30 * time.Second

// shrink drops steps for as long as the sequence fails in the same way.
func (p place) shrink(steps, wrong []string) []string {
	kind, until := faulty(wrong), time.Now().Add(shrinkSpan)
	for size := len(steps) / 2; size > 0; {
		dropped := false
		for at := 0; at+size <= len(steps) && time.Now().Before(until); {
			fewer := append(append([]string{}, steps[:at]...), steps[at+size:]...)
			got, after, err := p.try(fewer, nil)
			if err == nil && slices.ContainsFunc(got, func(text string) bool { return faulty([]string{text}) == kind }) {
				steps, dropped = fewer[:min(after, len(fewer))], true
				continue
			}
			at += size
		}
		if !dropped || size > len(steps) {
			size /= 2
		}
	}
	return steps
}

// TestModel drives the rows and the activities by random sequences, and compares them with
// the model after each step and in the end.
func TestModel(t *testing.T) {
	t.Parallel()
	race.SkipSerial(t)
	if *seedFlag != 0 || *tryFlag != "" {
		steps := fault{steps: *tryFlag}.split()
		if *seedFlag != 0 {
			steps = draw(*seedFlag, *stepsFlag)
		}
		wrong, _, err := newPlace(t).try(steps, t.Logf)
		require.NoError(t, err)
		require.Empty(t, wrong)
		return
	}
	seeds := make(chan uint64)
	var kinds sync.Map
	var group sync.WaitGroup
	for range lanes {
		p := newPlace(t)
		group.Go(func() {
			for seed := range seeds {
				steps := draw(seed, *stepsFlag)
				wrong, after, err := p.try(steps, nil)
				if err == nil && len(wrong) == 0 {
					continue
				}
				if _, known := kinds.LoadOrStore(faulty(wrong), seed); known && err == nil {
					t.Errorf("seed %d fails as another does: %s", seed, wrong[0])
					continue
				}
				if err == nil {
					steps = p.shrink(steps[:min(after, len(steps))], wrong)
				}
				t.Errorf("seed %d: %v\n  %s\nshrunk to:\n\t\"%s\"\nto repeat it: go test ./test/model -run TestModel -v -model.seed %d -model.steps %d",
					seed, err, strings.Join(wrong, "\n  "), strings.Join(steps, "\",\n\t\""), seed, *stepsFlag)
			}
		})
	}
	sequences := cmp.Or(*sequencesFlag, form.Either(300, 6))
	for n := range sequences {
		seeds <- uint64(n + 1)
	}
	close(seeds)
	group.Wait()
}

// draw is a random sequence.
func draw(seed uint64, steps int) []string {
	r := rand.New(rand.NewPCG(seed, 0))
	g := generator{r: r, runs: 2 + r.IntN(2), domains: 3 + r.IntN(2)}
	all := []string{fmt.Sprintf("web %d", seed)}
	for i := range g.runs {
		all = append(all, fmt.Sprintf("seed r%d d%d/ d%d/a %s", i, r.IntN(g.domains), r.IntN(g.domains), g.first()))
	}
	for len(all) < steps {
		all = append(all, g.step())
	}
	if *withoutFlag == "" {
		return all
	}
	return slices.DeleteFunc(all, func(step string) bool {
		return slices.ContainsFunc(strings.Split(*withoutFlag, ","), func(word string) bool { return strings.Contains(step, word) })
	})
}

type generator struct {
	r             *rand.Rand
	runs, domains int
}

func (g *generator) one(of ...string) string { return of[g.r.IntN(len(of))] }

func (g *generator) run() string    { return fmt.Sprintf("r%d", g.r.IntN(g.runs)) }
func (g *generator) domain() string { return fmt.Sprintf("d%d", g.r.IntN(g.domains)) }

// first are the settings that a run begins with, some of them.
func (g *generator) first() string {
	words := []string{}
	for range g.r.IntN(4) {
		words = append(words, g.one("images=metadata", "when_done=recrawl", "max_active_domains=1 yield_after=1", "delay=10s", "scope=seeds",
			"max_depth=2", "pages_per_activity=auto", "when_done=wait", g.budget()))
	}
	return strings.Join(words, " ")
}

func (g *generator) budget() string {
	return g.one("max_pages=3", "max_pages=-1", "max_pages_per_domain=2", "max_pages_per_domain=-1", "max_images_per_domain=1",
		"max_images_per_domain=-1", "max_bytes_per_domain=2500", "max_bytes=6000", "max_bytes=-1",
		"max_time=1m", "max_time=0s")
}

// step is one of a sequence. What has the crawl go on is most of them.
func (g *generator) step() string {
	switch n := g.r.IntN(100); {
	case n < 40:
		return fmt.Sprintf("work %d", g.r.IntN(12))
	case n < 46:
		return "run"
	case n < 56:
		return "time " + g.one("1s", "5s", "40s", "3m10s", "10m", "2h", "30h")
	case n < 64:
		return "site " + g.domain() + " " + g.one("ok", "ok", "ok", "304", "404", "403", "429", "429+2h", "503", "503+30s", "timeout", "reset", "nohost", "local")
	case n < 66:
		return "robots " + g.domain() + " " + g.one("ok", "503", "503+2h", "403", "shut")
	case n < 69:
		return "pause " + g.domain() + g.one("", " 20s", " 10m")
	case n < 71:
		return "pause " + g.run() + g.one("", " 20s")
	case n < 75:
		return "resume " + g.one(g.domain(), g.run())
	case n < 77:
		return g.one("stop ", "block ") + g.domain()
	case n < 79:
		return g.one("unblock ", "retry ") + g.domain()
	case n < 80:
		return "stop " + g.run()
	case n < 84:
		return "set " + g.run() + " " + g.one(g.budget(), g.budget(), "when_done=recrawl", "when_done=end", "max_active_domains=5", "yield_after=0", "max_depth=1", "max_depth=-1")
	case n < 86:
		return g.one("delay "+g.domain()+" 5s", "budget "+g.domain()+" 3", "budget "+g.domain()+" -1")
	case n < 88:
		return "window " + g.one(g.domain(), g.run()) + g.one(" closed", " open")
	case n < 91:
		return "seed " + g.run() + g.one("", " "+g.domain()+"/e", " "+g.domain()+"/c when_done=recrawl", " when_done=recrawl")
	case n < 92:
		return g.one("schedule "+g.run()+" "+g.domain()+"/", "add "+g.run()+" "+g.domain()+"/e", "recrawl "+g.run()+" 1h")
	default:
		return g.one("kill", "kill", "twice", "reconcile", "away", "back", "back", "lose", fmt.Sprintf("terminate %d", g.r.IntN(8)))
	}
}
