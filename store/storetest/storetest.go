// Package storetest tells whether a store keeps the promises of [ticketing.Store].
//
// Whoever writes a store runs the whole suite from one test:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) ticketing.Store { return open(t) })
//	}
//
// A [Check] is a plain function, so that a store broken on purpose can be shown to fail. [Rerun] is for the tests of
// whoever uses a store.
package storetest

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing"
)

// Check is one promise of a store.
type Check struct {
	// Name is its subject and the promise, as in "orders/paging".
	Name string
	// Run tries a store that is open and empty, and answers which promise it broke. A broken store may also make it
	// panic, or wait until the context ends.
	Run func(ctx context.Context, s ticketing.Store) error
}

// Checks are all promises. No check needs another to have run.
func Checks() []Check {
	return slices.Concat(
		transactionChecks(), endingChecks(), isolationChecks(), claimChecks(), gateChecks(), recordChecks(),
		textChecks(), copyChecks(), companyChecks(), brandingChecks(), commissionChecks(), apiKeyChecks(),
		secretChecks(), categoryChecks(), eventChecks(), termsChecks(), inventoryChecks(), stockChecks(), orderChecks(),
		admissionChecks(), orderEndingChecks(), walletChecks(), ledgerChecks(), bankAccountChecks(), settlementChecks(),
		bookChecks(), outboxChecks(), endpointChecks(), messageChecks(), deliveryChecks(), workChecks(),
		idempotencyChecks(), auditChecks(), memberChecks(), caseChecks(), buyerChecks(),
	)
}
