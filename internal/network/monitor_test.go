package network_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/internal/network"
)

// world is a monitor in time of its own, and what it has told.
type world struct {
	*network.Monitor

	told []crawl.Outage
	// hosts were found before; away has the name servers say nothing about them.
	hosts []string
	away  bool
	heard func(host string, answered, known bool)
}

func (w *world) Watch(heard func(host string, answered, known bool)) { w.heard = heard }

func (w *world) Probe(context.Context) {
	time.Sleep(time.Millisecond)
	for _, host := range w.hosts {
		w.heard(host, !w.away, true)
	}
}

// knows has names found.
func (w *world) knows(hosts ...string) {
	w.WatchNames(w)
	for _, host := range hosts {
		w.heard(host, true, false)
	}
	w.hosts = append(w.hosts, hosts...)
	time.Sleep(6 * time.Second) // a time-out
}

// reachedBefore has n addresses reached, a time-out ago.
func (w *world) reachedBefore(n int) {
	for i := range n {
		w.RecordReached(fmt.Sprint("192.0.2.", i))
	}
	time.Sleep(6 * time.Second)
}

func in(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		w.Monitor = network.New(network.Config{
			OnChange: func(o crawl.Outage) { w.told = append(w.told, o) },
			Jitter:   func() float64 { return 0.5 },
		})
		test(t, w)
	})
}

// unreached is an attempt that could not reach its target.
func (w *world) unreached(key string) error {
	return w.sparedFor(key, 0)
}

// sparedFor is the same of a target whose attempts were taken back for a while.
func (w *world) sparedFor(key string, spared time.Duration) error {
	w.noteName(key)
	return w.JudgeFailure(context.Background(), network.Failure{
		Key: key, Waited: 5 * time.Second, WithdrawnTime: spared, Reason: "connect: time-out",
	})
}

// noteName makes the report that a resolver makes before the failure of a name.
func (w *world) noteName(key string) {
	if w.heard != nil && strings.HasSuffix(key, ".test") {
		w.heard(key, false, false)
	}
}

// charged fails targets, again and again, until all are held to be at fault, and returns
// how long that took.
func (w *world) charged(t *testing.T, keys ...string) time.Duration {
	t.Helper()
	began := time.Now()
	results := make(chan error, len(keys))
	for _, key := range keys {
		go func() {
			for {
				err := w.sparedFor(key, time.Since(began))
				var down *network.DownError
				if !errors.As(err, &down) {
					results <- err
					return
				}
				if time.Since(began) > 10*time.Minute {
					results <- err
					return
				}
				time.Sleep(down.RetryIn)
			}
		}()
	}
	for range keys {
		require.NoError(t, <-results)
	}
	return time.Since(began)
}

// all has several targets fail at once.
func (w *world) all(t *testing.T, n int) (spared int) {
	t.Helper()
	results := make(chan error, n)
	for i := range n {
		go func() { results <- w.unreached(fmt.Sprint("192.0.2.", i)) }()
	}
	for range n {
		if err := <-results; err != nil {
			var down *network.DownError
			require.ErrorAs(t, err, &down)
			require.InDelta(t, 20*time.Second, down.RetryIn, float64(10*time.Second))
			spared++
		}
	}
	return spared
}

func TestMonitor(t *testing.T) {
	t.Parallel()
	silent := network.Failure{Key: "192.0.2.77", Waited: 5 * time.Second, Connected: true}
	for name, test := range map[string]func(t *testing.T, w *world){
		"ASiteIsAtFaultWhenAnotherIsReached": func(t *testing.T, w *world) {
			w.RecordReached("192.0.2.1")
			began := time.Now()
			require.NoError(t, w.unreached("192.0.2.9"))
			require.Zero(t, time.Since(began), "at once")
			require.Empty(t, w.told)
		},
		"AndWhenAnotherIsReachedSoonAfter": func(t *testing.T, w *world) {
			time.AfterFunc(7*time.Second, func() { w.RecordReached("192.0.2.1") })
			require.NoError(t, w.unreached("192.0.2.9"))
		},
		"NotWhenItWasReachedItself": func(t *testing.T, w *world) {
			w.RecordReached("192.0.2.9")
			require.Error(t, w.unreached("192.0.2.9"))
		},
		"NotWhenAnotherWasReachedTooLongAgo": func(t *testing.T, w *world) {
			w.RecordReached("192.0.2.1")
			time.Sleep(6 * time.Second)
			require.Error(t, w.unreached("192.0.2.9"))
		},
		"AnOutageSparesAll": func(t *testing.T, w *world) {
			w.reachedBefore(30)
			require.Equal(t, 30, w.all(t, 30))
			require.Len(t, w.told, 1)
			require.Contains(t, w.told[0].Reason, "none of the last 30 requested targets could be reached, most recently 192.0.2.")
		},
		"AndLetsFewThroughUntilItIsOver": func(t *testing.T, w *world) {
			w.reachedBefore(30)
			w.all(t, 30)
			var left []func()
			for range 3 {
				leave, err := w.Admit("192.0.2.1")
				require.NoError(t, err)
				left = append(left, leave)
			}
			_, err := w.Admit("192.0.2.1")
			var down *network.DownError
			require.ErrorAs(t, err, &down)
			require.Contains(t, err.Error(), "the network of this machine seems to be down since")
			left[0]()
			left[0]()
			_, err = w.Admit("192.0.2.1")
			require.NoError(t, err, "another canary")
			_, err = w.Admit("192.0.2.1")
			require.Error(t, err)

			w.RecordReached("192.0.2.3")
			for range 10 {
				_, err = w.Admit("192.0.2.1")
				require.NoError(t, err)
			}
			require.Len(t, w.told, 2)
			require.True(t, w.told[1].Since.IsZero())
			require.True(t, w.Outage().Since.IsZero())
		},
		"ThatLeavesFewToAskHoldsAllTheSame": func(t *testing.T, w *world) {
			w.reachedBefore(5)
			w.all(t, 5)
			time.Sleep(time.Hour)
			require.Error(t, w.sparedFor("192.0.2.3", time.Hour))
		},
		"WhatWasUnderWayWhenItEndedIsSpared": func(t *testing.T, w *world) {
			w.all(t, 30)
			time.Sleep(time.Minute)
			w.RecordReached("192.0.2.3")
			time.Sleep(4 * time.Second)
			require.Error(t, w.unreached("192.0.2.4"), "it began a second before")
			require.True(t, w.Outage().Since.IsZero())
			time.Sleep(5 * time.Second)
			w.RecordReached("192.0.2.3")
			require.NoError(t, w.unreached("192.0.2.4"), "it began when the network was back")
		},
		"ThatEndsWhileAFailureIsJudged": func(t *testing.T, w *world) {
			w.reachedBefore(4)
			w.knows("good.test")
			w.away = true
			judged := make(chan error)
			go func() {
				time.Sleep(5 * time.Second)
				judged <- w.unreached("new.test")
			}()
			require.Equal(t, 4, w.all(t, 4))
			w.away = false
			w.heard("other.test", true, false)
			w.RecordReached("192.0.2.3")
			require.Error(t, <-judged, "that others are reached once the network is back says nothing about it")
		},
		"ThatEndsForNamesFirst": func(t *testing.T, w *world) {
			w.reachedBefore(12)
			w.knows("good.test")
			w.away = true
			require.Equal(t, 12, w.all(t, 12))
			w.away = false
			w.heard("other.test", true, false)
			for range 5 {
				require.Error(t, w.unreached("new.test"), "its queries may have been lost before")
			}
			require.NoError(t, w.unreached("new.test"))
		},
		"ThatLastsForHours": func(t *testing.T, w *world) {
			w.reachedBefore(4)
			for range 300 {
				require.Equal(t, 4, w.all(t, 4))
				time.Sleep(30 * time.Second)
			}
			require.Len(t, w.told, 1)
		},
		"WhatWasConnectedIsSparedInAnOutage": func(t *testing.T, w *world) {
			w.reachedBefore(5)
			w.all(t, 5)
			require.Error(t, w.JudgeFailure(t.Context(), silent))
		},
		"WhateverWasReachedWhileItWasSilent": func(t *testing.T, w *world) {
			w.knows("good.test")
			w.away = true
			w.RecordReached("192.0.2.1")
			require.Error(t, w.JudgeFailure(t.Context(), silent))
		},
		"ButNotWithoutOne": func(t *testing.T, w *world) {
			require.NoError(t, w.JudgeFailure(t.Context(), silent))
			require.Empty(t, w.told)
		},
		"ATargetAskedAloneIsSparedForAWhile": func(t *testing.T, w *world) {
			for spared := time.Duration(0); spared <= 3*time.Minute; spared += 30 * time.Second {
				require.Error(t, w.sparedFor("192.0.2.9", spared))
				_, err := w.Admit("192.0.2.1")
				require.NoError(t, err, "it may be asked again")
			}
			began := time.Now()
			require.NoError(t, w.sparedFor("192.0.2.9", 4*time.Minute))
			require.Equal(t, 10*time.Second, time.Since(began), "then it is at fault, by whichever worker")
			require.Len(t, w.told, 2, "the outage is over: there is no sign of it")
			require.Contains(t, w.told[0].Reason, "192.0.2.9, the only recent target, could not be reached")
			require.Contains(t, w.told[1].Reason, "192.0.2.9 has been unreachable for so long")
		},
		"AListOfMostlyDeadSitesComesToAnEnd": func(t *testing.T, w *world) {
			charged := map[int]bool{}
			for round := range 40 {
				go func() {
					time.Sleep(time.Second)
					w.RecordReached("192.0.2.200")
				}()
				results := make(chan int, 50)
				for i := range 50 {
					go func() {
						if w.unreached(fmt.Sprint("192.0.2.", i)) == nil {
							results <- i
						} else {
							results <- -1
						}
					}()
				}
				for range 50 {
					charged[<-results] = true
				}
				if len(charged) == 51 {
					require.Positive(t, round, "not without a doubt")
					return
				}
				time.Sleep(20 * time.Second)
			}
			require.Fail(t, "some are never held to be at fault", "%d", len(charged))
		},
		"NamesThatWereNeverFoundComeToAnEnd": func(t *testing.T, w *world) {
			require.Less(t, w.charged(t, "a.test", "b.test", "c.test"), 5*time.Minute)
			require.True(t, w.Outage().Since.IsZero())
			require.Contains(t, w.told[0].Reason, "could be resolved")
		},
		"AsDoAddressesThatWereNeverReached": func(t *testing.T, w *world) {
			require.Less(t, w.charged(t, "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"), 5*time.Minute)
		},
		"ANameIsAtFaultWhenAnotherIsFoundAgain": func(t *testing.T, w *world) {
			w.knows("good.test")
			require.Less(t, w.charged(t, "a.test", "b.test", "c.test"), time.Second)
		},
		"AFewThatHaveDiedComeToAnEndWhereNamesAreFound": func(t *testing.T, w *world) {
			w.reachedBefore(4)
			w.knows("good.test")
			require.Less(t, w.charged(t, "192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3"), 5*time.Minute)
		},
		"OurResolversFailureIsNoNamesFault": func(t *testing.T, w *world) {
			w.knows("good.test")
			w.away = true
			for spared := time.Duration(0); spared < 12*time.Hour; spared += 5 * time.Minute {
				w.RecordReached("192.0.2.1") // whose name is cached
				require.Error(t, w.sparedFor("new.test", spared))
				_, err := w.Admit("192.0.2.1")
				require.NoError(t, err, "addresses are asked as ever")
				_, err = w.Admit("good.test")
				require.NoError(t, err, "and so are hosts that are known")
				time.Sleep(5 * time.Minute)
			}
			w.RecordReached("192.0.2.1")
			require.NoError(t, w.unreached("192.0.2.9"), "and a dead site is charged")
			require.Len(t, w.told, 1)
			w.heard("other.test", true, false)
			require.True(t, w.Outage().Since.IsZero())
		},
		"ANameThatWasFoundLongAgoTellsToo": func(t *testing.T, w *world) {
			w.knows("good.test")
			for range 100 {
				w.heard("other.test", true, false)
				time.Sleep(time.Minute)
			}
			w.away = true
			require.Error(t, w.sparedFor("new.test", time.Hour))
		},
		"AnOutageOfOneSitesCrawlCostsNothing": func(t *testing.T, w *world) {
			w.RecordReached("192.0.2.1")
			w.knows("good.test")
			w.away = true
			for spared := time.Duration(0); spared < 12*time.Hour; spared += 5 * time.Minute {
				require.Error(t, w.sparedFor("192.0.2.1", spared))
				require.Error(t, w.sparedFor("192.0.2.2", spared), "nor what was never reached")
				time.Sleep(5 * time.Minute)
			}
			w.away = false
			require.Error(t, w.unreached("192.0.2.1"), "it has the benefit of the doubt")
			require.NoError(t, w.sparedFor("192.0.2.2", time.Hour), "which ends once names are found")
		},
		"ManyThatWereReachedAreOurFaultWhateverIsFound": func(t *testing.T, w *world) {
			w.reachedBefore(12)
			w.knows("good.test")
			for range 50 {
				require.Equal(t, 12, w.all(t, 12))
				time.Sleep(30 * time.Second)
			}
		},
		"WhatIsStoredCountsAfterARestart": func(t *testing.T, w *world) {
			results := make(chan error, 3)
			for i := range 3 {
				go func() {
					results <- w.JudgeFailure(t.Context(), network.Failure{
						Key: fmt.Sprint("192.0.2.", i), Waited: 5 * time.Second, WithdrawnTime: time.Hour, ReachedBefore: true,
					})
				}()
			}
			for range 3 {
				require.Error(t, <-results)
			}
		},
		"WhatDiedBesideOthersIsNoSignOfAnOutage": func(t *testing.T, w *world) {
			for i := range 5 {
				w.RecordReached(fmt.Sprint("192.0.2.", i))
				time.Sleep(6 * time.Second)
				w.RecordReached("192.0.2.100")
				require.NoError(t, w.unreached(fmt.Sprint("192.0.2.", i)))
			}
			time.Sleep(time.Minute)
			require.NoError(t, w.sparedFor("192.0.2.1", 4*time.Minute))
		},
		"IPv6IsJudgedByItself": func(t *testing.T, w *world) {
			for spared := time.Duration(0); spared <= 3*time.Minute; spared += 30 * time.Second {
				w.RecordReached("192.0.2.1")
				require.Error(t, w.sparedFor("2001:db8::1", spared))
			}
			require.NoError(t, w.sparedFor("2001:db8::1", 4*time.Minute))
		},
		"ACallerThatEndsIsNotKept": func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			began := time.Now()
			require.Error(t, w.JudgeFailure(ctx, network.Failure{Key: "192.0.2.9", Waited: 5 * time.Second}))
			require.Equal(t, time.Second, time.Since(began))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in(t, test)
		})
	}
}
