package ticketing

import "context"

// Purpose is what a transaction is for. A store that has few connections keeps some of them for each but the first, so
// that those who read and write much keep neither sales nor the background work from the database.
type Purpose int

const (
	// PurposeRequest is a call that runs by itself, and whatever an [Operator] does.
	PurposeRequest Purpose = iota
	// PurposeGroup is a group of calls, look-ups of API keys among them.
	PurposeGroup
	// PurposeBackground is the work of [Service.Run].
	PurposeBackground
)

type purposeKey struct{}

// PurposeOf returns what a transaction is for, by the context that it was begun with.
func PurposeOf(ctx context.Context) Purpose {
	purpose, _ := ctx.Value(purposeKey{}).(Purpose)
	return purpose
}

// WithPurpose returns a context for a transaction of a purpose. The service sets it by itself.
func WithPurpose(ctx context.Context, purpose Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose)
}

// purposeStore is a store whose transactions are for one purpose.
type purposeStore struct {
	Store

	purpose Purpose
}

func (p purposeStore) mark(ctx context.Context) context.Context {
	return WithPurpose(ctx, p.purpose)
}

func (p purposeStore) View(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error {
	return p.Store.View(p.mark(ctx), fn)
}

func (p purposeStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx ReadTx) error) error {
	return p.Store.Snapshot(p.mark(ctx), fn)
}

func (p purposeStore) Update(ctx context.Context, fn func(ctx context.Context, tx Tx) error) error {
	return p.Store.Update(p.mark(ctx), fn)
}

// use takes a store for each purpose.
func (s *Service) use(store Store) {
	s.store = store
	s.groups = purposeStore{store, PurposeGroup}
	s.background = purposeStore{store, PurposeBackground}
}
