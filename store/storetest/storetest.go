// Package storetest checks that a store keeps the promises of [driver.Store]. It is for authors of stores, and for
// tests of code that uses a store.
//
// A test of a store runs all checks with [Run]:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) driver.Store { return open(t) })
//	}
//
// [Checks] returns the checks one by one. A [Check] is a plain function, so that a test can show that a store broken on
// purpose fails it. [Rerun] returns a store that runs every Update twice, for the tests of code that uses a store.
// Package [github.com/floatgate/ticketing/store/memory] is the simplest store that passes.
package storetest

import (
	"context"
	"slices"

	"github.com/floatgate/ticketing/driver"
)

// Check checks one promise of a store.
type Check struct {
	// Name is the subject and the promise, such as "events/list is in order and in pages".
	Name string
	// Run checks a store that is open and empty. It returns an error that names the broken promise. A broken store may
	// also make it panic, or wait until the context ends.
	Run func(ctx context.Context, s driver.Store) error
}

// Checks returns all checks. They are independent of each other.
func Checks() []Check {
	return slices.Concat(
		transactionChecks(), endingChecks(), isolationChecks(), claimChecks(), gateChecks(), recordChecks(),
		textChecks(), copyChecks(), companyChecks(), companySearchChecks(), brandingChecks(), commissionChecks(),
		apiKeyChecks(), secretChecks(), categoryChecks(), eventChecks(), termsChecks(), inventoryChecks(), stockChecks(),
		orderChecks(), admissionChecks(), orderEndingChecks(), walletChecks(), ledgerChecks(), bankAccountChecks(),
		settlementChecks(), bookChecks(), verifiedBookChecks(), salesChecks(), outboxChecks(), endpointChecks(),
		messageChecks(), deliveryChecks(), notificationChecks(), mailSenderChecks(), workChecks(), idempotencyChecks(),
		auditChecks(), announceChecks(),
		memberChecks(), caseChecks(), buyerChecks(), buyerIndexChecks(), accountChecks(), findChecks(),
	)
}
