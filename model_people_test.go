package ticketing_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
)

func drawBuyer(r *rapid.T) string {
	return rapid.SampledFrom([]string{"ada@example.com", "bob@example.com"}).Draw(r, "buyer")
}

// eraseBuyer takes a buyer out of the orders that there are, and out of what their keys answer with, and changes nothing
// else. A later checkout brings the buyer back.
func (m *model) eraseBuyer(r *rapid.T) {
	email := drawBuyer(r)
	erased := 0
	for _, order := range m.orders {
		if order.Buyer.Email != email {
			continue
		}
		erased++
		order.Buyer = ticketing.Buyer{Email: fmt.Sprintf("erased-%s@erased.invalid", order.ID)}
		answered := order.Order
		answered.Status = ticketing.OrderConfirmed // as it was first answered
		m.answerAgain(fmt.Sprintf(`{"id":"%s","object":"order"`, order.ID), show(m.t, answered))
	}
	erasure, err := m.shop.Staff.EraseBuyer(m.ctx(), m.shop.Company.ID, email)
	expect(r, "erase", err, "")
	same(r, "erased orders", erasure, ticketing.BuyerErasure{Erased: erased > 0, Orders: erased})
}

// answerAgain is what requests are answered with from now on whose answers begin so.
func (m *model) answerAgain(beginning, text string) {
	for scope, answer := range m.keys {
		if strings.HasPrefix(answer.text, beginning) {
			answer.text = text
			m.keys[scope] = answer
		}
	}
	for i := range m.again {
		if strings.HasPrefix(m.again[i].text, beginning) {
			m.again[i].text = text
		}
	}
}
