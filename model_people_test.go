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

// eraseBuyer replaces a buyer in the existing orders and in the results of their keys, and changes nothing else. A
// later checkout creates the buyer again.
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
		answered.Status = ticketing.OrderConfirmed // the status of the first response
		m.answerAgain(fmt.Sprintf(`{"id":"%s","object":"order"`, order.ID), show(m.t, answered))
	}
	erasure, err := m.shop.Staff.EraseBuyer(m.ctx(), m.shop.Company.ID, email)
	expect(r, "erase", err, "")
	same(r, "erased orders", erasure, ticketing.BuyerErasure{Erased: erased > 0, Orders: erased})
}

// answerAgain replaces the expected results of all requests whose result begins with the given text.
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
