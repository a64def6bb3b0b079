package db

import "time"

// lockstepMost is how long a group waits until it is complete.
const lockstepMost = 10 * time.Second

// Lockstep has attempts be begun and recorded in groups of n, however fast the machine is.
// It is for tests that count what a page costs, and must be called before the store is used.
// A group that is still incomplete after ten seconds is taken as it is.
func (s *Store) Lockstep(n int) {
	s.begins.most, s.begins.least = n, lockstepMost
	s.records.most, s.records.least = n, lockstepMost
}
