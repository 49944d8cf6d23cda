package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/floatgate/ticketing/driver"
)

// record describes the checks of one kind of record. All its functions use the same record.
type record struct {
	name string
	// create inserts the record.
	create writes
	// created expects the record as create wrote it. absent expects no trace of it, also in lists.
	created, absent reads
	// change changes the record, and changed expects the change. They are nil for records that never change.
	change  writes
	changed reads
	// taken inserts another record under a key of this one. Its keys are the names of these keys.
	taken map[string]writes
}

func records() []record {
	return slices.Concat(
		companyKinds(), brandingKinds(), commissionKinds(), apiKeyKinds(), categoryKinds(), eventKinds(),
		inventoryKinds(), orderKinds(), admissionKinds(), orderEndingKinds(), walletKinds(), ledgerKinds(),
		bankAccountKinds(), settlementKinds(), outboxKinds(), endpointKinds(), signingSecretKinds(),
		messageKinds(), deliveryKinds(), notificationKinds(), mailSenderKinds(), auditKinds(),
		userKinds(), memberKinds(), caseKinds(), bookCheckKinds(), salesKinds(), accountKinds(),
	)
}

func recordChecks() []Check {
	var checks []Check
	for _, r := range records() {
		checks = append(checks,
			Check{r.name + "/own writes are visible", grounded(r.ownWrites)},
			Check{r.name + "/round trip", grounded(r.roundTrip)},
			Check{r.name + "/a failed Update keeps nothing", grounded(r.takenBack)},
		)
		if r.change != nil {
			checks = append(checks,
				Check{r.name + "/a change is kept", grounded(r.changes)},
				Check{r.name + "/a change of what is missing fails", grounded(r.missing)},
			)
		}
		for key, again := range r.taken {
			checks = append(checks, Check{r.name + "/taken " + key, grounded(func(ctx context.Context, s driver.Store) error {
				return r.refused(ctx, s, again)
			})})
		}
	}
	slices.SortFunc(checks, func(a, b Check) int { return compareText(a.Name, b.Name) })
	return checks
}

func (r record) ownWrites(ctx context.Context, s driver.Store) error {
	return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := r.absent(ctx, tx); err != nil {
			return fmt.Errorf("before it is written: %w", err)
		}
		if err := r.create(ctx, tx); err != nil {
			return fmt.Errorf("create: %w", err)
		}
		if err := r.created(ctx, tx); err != nil || r.change == nil {
			return err
		}
		if err := r.change(ctx, tx); err != nil {
			return fmt.Errorf("change: %w", err)
		}
		return r.changed(ctx, tx)
	})
}

func (r record) roundTrip(ctx context.Context, s driver.Store) error {
	if err := everywhere(ctx, s, r.absent); err != nil {
		return fmt.Errorf("before it is written: %w", err)
	}
	if err := update(ctx, s, r.create); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, r.created)
}

func (r record) takenBack(ctx context.Context, s driver.Store) error {
	err := failing(ctx, s, r.create)
	if err != nil {
		return err
	}
	if err := everywhere(ctx, s, r.absent); err != nil {
		return fmt.Errorf("created in an Update that failed: %w", err)
	}
	if err := update(ctx, s, r.create); err != nil {
		return fmt.Errorf("create what an Update that failed had created: %w", err)
	}
	if err := everywhere(ctx, s, r.created); err != nil || r.change == nil {
		return err
	}
	if err := failing(ctx, s, r.change); err != nil {
		return err
	}
	if err := everywhere(ctx, s, r.created); err != nil {
		return fmt.Errorf("changed in an Update that failed: %w", err)
	}
	return nil
}

// failing runs fn in an Update that then fails.
func failing(ctx context.Context, s driver.Store, fn writes) error {
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		if err := fn(ctx, tx); err != nil {
			return err
		}
		return errOwn
	})
	if errors.Is(err, errOwn) {
		return nil
	}
	return fmt.Errorf("got %w, want the error of fn", orNone(err))
}

func (r record) changes(ctx context.Context, s driver.Store) error {
	if err := update(ctx, s, r.create); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := update(ctx, s, r.change); err != nil {
		return fmt.Errorf("change: %w", err)
	}
	return everywhere(ctx, s, r.changed)
}

func (r record) missing(ctx context.Context, s driver.Store) error {
	if err := misses("change", update(ctx, s, r.change)); err != nil {
		return err
	}
	return everywhere(ctx, s, r.absent)
}

func (r record) refused(ctx context.Context, s driver.Store, again writes) error {
	if err := update(ctx, s, r.create); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	if err := refuses("in another Update", update(ctx, s, again)); err != nil {
		return err
	}
	if err := everywhere(ctx, s, r.created); err != nil {
		return fmt.Errorf("after a broken constraint: %w", err)
	}
	return nil
}
