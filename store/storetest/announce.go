package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Announced reads and reads that travel together are promises of stores that have them. Every other store keeps them by
// making each read when it is called.
func announceChecks() []Check {
	return []Check{
		{"announced/reads return what they would return alone", grounded(announcedReads)},
		{"announced/lists stay in their order", grounded(announcedLists)},
		{"announced/an Update sees its own writes", grounded(announcedBeforeWrites)},
		{"announced/reads come after a lock that is taken after them", grounded(announcedBeforeLocks)},
		{"announced/reads of an Update come after its gate", grounded(announcedAfterGate)},
		{"announced/reads of an Update come after its claims", grounded(announcedAfterClaims)},
		{"announced/reads that are not called change nothing", grounded(announcedInVain)},
		{"together/stock and wallets are those of two calls", grounded(saleLocked)},
		{"together/orders and lines are those of two calls", grounded(ordersWithLines)},
	}
}

// announce announces reads where the transaction can.
func announce(ctx context.Context, tx driver.ReadTx, reads func(ctx context.Context, tx driver.ReadTx)) {
	if announcer, ok := tx.(driver.Announcer); ok {
		announcer.Announce(ctx, reads)
	}
}

// announced are reads of every kind of column, and what they return.
func announced(key driver.APIKey) (reads func(ctx context.Context, tx driver.ReadTx) error) {
	terms := []driver.SaleTermsRef{{EventRef: eventA, BrandingVersion: 1}, {EventRef: eventB, BrandingVersion: 9}}
	return func(ctx context.Context, tx driver.ReadTx) error {
		found, err := tx.SaleTerms(ctx, terms, at(0))
		if err == nil && len(found) == len(terms) && found[0].Status != "" {
			// Any other answer is that of an announcement.
			err = want("terms", newBranding(companyA, 1)).from(found[0].Branding, nil)
		}
		return errors.Join(
			want("companies, with a gap", []driver.Company{newCompany(companyB), {}, newCompany(companyA)}).
				from(tx.Companies(ctx, []uuid.UUID{companyB, id(90), companyA})),
			want("a company", []driver.Company{newCompany(companyA)}).from(tx.Companies(ctx, []uuid.UUID{companyA})),
			want("an API key", []driver.APIKey{key}).
				from(tx.APIKeys(ctx, []driver.APIKeyRef{{CompanyID: companyA, ID: key.ID}})),
			want("an event", []driver.Event{newEvent(eventA)}).from(tx.Events(ctx, []driver.EventRef{eventA})),
			want("a branding", []driver.Branding{newBranding(companyA, 1)}).
				from(tx.Brandings(ctx, []driver.BrandingRef{{CompanyID: companyA, Version: 1}})),
			err,
		)
	}
}

func announcedReads(ctx context.Context, s driver.Store) error {
	key := newAPIKey(companyA, 30, at(7))
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.CreateAPIKey(ctx, key) })
	if err != nil {
		return err
	}
	reads := announced(key)
	in := driver.BeginOptions{
		Shared: []uuid.UUID{companyA, companyB},
		Keys:   []driver.IdempotencyKey{{CompanyID: companyA, Operation: "o", Key: "k"}},
		Reads:  func(ctx context.Context, tx driver.Tx) { _ = reads(ctx, tx) },
	}
	err = s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		inFlight, err := tx.Begin(ctx, in)
		if err != nil || inFlight[0] {
			return fmt.Errorf("in flight: %v: %w", inFlight, err)
		}
		return reads(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("announced with Begin: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _ = reads(ctx, tx) })
		return errors.Join(reads(ctx, tx), reads(ctx, tx)) // The second time nothing is announced any more.
	})
}

func announcedBeforeWrites(ctx context.Context, s driver.Store) error {
	suspended := newCompany(companyA)
	suspended.Status = driver.CompanySuspended
	read := func(ctx context.Context, tx driver.ReadTx) ([]driver.Company, error) {
		return tx.Companies(ctx, []uuid.UUID{companyA})
	}
	in := driver.BeginOptions{
		Exclusive: []uuid.UUID{companyA},
		Reads:     func(ctx context.Context, tx driver.Tx) { _, _ = read(ctx, tx) },
	}
	return enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
		if err := tx.UpdateCompany(ctx, suspended); err != nil {
			return err
		}
		return want("a company that the Update has changed", []driver.Company{suspended}).from(read(ctx, tx))
	})
}

func announcedLists(ctx context.Context, s driver.Store) error {
	var orders []driver.Order
	for n := 1; n <= 20; n++ {
		orders = append(orders, newOrder(eventA, int64(n)))
	}
	if err := appendOrders(ctx, s, orders...); err != nil {
		return err
	}
	slices.Reverse(orders)
	list := func(ctx context.Context, tx driver.ReadTx) ([]driver.Order, error) {
		return tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, Limit: 99})
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = list(ctx, tx) })
		return errors.Join(
			want("a read", []driver.Company{newCompany(companyA)}).from(tx.Companies(ctx, []uuid.UUID{companyA})),
			want("a list that was announced", orders).from(list(ctx, tx)),
		)
	})
}

// announcedBeforeLocks has an Update that announced a read wait for a lock, whose holder changes what is read.
func announcedBeforeLocks(ctx context.Context, s driver.Store) error {
	order, sold := newOrder(eventA, 1), newAdmission(eventA, 1, 1)
	if err := appendOrders(ctx, s, order); err != nil {
		return err
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendAdmissions(ctx, []driver.Admission{sold})
	})
	if err != nil {
		return err
	}
	refs := []driver.AdmissionRef{{CompanyID: companyA, ID: sold.ID}}
	read := func(ctx context.Context, tx driver.ReadTx) ([]driver.Admission, error) {
		return tx.Admissions(ctx, refs)
	}
	voided := sold
	voided.Voided = true
	var waiter <-chan error
	err = share(ctx, s, func(inner context.Context, tx driver.Tx) error {
		if _, err := tx.LockAdmissions(inner, refs); err != nil {
			return err
		}
		done := make(chan error, 1)
		waiter = done
		locked := make(chan struct{})
		in := driver.BeginOptions{
			Shared: []uuid.UUID{companyA},
			Reads:  func(ctx context.Context, tx driver.Tx) { _, _ = read(ctx, tx) },
		}
		go func() {
			done <- enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				announce(ctx, tx, func(ctx context.Context, tx driver.ReadTx) { _, _ = read(ctx, tx) })
				defer close(locked)
				return errors.Join(
					want("what was locked", []driver.Admission{voided}).from(tx.LockAdmissions(ctx, refs)),
					want("what was announced before the lock", []driver.Admission{voided}).from(read(ctx, tx)),
				)
			})
		}()
		linger(locked, window) // The other Update waits for the lock while this one changes what it reads.
		return tx.UpdateAdmissions(inner, []driver.Admission{voided})
	})
	if err != nil {
		return err
	}
	err, waitErr := wait(ctx, "an Update that waits for an admission", waiter)
	return errors.Join(err, waitErr)
}

func announcedAfterGate(ctx context.Context, s driver.Store) error {
	suspended := newCompany(companyA)
	suspended.Status = driver.CompanySuspended
	read := func(ctx context.Context, tx driver.ReadTx) ([]driver.Company, error) {
		return tx.Companies(ctx, []uuid.UUID{companyA})
	}
	in := driver.BeginOptions{
		Shared: []uuid.UUID{companyA},
		Reads:  func(ctx context.Context, tx driver.Tx) { _, _ = read(ctx, tx) },
	}
	var sharer <-chan error
	err := update(ctx, s, func(inner context.Context, tx driver.Tx) error {
		done := make(chan error, 1)
		sharer = done
		entered := make(chan struct{})
		go func() {
			done <- enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				close(entered)
				return want("what was changed while the gate was held exclusively", []driver.Company{suspended}).
					from(read(ctx, tx))
			})
		}()
		// The sharer waits for the gate while this Update changes what it reads.
		linger(entered, window)
		return tx.UpdateCompany(inner, suspended)
	})
	if err != nil {
		return err
	}
	err, waitErr := wait(ctx, "an Update that waits for an exclusively held gate", sharer)
	return errors.Join(err, waitErr)
}

func announcedAfterClaims(ctx context.Context, s driver.Store) error {
	spent := driver.IdempotencyKey{CompanyID: companyA, Operation: "o", Key: awkward}
	free := driver.IdempotencyKey{CompanyID: companyB, Operation: "o", Key: "free"}
	result := driver.IdempotencyResult{
		IdempotencyKey: spent, Digest: awkward, Outcome: "o", Subject: id(40), Body: []byte{0, '"', '\\', ',', ')', 0xFF},
		CreatedAt: at(8),
	}
	keys := []driver.IdempotencyKey{free, spent}
	in := driver.BeginOptions{
		Shared: []uuid.UUID{companyA, companyB}, Keys: keys,
		Reads: func(ctx context.Context, tx driver.Tx) { _, _ = tx.Results(ctx, keys) },
	}
	return steps(
		func() error {
			return enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				return errors.Join(
					want("unspent keys", make([]driver.IdempotencyResult, 2)).from(tx.Results(ctx, keys)),
					tx.AppendResults(ctx, []driver.IdempotencyResult{result}),
					want("keys that the Update spent", []driver.IdempotencyResult{{}, result}).from(tx.Results(ctx, keys)),
				)
			})
		},
		func() error {
			return enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				return want("spent keys", []driver.IdempotencyResult{{}, result}).from(tx.Results(ctx, keys))
			})
		},
	)
}

func announcedInVain(ctx context.Context, s driver.Store) error {
	unwanted := func(ctx context.Context, tx driver.ReadTx) {
		_, _ = tx.Companies(ctx, []uuid.UUID{companyB})
		_, _ = tx.Companies(ctx, []uuid.UUID{id(90)})
	}
	in := driver.BeginOptions{
		Exclusive: []uuid.UUID{companyA}, Shared: []uuid.UUID{companyB},
		Reads: func(ctx context.Context, tx driver.Tx) { unwanted(ctx, tx) },
	}
	renamed := newCompany(companyA)
	renamed.Name = "renamed"
	err := enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateCompany(ctx, renamed) })
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		announce(ctx, tx, unwanted)
		return want("another read", []driver.Company{renamed}).from(tx.Companies(ctx, []uuid.UUID{companyA}))
	})
}

func saleLocked(ctx context.Context, s driver.Store) error {
	of := func(tier string, position int, sold int64) lot { return lot{tier, position, 100, onSale, 5, sold} }
	all := append(lots(eventA, of("B", 1, 0), of("a", 1, 5), of("a", 2, 1), of("a", 3, 0)), lots(eventB, of("c", 1, 0))...)
	if err := stocked(ctx, s, all...); err != nil {
		return err
	}
	wallets := append(driver.WalletRefs(companyB), driver.WalletRefs(companyA)...)
	for _, c := range []struct {
		queries []driver.StockQuery
		wallets []driver.WalletRef
	}{
		{[]driver.StockQuery{stockQuery(eventA, "a", 100, 2)}, driver.WalletRefs(companyA)},
		{[]driver.StockQuery{stockQuery(eventA, "a", 100, 9), stockQuery(eventA, "B", 100, 1)}, driver.WalletRefs(companyA)},
		{[]driver.StockQuery{stockQuery(eventB, "c", 100, 1), stockQuery(eventA, "a", 100, 1)}, wallets},
		{[]driver.StockQuery{stockQuery(eventB, "none", 100, 1)}, driver.WalletRefs(id(90))},
		{nil, wallets},
		{[]driver.StockQuery{stockQuery(eventA, "B", 100, 1)}, nil},
		{nil, nil},
	} {
		err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			locker, ok := tx.(driver.SaleLocker)
			if !ok {
				return nil
			}
			batches, err := tx.LockStock(ctx, c.queries)
			if err != nil {
				return err
			}
			locked, err := tx.LockWallets(ctx, c.wallets)
			if err != nil {
				return err
			}
			sameBatches, sameWallets, err := locker.LockSale(ctx, c.queries, c.wallets)
			return errors.Join(want("stock", batches).from(sameBatches, err), want("wallets", locked).from(sameWallets, err))
		})
		if err != nil {
			return err
		}
		if err := saleLockedAhead(ctx, s, driver.SaleLocks{Stock: c.queries, Wallets: c.wallets}); err != nil {
			return err
		}
	}
	return nil
}

// saleLockedAhead checks sales whose locks were announced: with the same locks, with others, and with a lock or a write
// before them.
func saleLockedAhead(ctx context.Context, s driver.Store, locks driver.SaleLocks) error {
	other := driver.SaleLocks{
		Stock: []driver.StockQuery{stockQuery(eventA, "a", 100, 1)}, Wallets: driver.WalletRefs(companyA),
	}
	for _, announced := range []driver.SaleLocks{locks, other} {
		for _, before := range []func(ctx context.Context, tx driver.Tx) error{
			func(context.Context, driver.Tx) error { return nil },
			func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.LockWallets(ctx, driver.WalletRefs(companyB))
				return err
			},
			func(ctx context.Context, tx driver.Tx) error {
				batches, err := tx.LockStock(ctx, other.Stock)
				if err != nil {
					return err
				}
				batches[0].Quantity++
				return tx.UpdateBatches(ctx, batches[:1])
			},
		} {
			in := driver.BeginOptions{
				Shared: []uuid.UUID{companyA, companyB}, Locks: &announced,
				Keys: []driver.IdempotencyKey{{CompanyID: companyA, Operation: "checkouts.create", Key: "sale"}},
			}
			err := enter(ctx, s, in, func(ctx context.Context, tx driver.Tx) error {
				locker, ok := tx.(driver.SaleLocker)
				if !ok {
					return nil
				}
				if err := before(ctx, tx); err != nil {
					return err
				}
				batches, locked, err := locker.LockSale(ctx, locks.Stock, locks.Wallets)
				if err != nil {
					return err
				}
				sameBatches, err := tx.LockStock(ctx, locks.Stock)
				if err != nil {
					return err
				}
				sameWallets, err := tx.LockWallets(ctx, locks.Wallets)
				return errors.Join(want("stock", sameBatches).from(batches, nil), want("wallets", sameWallets).from(locked, err))
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func ordersWithLines(ctx context.Context, s driver.Store) error {
	var orders []driver.Order
	var lines []driver.Admission
	for n := 1; n <= 5; n++ {
		orders = append(orders, newOrder(eventA, int64(n)))
		for line := range n - 1 { // The first order has none.
			lines = append(lines, newAdmission(eventA, int64(n), line+1))
		}
	}
	if err := appendOrders(ctx, s, orders...); err != nil {
		return err
	}
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendAdmissions(ctx, lines) })
	if err != nil {
		return err
	}
	ref := func(n int) driver.OrderRef { return driver.OrderRef{CompanyID: companyA, ID: id(100_000 + n)} }
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		reader, ok := tx.(driver.LineReader)
		if !ok {
			return nil
		}
		for _, refs := range [][]driver.OrderRef{nil, {ref(3)}, {ref(1)}, {ref(90)}, {ref(4), ref(90), ref(2), ref(1)}} {
			found, err := tx.Orders(ctx, refs)
			if err != nil {
				return err
			}
			err = sameLines(ctx, tx, found)(reader.OrdersWithLines(ctx, refs))
			if err != nil {
				return fmt.Errorf("%d orders by id: %w", len(refs), err)
			}
		}
		for _, query := range []driver.OrderQuery{
			{CompanyID: companyA, Limit: 9},
			{CompanyID: companyA, Limit: 2, After: 5, Statuses: []driver.OrderStatus{driver.OrderConfirmed}},
			{CompanyID: companyA, Limit: 2, Statuses: []driver.OrderStatus{driver.OrderRefunded, driver.OrderConfirmed}},
			{CompanyID: companyB, Limit: 9},
			{CompanyID: companyA},
		} {
			found, err := tx.ListOrders(ctx, query)
			if err != nil {
				return err
			}
			if err := sameLines(ctx, tx, found)(reader.ListOrdersWithLines(ctx, query)); err != nil {
				return fmt.Errorf("a page of %d: %w", query.Limit, err)
			}
		}
		return nil
	})
}

// sameLines returns a function that compares orders with those found, and their lines with what OrderLines returns.
func sameLines(
	ctx context.Context, tx driver.ReadTx, found []driver.Order,
) func([]driver.Order, []driver.Admission, error) error {
	return func(orders []driver.Order, lines []driver.Admission, err error) error {
		if err != nil {
			return err
		}
		var numbers []driver.OrderNumber
		for _, order := range found {
			if order.ID != uuid.Nil {
				numbers = append(numbers, driver.OrderNumber{CompanyID: order.CompanyID, Number: order.Number})
			}
		}
		expected, err := tx.OrderLines(ctx, numbers)
		return errors.Join(err, want("orders", found).from(orders, nil), want("lines", expected).from(lines, nil))
	}
}
