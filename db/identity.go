package db

import "context"

// Identity is a text that no other database has, but for copies of this one.
func (s *Store) Identity(ctx context.Context) (string, error) {
	identity, err := s.q.DatabaseIdentity(ctx)
	return identity, translate("read which database this is", err)
}
