package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// verify verifies the books of every company, and that they contain every acknowledged order and validation.
func (b *bench) verify(ctx context.Context) (booksVerified, error) {
	books := booksVerified{Problems: []string{}}
	op := b.filler.As(ticketing.Staff("bench"))
	for i, shop := range b.shops {
		b.Progress("verifying the books", "%d of %d companies", i, len(b.shops))
		report, err := op.VerifyLedger(ctx, shop.Company)
		if err != nil {
			return books, fmt.Errorf("verify the books: %w", err)
		}
		books.add(report)
	}
	failedSales, failedScans := b.errors, int64(0)
	if b.Op == OpValidate {
		failedSales, failedScans = 0, b.errors
	}
	var err error
	if books.Validated, err = b.validated(ctx); err != nil {
		return books, fmt.Errorf("verify the validations: %w", err)
	}
	books.judgeScans(b.admitted, failedScans)
	books.judge(b.sold, failedSales)
	return books, nil
}

// validated returns how many of the presented admissions the books record as validated.
func (b *bench) validated(ctx context.Context) (int64, error) {
	const page = 500
	count, read := int64(0), 0
	for some := range slices.Chunk(b.startedValidations, page) {
		b.Progress("verifying the books", "%d of %d validations", read, len(b.startedValidations))
		read += len(some)
		refs := make([]driver.AdmissionRef, len(some))
		for i, a := range some {
			refs[i] = driver.AdmissionRef{CompanyID: b.shops[a.Shop].Company, ID: a.Admission}
		}
		var found []driver.Admission
		err := b.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
			found, err = tx.Admissions(ctx, refs)
			return err
		})
		if err != nil {
			return 0, err
		}
		for _, admission := range found {
			if !admission.ValidatedAt.IsZero() {
				count++
			}
		}
	}
	return count, nil
}

// booksVerified is the result of the verification.
type booksVerified struct {
	OK           bool     `json:"ok"`
	Wallets      int      `json:"wallets"`
	Entries      int64    `json:"entries"`
	Orders       int64    `json:"orders"`
	Acknowledged int64    `json:"acknowledged"`
	Validated    int64    `json:"validated"`
	Admitted     int64    `json:"admitted"`
	Problems     []string `json:"problems"`
}

// add adds the report of one company, whose float was credited once.
func (k *booksVerified) add(report ticketing.LedgerReport) {
	const credits, entriesOfOrder = 1, 2
	k.Wallets += report.Wallets
	k.Entries += report.Entries
	k.Orders += (report.Entries - credits) / entriesOfOrder
	k.Problems = append(k.Problems, report.Problems...)
	if !report.OK && len(report.Problems) == 0 {
		k.Problems = append(k.Problems, "a company's books are not in order")
	}
}

// judgeScans compares the books with the acknowledged validations. A call that failed may have validated nevertheless.
func (k *booksVerified) judgeScans(acknowledged, failed int64) {
	k.Admitted = acknowledged
	if k.Validated < acknowledged || k.Validated > acknowledged+failed {
		k.Problems = append(k.Problems, fmt.Sprintf(
			"%d validations were acknowledged, and %d calls failed; the books hold %d",
			acknowledged, failed, k.Validated))
	}
}

// judge compares the books with the acknowledged orders. A call that failed may have sold nevertheless.
func (k *booksVerified) judge(acknowledged, failed int64) {
	k.Acknowledged = acknowledged
	if k.Orders < acknowledged || k.Orders > acknowledged+failed {
		k.Problems = append(k.Problems, fmt.Sprintf(
			"%d orders were acknowledged, and %d calls failed; the books hold %d", acknowledged, failed, k.Orders))
	}
	k.OK = len(k.Problems) == 0
}

// failure returns why a bench fails whose books are not in order.
func (k *booksVerified) failure() error {
	if k.OK {
		return nil
	}
	text := fmt.Sprintf("the books are not in order (problems: %d)", len(k.Problems))
	return &Error{Code: codeLedgerInvalid, Text: text}
}

func (k *booksVerified) String() string { return strings.Join(k.Problems, "; ") }
