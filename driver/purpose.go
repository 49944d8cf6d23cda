package driver

import "context"

// Purpose is what a transaction is for. A store with few connections reserves some for each purpose but the first. So
// requests that read and write a lot cannot take all connections from grouped sales or from background work.
type Purpose int

// The purposes of a transaction.
const (
	// PurposeRequest is a call that is not grouped, and everything that a ticketing.Operator does. A context without a
	// purpose has this one.
	PurposeRequest Purpose = iota
	// PurposeGroup is a group of calls, including look-ups of API keys.
	PurposeGroup
	// PurposeBackground is the work of ticketing.Service.Run.
	PurposeBackground
)

// purposeKey is the key of the purpose in a context.
type purposeKey struct{}

// PurposeOf returns the purpose of a transaction from the context that it was begun with. Stores call it.
func PurposeOf(ctx context.Context) Purpose {
	purpose, _ := ctx.Value(purposeKey{}).(Purpose)
	return purpose
}

// WithPurpose returns a context for a transaction of the given purpose. The service calls it; it is exported for the
// tests of stores.
func WithPurpose(ctx context.Context, purpose Purpose) context.Context {
	return context.WithValue(ctx, purposeKey{}, purpose)
}
