package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type messages struct {
	byRef     map[driver.MessageRef]driver.Message
	ofCompany map[uuid.UUID]*index[driver.Position]
}

func newMessages() messages {
	return messages{
		byRef:     make(map[driver.MessageRef]driver.Message),
		ofCompany: make(map[uuid.UUID]*index[driver.Position]),
	}
}

func newPlaces() *index[driver.Position] { return newIndex(comparePositions) }

func messageRef(message driver.Message) driver.MessageRef {
	return driver.MessageRef{CompanyID: message.CompanyID, At: moment(message.At), ID: message.ID}
}

// from returns a company's places from a time on.
func (m *messages) from(companyID uuid.UUID, at time.Time) []driver.Position {
	of, ok := m.ofCompany[companyID]
	if !ok {
		return nil
	}
	first, _ := of.search(driver.Position{At: at})
	return of.keys[first:]
}

func (r reading) Messages(ctx context.Context, refs []driver.MessageRef) ([]driver.Message, error) {
	return ask(ctx, r, func(s *state) []driver.Message {
		return each(refs, func(ref driver.MessageRef) driver.Message {
			ref.At = moment(ref.At)
			return s.messages.byRef[ref]
		})
	})
}

func (tx *updating) AppendMessages(ctx context.Context, messages []driver.Message) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, message := range messages {
			message.At = moment(message.At)
			if err := create(u, s.messages.byRef, messageRef(message), message, "webhook_messages_pkey"); err != nil {
				return err
			}
			need(s.messages.ofCompany, message.CompanyID, newPlaces).
				add(u, driver.Position{At: message.At, ID: message.ID})
		}
		return nil
	})
}

func (m *messages) keep(u *undo, ref driver.MessageRef, body string) {
	kept := m.byRef[ref]
	kept.Body = body
	put(u, m.byRef, ref, kept)
}

func (tx *updating) UpdateMessages(ctx context.Context, messages []driver.Message) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, message := range messages {
			if _, ok := s.messages.byRef[messageRef(message)]; !ok {
				return driver.ErrNotFound
			}
			s.messages.keep(u, messageRef(message), message.Body)
		}
		return nil
	})
}

func (tx *updating) ForgetMessages(ctx context.Context, orders []driver.Order) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, order := range orders {
			at := moment(order.ConfirmedAt)
			for _, place := range s.messages.from(order.CompanyID, at) {
				if !place.At.Equal(at) {
					break
				}
				ref := driver.MessageRef{CompanyID: order.CompanyID, At: place.At, ID: place.ID}
				if s.messages.byRef[ref].Subject == order.ID {
					s.messages.keep(u, ref, "")
				}
			}
		}
		return nil
	})
}

func (tx *updating) PruneMessages(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (pruned int, err error) {
	err = tx.write(ctx, func(s *state, u *undo) error {
		of, ok := s.messages.ofCompany[companyID]
		if !ok {
			return nil
		}
		var gone []driver.Position
		for _, place := range of.below(driver.Position{At: moment(before)}) {
			if len(gone) >= limit {
				break
			}
			if !s.deliveries.refersTo(companyID, place.ID) {
				gone = append(gone, place)
			}
		}
		for _, place := range gone {
			of.drop(u, place)
			take(u, s.messages.byRef, driver.MessageRef{CompanyID: companyID, At: place.At, ID: place.ID})
		}
		pruned = len(gone)
		return nil
	})
	return pruned, err
}
