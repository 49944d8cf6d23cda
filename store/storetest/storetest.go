// Package storetest checks that a store keeps the promises of [driver.Store].
//
// A test of a store runs the whole suite:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) driver.Store { return open(t) })
//	}
//
// A [Check] is a plain function, so that a store broken on purpose can be shown to fail. [Rerun] is for the tests of
// code that uses a store.
package storetest

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing/driver"
)

// Check checks one promise of a store.
type Check struct {
	// Name is the subject and the promise, as in "events/list is in order and in pages".
	Name string
	// Run checks a store that is open and empty, and returns an error that names the broken promise. A broken store may
	// also make it panic, or wait until the context ends.
	Run func(ctx context.Context, s driver.Store) error
}

// Checks returns all checks. No check depends on another one.
func Checks() []Check {
	return slices.Concat(
		transactionChecks(), endingChecks(), isolationChecks(), claimChecks(), gateChecks(), recordChecks(),
		textChecks(), copyChecks(), companyChecks(), companySearchChecks(), brandingChecks(), commissionChecks(),
		apiKeyChecks(), secretChecks(), categoryChecks(), eventChecks(), termsChecks(), inventoryChecks(), stockChecks(),
		orderChecks(), admissionChecks(), orderEndingChecks(), walletChecks(), ledgerChecks(), bankAccountChecks(),
		settlementChecks(), bookChecks(), verifiedBookChecks(), salesChecks(), outboxChecks(), endpointChecks(),
		messageChecks(), deliveryChecks(), notificationChecks(), mailSenderChecks(), workChecks(), idempotencyChecks(),
		auditChecks(),
		memberChecks(), caseChecks(), buyerChecks(), buyerIndexChecks(), accountChecks(), findChecks(),
	)
}
