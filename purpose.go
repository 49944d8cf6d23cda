package ticketing

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

// purposeStore is a store whose transactions all have one purpose.
type purposeStore struct {
	driver.Store

	purpose driver.Purpose
}

// mark returns ctx with the purpose of the store.
func (p purposeStore) mark(ctx context.Context) context.Context {
	return driver.WithPurpose(ctx, p.purpose)
}

// View runs fn in a View of the underlying store.
func (p purposeStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return p.Store.View(p.mark(ctx), fn)
}

// Snapshot runs fn in a Snapshot of the underlying store.
func (p purposeStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return p.Store.Snapshot(p.mark(ctx), fn)
}

// Update runs fn in an Update of the underlying store.
func (p purposeStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	return p.Store.Update(p.mark(ctx), fn)
}

// use sets the store of the service, one view of it for each purpose.
func (s *Service) use(store driver.Store) {
	s.store = store
	s.groups = purposeStore{store, driver.PurposeGroup}
	s.background = purposeStore{store, driver.PurposeBackground}
}
