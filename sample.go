package ticketing

import (
	"crypto/sha256"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// sample tells whether a fact is one of nothing that happened, for a developer to see what webhooks look like.
func (f FactRecord) sample() bool { return strings.HasPrefix(string(f.Type), samplePrefix) }

// told are the facts of a record that the host is told.
func (f FactRecord) told() []FactRecord {
	if f.sample() {
		return nil
	}
	return f.Facts()
}

// sampleData is the data of a sample, of any of the four types, nil for another. Its ids are made of the fact's, so that
// it is the same whenever it is asked for: the first 16 bytes, made a UUID of version 4, of the SHA-256 of
//
//	"ticketing/sample/v1\n", the 16 bytes of the fact's id, a name
func (f FactRecord) sampleData() any {
	order := Order{
		ID: f.sampleID("order"), EventID: f.sampleID("event"), Status: OrderConfirmed, Gross: 15_000_00,
		FloatDebited: 15_000_00,
		Commission: OrderCommission{
			Amount: 750_00, Rate: OrderRate{ID: f.sampleID("rate"), Value: "5", Unit: money.Percent},
		},
		Balances: OrderBalances{
			FloatBefore: 15_900_00, FloatAfter: 900_00, EarningsBefore: 2_000_00, EarningsAfter: 2_750_00,
		},
		Buyer:       Buyer{Email: "ada@example.com", Fullname: new("Ada Obi"), Phone: new("+234 800 000 0000")},
		ConfirmedAt: Time{f.At}, CreatedAt: Time{f.At},
	}
	for _, name := range []string{"first", "second"} {
		order.Lines = append(order.Lines, OrderLine{
			ID: f.sampleID(name + " purchase"), AdmissionID: f.sampleID(name + " admission"), Title: "Sample ticket",
			Tier: "REGULAR", UnitPrice: 7_500_00,
		})
	}
	switch kind := f.eventType(); kind {
	case FactOrderCreated, FactCommissionAccrued, FactBalanceLow:
		return order.fact(kind)
	case FactTicketValidated:
		return AdmissionRecord{
			ID: order.Lines[0].AdmissionID, EventID: order.EventID, OrderID: order.ID, ValidatedAt: f.At,
		}.validated()
	default:
		return nil
	}
}

func (f FactRecord) sampleID(name string) uuid.UUID {
	return madeID("ticketing/sample/v1\n", f.ID, name)
}

// madeID is the id that is made of another one and a name.
func madeID(domain string, of uuid.UUID, name string) uuid.UUID {
	var id uuid.UUID
	sum := sha256.Sum256(slices.Concat([]byte(domain), of[:], []byte(name)))
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
