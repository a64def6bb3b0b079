package politeness_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the machine may have none

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl"
	"github.com/mosey-web/mosey/crawl/politeness"
	"github.com/mosey-web/mosey/crawl/settings"
	"github.com/mosey-web/mosey/crawl/urls"
)

func mustWindows(t *testing.T, text string) politeness.Windows {
	t.Helper()
	w, err := politeness.ParseWindows(text)
	require.NoError(t, err)
	return w
}

// expiring is the same windows, which expire at an instant.
func expiring(w politeness.Windows, at time.Time) politeness.Windows {
	w.ExpiresAt = at
	return w
}

// instant reads a time with its offset from UTC.
func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02 15:04:05 -0700", text)
	require.NoError(t, err)
	return at
}

func TestParseWindows(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Mon-Fri 22:00-06:00 Europe/Berlin":               "Mon-Fri 22:00-06:00 Europe/Berlin",
		"  mon-FRI   8:00-9:30  ":                         "Mon-Fri 08:00-09:30 UTC",
		"Monday-friday 22:00-06:00 UTC":                   "Mon-Fri 22:00-06:00 UTC",
		"Tues,Thurs 22:00-06:00":                          "Tue,Thu 22:00-06:00 UTC",
		"Mon-Sun 00:00-24:00":                             "Mon-Sun 00:00-24:00 UTC",
		"Tue-Mon 00:00-24:00":                             "Mon-Sun 00:00-24:00 UTC",
		"Fri-Mon 00:00-24:00":                             "Fri-Mon 00:00-24:00 UTC",
		"Sun,Sat 00:00-24:00":                             "Sat-Sun 00:00-24:00 UTC",
		"Mon, Wed , Fri-Sun 1:00-2:00":                    "Wed,Fri-Mon 01:00-02:00 UTC",
		"Mon 23:00-01:00, Tue,Wed 02:00-03:00":            "Mon 23:00-01:00 UTC, Tue-Wed 02:00-03:00 UTC",
		"Mon 1:00-2:00 UTC, Sat 3:00-4:00 Asia/Kathmandu": "Mon 01:00-02:00 UTC, Sat 03:00-04:00 Asia/Kathmandu",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			w := mustWindows(t, text)
			require.Equal(t, want, w.String())
			require.Equal(t, w, mustWindows(t, w.String()))
		})
	}

	for text, why := range map[string]string{
		"":                                    "want days, times and optionally a time zone",
		"22:00-06:00":                         "every day is Mon-Sun",
		"Mon":                                 "want days, times",
		"Mon 22:00-06:00 Europe/Berlin now":   "want days, times",
		"Mon 22:00-06:00,":                    "want days, times",
		"Mon 22:00-06:00, Tue":                `window "Tue"`,
		"M 22:00-06:00":                       `days "M": want names`,
		"Mondays 22:00-06:00":                 `days "Mondays"`,
		"Mon-Fry 22:00-06:00":                 `days "Mon-Fry"`,
		"Mon- 22:00-06:00":                    `days "Mon-"`,
		"Mon-Wed-Fri 22:00-06:00":             `days "Mon-Wed-Fri"`,
		"Mon,,Tue 22:00-06:00":                `days "Mon,,Tue"`,
		"Mon 22:00":                           `times "22:00": want a start and an end`,
		"Mon 22-06":                           `times "22-06"`,
		"Mon 22:00-25:00":                     `times "22:00-25:00"`,
		"Mon 22:00-24:01":                     `times "22:00-24:01"`,
		"Mon 24:00-06:00":                     `times "24:00-06:00"`,
		"Mon 22:60-06:00":                     `times "22:60-06:00"`,
		"Mon 022:00-06:00":                    `times "022:00-06:00"`,
		"Mon -1:00-06:00":                     `times "-1:00-06:00"`,
		"Mon 06:00-06:00":                     "a whole day is 00:00-24:00",
		"Mon 22:00-06:00 Berlin":              `time zone "Berlin" is unknown: want an IANA name`,
		"Mon 22:00-06:00 Local":               `time zone "Local"`,
		"Mon 22:00-06:00 ../../etc/localtime": "time zone",
		"Mon 1:00-2:00, Tue 1:00-2:00 Asia/Tokyo":              "name it in each",
		"Mon 22:00-06:00" + strings.Repeat(" ", 1000):          "1015 bytes long, at most 1000 allowed",
		strings.Repeat("Mon 1:00-2:00,", 32) + "Mon 1:00-2:00": "33 windows: at most 32 allowed",
	} {
		t.Run("Refuses "+urls.Shorten(text, 60), func(t *testing.T) {
			t.Parallel()
			w, err := politeness.ParseWindows(text)
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, why)
			require.Less(t, len(err.Error()), 1500)
			require.Equal(t, politeness.Windows{}, w)
		})
	}
}

func TestValidateSettings(t *testing.T) {
	t.Parallel()
	for _, window := range []*string{nil, new(""), new("Mon 22:00-06:00"), new("Mon 22:00-06:00 Europe/Berlin")} {
		require.NoError(t, politeness.ValidateSettings(settings.Settings{Window: window}))
	}

	t.Run("NamesEachFaultOnce", func(t *testing.T) {
		t.Parallel()
		for window, why := range map[string]string{
			"Mon 22:00-06:00 Berlin": `window "Mon 22:00-06:00 Berlin": time zone "Berlin" is unknown: want an IANA name`,
			"at night":               `window "at night": days "at"`,
		} {
			err := politeness.ValidateSettings(settings.Settings{MaxAttempts: new(0), Window: &window})
			require.ErrorIs(t, err, crawl.ErrInvalid)
			require.ErrorContains(t, err, "max_attempts 0: want 1 to 20")
			require.Equal(t, 1, strings.Count(err.Error(), why), err)
			require.Equal(t, 2, strings.Count(err.Error(), crawl.ErrInvalid.Error()), err)
		}
	})
}

func TestWindowsWait(t *testing.T) {
	t.Parallel()
	const (
		nights = "Mon-Fri 22:00-06:00 Europe/Berlin"
		hour   = time.Hour
	)
	for why, c := range map[string]struct {
		windows, now string
		wait         time.Duration
		open         time.Duration // from when it opens until it closes
	}{
		"before it opens":             {nights, "2026-11-23 21:00:00 +0100", hour, 8 * hour},
		"the moment it opens":         {nights, "2026-11-23 22:00:00 +0100", 0, 8 * hour},
		"the second before":           {nights, "2026-11-23 21:59:59 +0100", time.Second, 8 * hour},
		"after midnight":              {nights, "2026-11-24 01:00:00 +0100", 0, 5 * hour},
		"the moment it closes":        {nights, "2026-11-24 06:00:00 +0100", 16 * hour, 8 * hour},
		"Friday's night on Saturday":  {nights, "2026-11-28 05:00:00 +0100", 0, hour},
		"Sunday's night is Monday's":  {nights, "2026-11-30 01:00:00 +0100", 21 * hour, 8 * hour},
		"over the weekend":            {nights, "2026-11-28 06:00:00 +0100", 64 * hour, 8 * hour},
		"seen from another time zone": {nights, "2026-11-23 12:00:00 -0800", hour, 8 * hour},
		"over the week's end":         {"Sat 20:00-04:00", "2026-11-29 03:00:00 +0000", 0, hour},
		"days that touch":             {"Sat-Sun 00:00-24:00", "2026-11-28 12:00:00 +0000", 0, 36 * hour},
		"windows that touch":          {"Mon 10:00-12:00, Mon 12:00-13:00", "2026-11-23 11:00:00 +0000", 0, 2 * hour},
		"windows that overlap":        {"Mon 10:00-12:00, Mon 11:00-12:30", "2026-11-23 10:30:00 +0000", 0, 2 * hour},
		"the nearest of several":      {"Wed 10:00-12:00, Tue 10:00-11:00", "2026-11-23 10:00:00 +0000", 24 * hour, hour},
		"of several zones": {
			"Mon 10:00-12:00 Asia/Kathmandu, Mon 06:00-07:00 UTC", "2026-11-23 04:00:00 +0000", 15 * time.Minute, 165 * time.Minute,
		},
		// On 2026-03-29 Berlin's clocks go from 2:00 to 3:00, on 2026-10-25 from 3:00 back
		// to 2:00.
		"the night of summer time":      {"Mon-Sun 22:00-06:00 Europe/Berlin", "2026-03-28 21:00:00 +0100", hour, 7 * hour},
		"the night of winter time":      {"Mon-Sun 22:00-06:00 Europe/Berlin", "2026-10-24 21:00:00 +0200", hour, 9 * hour},
		"the morning of summer time":    {"Sun 08:00-10:00 Europe/Berlin", "2026-03-29 00:00:00 +0100", 7 * hour, 2 * hour},
		"the morning of winter time":    {"Sun 08:00-10:00 Europe/Berlin", "2026-10-25 00:00:00 +0200", 9 * hour, 2 * hour},
		"the hour that is skipped":      {"Sun 02:00-03:00 Europe/Berlin", "2026-03-29 00:00:00 +0100", 7*24*hour + hour, hour},
		"from within the skipped hour":  {"Sun 02:30-04:00 Europe/Berlin", "2026-03-29 01:30:00 +0100", 30 * time.Minute, hour},
		"until within the skipped hour": {"Sun 01:00-02:30 Europe/Berlin", "2026-03-29 00:00:00 +0100", hour, hour},
		"the hour that is repeated":     {"Sun 02:00-03:00 Europe/Berlin", "2026-10-25 00:00:00 +0200", 2 * hour, 2 * hour},
		"its second time":               {"Sun 02:30-02:45 Europe/Berlin", "2026-10-25 02:45:00 +0200", 45 * time.Minute, 15 * time.Minute},
		"from before it, the first":     {"Sun 01:00-02:30 Europe/Berlin", "2026-10-25 01:00:00 +0200", 0, 90 * time.Minute},
		"from before it, the second":    {"Sun 01:00-02:30 Europe/Berlin", "2026-10-25 02:30:00 +0200", 30 * time.Minute, 30 * time.Minute},
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			w, now := mustWindows(t, c.windows), instant(t, c.now)
			require.Equal(t, c.wait, w.Wait(now))
			opens := now.Add(c.wait)
			require.Zero(t, w.Wait(opens))
			closes, ok := w.NextClosing(opens)
			require.True(t, ok)
			require.Equal(t, c.open, closes.Sub(opens))
			require.Positive(t, w.Wait(closes))
			if c.wait > 0 {
				closed, ok := w.NextClosing(now)
				require.True(t, ok)
				require.True(t, closed.Equal(now), "none is open")
			}
		})
	}
}

func TestWindowsUntil(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-11-23 12:00:00 +0000")
	const hour = time.Hour
	night := mustWindows(t, "Mon-Sun 22:00-23:00")
	for until, want := range map[time.Duration]time.Duration{-hour: 0, 0: 0, 3 * hour: 3 * hour, 10 * hour: 10 * hour, 48 * hour: 10 * hour} {
		require.Equal(t, want, expiring(night, now.Add(until)).Wait(now), until)
	}
	require.Equal(t, 10*hour, night.Wait(now), "the windows themselves are as they were")
	// two that never meet, until one of them holds no longer
	never := []politeness.Windows{expiring(night, now.Add(30*hour)), expiring(mustWindows(t, "Mon-Sun 06:00-07:00"), now.Add(48*hour))}
	require.Equal(t, 42*hour, politeness.WaitAll(now, never))
	_, closes := expiring(night, now.Add(10*hour+30*time.Minute)).NextClosing(now.Add(10 * hour))
	require.False(t, closes)
	at, closes := expiring(night, now.Add(12*hour)).NextClosing(now.Add(10 * hour))
	require.True(t, closes)
	require.True(t, at.Equal(now.Add(11*hour)))
}

func TestWindowsThatNeverClose(t *testing.T) {
	t.Parallel()
	now := instant(t, "2026-03-28 21:00:00 +0100")
	for _, w := range []politeness.Windows{
		{},
		mustWindows(t, "Mon-Sun 00:00-24:00 Europe/Berlin"),
		mustWindows(t, "Mon-Sun 06:00-20:00, Mon-Sun 18:00-07:00"),
		mustWindows(t, "Mon-Wed 00:00-24:00 Europe/Berlin, Thu-Sun 00:00-24:00 Europe/Berlin"),
	} {
		require.Zero(t, w.Wait(now))
		_, ok := w.NextClosing(now)
		require.False(t, ok, w.String())
	}
}

// The zones are those with rare rules: summer time of half an hour, odd offsets,
// clocks put back for a month, a date that was skipped.
func FuzzWindows(f *testing.F) {
	f.Add("Mon-Fri 22:00-06:00 Europe/Berlin", int64(1774738800))
	f.Add("Sun 01:45-02:15 Australia/Lord_Howe, Mon,Wed 00:00-24:00 Asia/Kathmandu", int64(1775311200))
	f.Add("Sat 23:00-01:00 America/St_Johns", int64(1793491200))
	f.Add("Sun 02:00-03:00 Africa/Casablanca", int64(1771120800))
	f.Add("Fri 00:00-24:00 Pacific/Apia", int64(1325203200))
	f.Add("Mon, 1:00-2:00", int64(0))
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		w, err := politeness.ParseWindows(text)
		if err != nil {
			require.ErrorIs(t, err, crawl.ErrInvalid)
			return
		}
		again, err := politeness.ParseWindows(w.String())
		require.NoError(t, err, w.String())
		require.Equal(t, w.String(), again.String())

		const century = 100 * 365 * 24 * 3600
		now := time.Unix(unix%century, 0)
		wait := w.Wait(now)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.Less(t, wait, 16*24*time.Hour, "each window opens every week, unless its hour is skipped")
		opens := now.Add(wait)
		require.Zero(t, w.Wait(opens))
		for _, share := range []float64{0.1, 0.3, 0.7, 1} {
			part := time.Duration(share * float64(wait))
			require.Equal(t, wait-part, w.Wait(now.Add(part)), "it was closed until then")
		}
		if closes, ok := w.NextClosing(opens); ok {
			require.True(t, closes.After(opens))
			require.Positive(t, w.Wait(closes))
			open := closes.Sub(opens)
			for _, share := range []float64{0, 0.3, 0.7, 0.9} {
				require.Zero(t, w.Wait(opens.Add(time.Duration(share*float64(open)))), "it was open until then")
			}
		}
	})
}

// TestWindowsAgreeWithAClock goes minute by minute through days on which clocks are
// changed.
func TestWindowsAgreeWithAClock(t *testing.T) {
	t.Parallel()
	for zone, start := range map[string]string{
		"Europe/Berlin":       "2026-03-28 00:00:00 +0100",
		"Australia/Lord_Howe": "2026-04-04 00:00:00 +1100",
		"America/St_Johns":    "2026-10-31 00:00:00 -0230",
		"Africa/Casablanca":   "2026-02-14 00:00:00 +0100",
	} {
		t.Run(zone, func(t *testing.T) {
			t.Parallel()
			loc, err := time.LoadLocation(zone)
			require.NoError(t, err)
			w := mustWindows(t, "Sun 01:40-02:50 "+zone+", Sat 22:10-00:20 "+zone)
			shows := func(at time.Time) bool {
				local := at.In(loc)
				clock := local.Format("15:04")
				switch local.Weekday() {
				case time.Saturday:
					return clock >= "22:10"
				case time.Sunday:
					return clock < "00:20" || clock >= "01:40" && clock < "02:50"
				default:
					return false
				}
			}
			at := instant(t, start)
			changes := 0
			for range 3 * 24 * 60 {
				require.Equal(t, shows(at), w.Wait(at) == 0, at)
				next := at.Add(time.Minute)
				if shows(at) != shows(next) {
					changes++
				}
				at = next
			}
			require.GreaterOrEqual(t, changes, 4)
		})
	}
}
