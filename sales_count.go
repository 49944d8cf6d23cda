package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/sales"
)

// Bounds of counting orders in the background.
const (
	countInterval = time.Minute // from the start of one round to the next
	countBatch    = 500         // the most orders that one transaction counts
	// maxWaitingFacts is how many facts of a company may wait for their dispatch while its orders are counted.
	maxWaitingFacts = 1000
	// removeBatch is the most sums that one transaction removes. Dispatches and refunds of the company wait for it.
	removeBatch = 5000
	// countShare is how many times as long as a transaction took the next one waits. So counting keeps a connection of a
	// process busy for at most a tenth of the time.
	countShare = 9
)

// factSubjects holds the orders and admissions that facts are about, so that a dispatch reads each once for mails, sums
// and webhooks.
type factSubjects struct {
	orders     map[driver.OrderRef]driver.Order
	lines      map[driver.OrderNumber][]driver.Admission
	admissions map[driver.AdmissionRef]driver.Admission
}

// isSale reports whether a fact stands for a sale. Sales had a fact for each kind once, and order.created was one.
func isSale(f driver.Fact) bool {
	return f.Type == driver.FactSale || f.Type == driver.FactSaleLow || f.Type == driver.FactOrderCreated
}

// admissionOf returns the reference of the admission that a validation is about.
func admissionOf(f driver.Fact) driver.AdmissionRef {
	return driver.AdmissionRef{CompanyID: f.CompanyID, ID: f.Subject}
}

// readSubjects reads what facts of one company are about. What does not exist is left out.
func readSubjects(ctx context.Context, tx driver.ReadTx, facts []driver.Fact) (factSubjects, error) {
	of := factSubjects{
		orders: map[driver.OrderRef]driver.Order{}, lines: map[driver.OrderNumber][]driver.Admission{},
		admissions: map[driver.AdmissionRef]driver.Admission{},
	}
	var orders []driver.OrderRef
	var admissions []driver.AdmissionRef
	for _, f := range facts {
		switch {
		case isSale(f):
			orders = append(orders, driver.OrderRef{CompanyID: f.CompanyID, ID: f.Subject})
		case f.Type == driver.FactTicketValidated:
			admissions = append(admissions, admissionOf(f))
		}
	}
	if len(orders) > 0 {
		found, err := tx.Orders(ctx, orders)
		if err != nil {
			return of, err
		}
		numbers := make([]driver.OrderNumber, 0, len(found))
		for i, order := range found {
			// The zero record stands for an order that does not exist.
			if order.ID != uuid.Nil {
				of.orders[orders[i]] = order
				numbers = append(numbers, order.NumberRef())
			}
		}
		lines, err := tx.OrderLines(ctx, numbers)
		if err != nil {
			return of, err
		}
		of.addLines(lines)
	}
	if len(admissions) > 0 {
		found, err := tx.Admissions(ctx, admissions)
		if err != nil {
			return of, err
		}
		for i, a := range found {
			if a.ID != uuid.Nil {
				of.admissions[admissions[i]] = a
			}
		}
	}
	return of, nil
}

// addLines adds the admissions of orders, which come in order.
func (s factSubjects) addLines(lines []driver.Admission) {
	for _, line := range lines {
		of := driver.OrderNumber{CompanyID: line.CompanyID, Number: line.OrderNumber}
		s.lines[of] = append(s.lines[of], line)
	}
}

// knownSubjects is a transaction that has read some orders and admissions already. It reads them no second time.
type knownSubjects struct {
	driver.ReadTx

	factSubjects
}

// Orders returns the orders that were read before, and reads all if one was not.
func (k knownSubjects) Orders(ctx context.Context, refs []driver.OrderRef) ([]driver.Order, error) {
	found := make([]driver.Order, len(refs))
	for i, ref := range refs {
		order, known := k.orders[ref]
		if !known {
			return k.ReadTx.Orders(ctx, refs)
		}
		found[i] = order
	}
	return found, nil
}

// OrderLines returns the lines of orders that were read before, and reads all if one was not.
func (k knownSubjects) OrderLines(ctx context.Context, orders []driver.OrderNumber) ([]driver.Admission, error) {
	var found []driver.Admission
	for _, order := range orders {
		lines, known := k.lines[order]
		if !known {
			return k.ReadTx.OrderLines(ctx, orders)
		}
		found = append(found, lines...)
	}
	return found, nil
}

// Admissions returns the admissions that were read before, and reads all if one was not.
func (k knownSubjects) Admissions(ctx context.Context, refs []driver.AdmissionRef) ([]driver.Admission, error) {
	found := make([]driver.Admission, len(refs))
	for i, ref := range refs {
		admission, known := k.admissions[ref]
		if !known {
			return k.ReadTx.Admissions(ctx, refs)
		}
		found[i] = admission
	}
	return found, nil
}

// uncountedOf returns up to which number a company's orders are not in its sums yet, and keeps it so until the end of
// the transaction. The caller holds the company's gate.
//
// Zero needs no lock: only a rebuild raises it, under the exclusive gate. So a company whose orders are all counted
// pays for one read. Any other number is locked, also [driver.SalesReset]: see countSales and removeSums.
func uncountedOf(ctx context.Context, tx driver.Tx, companyID uuid.UUID) (int64, error) {
	progress, err := firstRecord(tx.SalesProgress(ctx, []uuid.UUID{companyID}))
	if err != nil || progress.Uncounted == 0 {
		return 0, err
	}
	progress, err = tx.LockSalesProgress(ctx, companyID)
	return progress.Uncounted, err
}

// countFacts returns what sales and validations of a company add to its sums, and the entries of their orders in the
// index of buyers. It leaves the sums of an order to the background that has not passed it yet.
//
// The same transaction marks the facts, so each is counted once.
func countFacts(
	ctx context.Context, tx driver.Tx, companyID uuid.UUID, facts []driver.Fact, of factSubjects,
) ([]driver.SalesSum, []driver.BuyerOrder, error) {
	if len(of.orders)+len(of.admissions) == 0 {
		return nil, nil, nil
	}
	uncounted, err := uncountedOf(ctx, tx, companyID)
	if err != nil {
		return nil, nil, err
	}
	tally := sales.Tally{}
	var entries []driver.BuyerOrder
	for _, f := range facts {
		order, sold := of.orders[driver.OrderRef{CompanyID: f.CompanyID, ID: f.Subject}]
		if sold && isSale(f) {
			entries = append(entries, buyerOrder(order))
			if order.Number > uncounted {
				sales.Sold(&order, of.lines[order.NumberRef()], tally.Add)
			}
		}
		a, known := of.admissions[admissionOf(f)]
		if known && f.Type == driver.FactTicketValidated && a.OrderNumber > uncounted {
			sales.Admitted(&a, tally.Add)
		}
	}
	return tally.Sums(), entries, nil
}

// buyerOrder returns the entry of an order in the index of buyers.
func buyerOrder(order driver.Order) driver.BuyerOrder {
	return driver.BuyerOrder{CompanyID: order.CompanyID, Email: order.BuyerEmail, Number: order.Number}
}

// counted is what one transaction of the background did.
type counted struct {
	orders int
	// left is up to which number no order is counted. It is [driver.SalesReset] while there are sums to remove.
	left int64
	// waits reports whether too many facts wait for their dispatch. Then nothing was counted.
	waits bool
	// removed reports whether it looked for sums to remove instead of orders.
	removed bool
	// elsewhere reports whether another process has counted since. Then nothing was counted.
	elsewhere bool
}

// countSales counts a company's next orders that are not in its sums, from the newest, and adds them to the index of
// buyers. It counts everything that happened with them, except what a fact stands for that is not dispatched: the
// dispatch of that fact counts it.
//
// The lock of the progress holds up every dispatch and refund that could count the same. So the orders are read after
// it, and the facts after the orders: a fact that is dispatched by then was not counted by its dispatch, and what a
// later fact stands for was not read.
//
// Of a company that is reset it removes sums instead, see removeSums.
//
// expected is the number that the caller's last call left, or 0. If it is another one, a different process counts the
// company, and this call does nothing. So of several processes that begin together one goes on: the last that counted.
func (s *Service) countSales(ctx context.Context, companyID uuid.UUID, expected int64) (counted, error) {
	var done counted
	err := s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		done = counted{}
		in := driver.BeginOptions{Shared: []uuid.UUID{companyID}, LockTimeout: dispatchPatience}
		if _, err := tx.Begin(ctx, in); err != nil {
			return err
		}
		progress, err := tx.LockSalesProgress(ctx, companyID)
		if err != nil || progress.Uncounted == 0 {
			return err
		}
		if expected != 0 && progress.Uncounted != expected {
			done = counted{left: progress.Uncounted, elsewhere: true}
			return nil
		}
		if progress.Uncounted == driver.SalesReset {
			done.removed = true
			done.left, err = removeSums(ctx, tx, companyID)
			return err
		}
		orders, err := tx.ListOrders(ctx, driver.OrderQuery{
			CompanyID: companyID, After: progress.Uncounted + 1, Limit: countBatch,
		})
		if err != nil {
			return err
		}
		tally, err := tallyOrders(ctx, tx, companyID, orders)
		if errors.Is(err, errFactsWait) {
			done = counted{left: progress.Uncounted, waits: true}
			return nil
		}
		if err != nil {
			return err
		}
		entries := make([]driver.BuyerOrder, len(orders))
		for i, order := range orders {
			entries[i] = buyerOrder(order)
		}
		// Orders below the last one of the page are left for the next transaction. None are below an empty page.
		done.orders, progress.Uncounted = len(orders), 0
		if len(orders) > 0 {
			progress.Uncounted = orders[len(orders)-1].Number - 1
		}
		done.left = progress.Uncounted
		if err := tx.PutBuyerOrders(ctx, entries); err != nil {
			return err
		}
		if err := tx.PutSalesProgress(ctx, progress); err != nil {
			return err
		}
		return tx.AddSales(ctx, tally.Sums())
	})
	if err != nil {
		return counted{}, err
	}
	return done, nil
}

// removeSums removes some of the sums of a company that is reset, and returns up to which number no order is counted
// then. The caller holds the gate shared and the lock of the progress. Once no sum is left, the number is the head of
// FLOAT, which is the highest number that an order can have.
//
// No order is counted twice or not at all, although orders are sold, dispatched, refunded and validated meanwhile:
//
//   - While the company is reset nobody adds to its sums. A dispatch or a refund that reads the reset progress locks
//     it, and no order has a number above [driver.SalesReset]. One that read zero before has committed, since the
//     rebuild that reset the company held the gate exclusively. So no sum comes back after the last one is removed.
//   - The head is read after the lock was granted. A dispatch or refund that skipped an order because of the reset held
//     the same lock, so that order has committed and its number is not above the head: the background counts it.
//   - The orders of a company commit in the order of their numbers, since each holds the lock of FLOAT until then. So
//     an order that is not among those up to the head commits after the head was read. Its dispatch, its refund and
//     its validations come later still. They wait for the lock, read the head, and count.
func removeSums(ctx context.Context, tx driver.Tx, companyID uuid.UUID) (left int64, err error) {
	removed, err := tx.DeleteSalesSums(ctx, companyID, removeBatch)
	if err != nil || removed > 0 {
		return driver.SalesReset, err
	}
	float, err := firstRecord(tx.Wallets(ctx, driver.WalletRefs(companyID)[:1]))
	if err != nil {
		return 0, err
	}
	return float.Sequence, tx.PutSalesProgress(ctx, driver.SalesProgress{
		CompanyID: companyID, Uncounted: float.Sequence,
	})
}

// errFactsWait is the error of tallyOrders if too many facts wait for their dispatch.
var errFactsWait = errors.New("ticketing: too many facts wait for their dispatch")

// tallyOrders adds up what happened with orders, except what facts stand for that are not dispatched. It reads those
// last, see countSales.
func tallyOrders(
	ctx context.Context, tx driver.ReadTx, companyID uuid.UUID, orders []driver.Order,
) (sales.Tally, error) {
	numbers := make([]driver.OrderNumber, len(orders))
	for i, order := range orders {
		numbers[i] = order.NumberRef()
	}
	lines, err := tx.OrderLines(ctx, numbers)
	if err != nil {
		return nil, err
	}
	endings, err := tx.OrderEndings(ctx, numbers)
	if err != nil {
		return nil, err
	}
	facts, err := tx.UndispatchedFacts(ctx, companyID, driver.Position{}, maxWaitingFacts+1)
	if err != nil {
		return nil, err
	}
	if len(facts) > maxWaitingFacts {
		return nil, errFactsWait
	}
	sold, validated := make(map[uuid.UUID]bool), make(map[uuid.UUID]bool)
	for _, f := range facts {
		sold[f.Subject] = sold[f.Subject] || isSale(f)
		validated[f.Subject] = validated[f.Subject] || f.Type == driver.FactTicketValidated
	}
	of := factSubjects{lines: map[driver.OrderNumber][]driver.Admission{}}
	of.addLines(lines)
	tally := sales.Tally{}
	for i, order := range orders {
		lines := of.lines[numbers[i]]
		if !sold[order.ID] {
			sales.Sold(&order, lines, tally.Add)
		}
		if endings[i].Status == OrderRefunded {
			sales.Refunded(&order, lines, endings[i].At, tally.Add)
		}
		for _, line := range lines {
			if line.ValidationID != uuid.Nil && !validated[line.ID] {
				sales.Admitted(&line, tally.Add)
			}
		}
	}
	return tally, nil
}

// CountSales does once what [Service.Run] does continuously for the sums of sales. It is for a host that does not call
// Run. Of each company with orders that are in no sum yet, from before an upgrade or after [Operator.RebuildSales], it
// counts the newest five hundred; after a rebuild it first removes the sums from before, in short transactions with the
// pauses of Run, so that the company's sales go on. It returns how many it counted. It counts none of a company while
// more than a thousand of its facts wait for their dispatch.
func (s *Service) CountSales(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	orders := 0
	err := s.eachUncounted(ctx, func(ctx context.Context, companyID uuid.UUID) error {
		for {
			began := s.now()
			done, err := s.countSales(ctx, companyID, 0)
			orders += done.orders
			if err != nil || !done.removed {
				return err
			}
			if !pause(ctx, countShare*s.now().Sub(began)) {
				return ctx.Err()
			}
		}
	})
	return orders, err
}

// countDue counts the orders of all companies that are in no sum yet. After each transaction it pauses, so that sales
// go on as before. It leaves a company whose facts wait for their dispatch to a later round.
func (s *Service) countDue(ctx context.Context) error { return s.eachUncounted(ctx, s.countCompany) }

// eachUncounted calls count for each company with orders that are in no sum yet. The error of one company does not stop
// the others.
func (s *Service) eachUncounted(ctx context.Context, count func(context.Context, uuid.UUID) error) (failed error) {
	for after := (driver.DueWork{Kind: driver.WorkCount}); ; {
		due, err := s.dueWork(ctx, driver.WorkQuery{At: s.now(), After: []driver.DueWork{after}, Limit: lookBatch})
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, work := range due {
			failed = errors.Join(failed, count(ctx, work.CompanyID))
			if ctx.Err() != nil {
				return failed
			}
		}
		if len(due) < lookBatch {
			return failed
		}
		after = due[len(due)-1]
	}
}

// countCompany counts a company's orders until none is left, its facts wait, another process counts them, a lock is not
// granted in time, or the context ends.
func (s *Service) countCompany(ctx context.Context, companyID uuid.UUID) error {
	for expected := int64(0); ; {
		began := s.now()
		done, err := s.countSales(ctx, companyID, expected)
		if errors.Is(err, ErrBusy) {
			return nil // Somebody holds a lock for long. The next round goes on.
		}
		if err != nil || done.left == 0 || done.waits || done.elsewhere {
			return err
		}
		if !pause(ctx, countShare*s.now().Sub(began)) {
			return nil
		}
		expected = done.left
	}
}

// pause waits for a time. It reports false if the context ended before.
func pause(ctx context.Context, long time.Duration) bool {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
