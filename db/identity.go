package db

import "context"

// Identity is a text that no other database has, but for copies of this one.
func (s *Store) Identity(ctx context.Context) (string, error) {
	identity, err := s.q.DatabaseIdentity(ctx)
	return identity, translate("read which database this is", err)
}

// Closed is why this database takes no work, with the remedy: it is moved to another server.
// It is empty while the database is open.
func (s *Store) Closed(ctx context.Context) (why string, err error) {
	why, err = s.q.DatabaseClosed(ctx)
	return why, translate("look whether the database is open", err)
}
