package settings_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mosey-web/mosey/crawl/settings"
)

// TestParseWindowsReadsNoZones checks that ParseWindows loads no time zones. Tests of
// package politeness, which uses the windows, cover the accepted and refused values.
func TestParseWindowsReadsNoZones(t *testing.T) {
	t.Parallel()
	windows, err := settings.ParseWindows("Mon-Wed 22:00-6:00 Etc/GMT+3, Sun 00:00-24:00 No/Such_Zone")
	require.NoError(t, err)
	require.Len(t, windows, 2)
	w := windows[0]
	require.Equal(t, "Etc/GMT+3", w.Zone)
	require.Equal(t, []time.Duration{22 * time.Hour, 6 * time.Hour}, []time.Duration{w.From, w.To})
	require.True(t, w.Days.Has(time.Tuesday))
	require.Equal(t, settings.Weekdays(1<<time.Monday|1<<time.Tuesday|1<<time.Wednesday), w.Days)
	require.Equal(t, "No/Such_Zone", windows[1].Zone)
	require.EqualError(t, windows[1].UnknownZone(), `invalid input: window "Sun 00:00-24:00 No/Such_Zone": `+
		`time zone "No/Such_Zone" is unknown: want an IANA name, such as Europe/Berlin or UTC`)

	windows, err = settings.ParseWindows("Mon 22:00-06:00")
	require.NoError(t, err)
	require.Empty(t, windows[0].Zone)
	require.Equal(t, settings.Weekdays(1<<time.Monday), windows[0].Days)
	require.NoError(t, settings.Settings{Window: new("Mon 22:00-06:00 No/Such_Zone")}.Validate())

	for _, zone := range []string{"Local", "../../etc/localtime", "Europe/Berlin;", "Zürich"} {
		_, err := settings.ParseWindows("Mon 22:00-06:00 " + zone)
		require.ErrorIs(t, err, settings.ErrInvalid, zone)
		require.ErrorContains(t, err, "is unknown: want an IANA name", zone)
	}
}
