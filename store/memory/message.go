package memory

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type messages struct {
	byRef     map[ticketing.MessageRef]ticketing.MessageRecord
	ofCompany map[uuid.UUID]*index[ticketing.Position]
}

func newMessages() messages {
	return messages{
		byRef:     make(map[ticketing.MessageRef]ticketing.MessageRecord),
		ofCompany: make(map[uuid.UUID]*index[ticketing.Position]),
	}
}

func newPlaces() *index[ticketing.Position] { return newIndex(comparePositions) }

func messageRef(message ticketing.MessageRecord) ticketing.MessageRef {
	return ticketing.MessageRef{CompanyID: message.CompanyID, At: moment(message.At), ID: message.ID}
}

// from are a company's places from a time on.
func (m *messages) from(companyID uuid.UUID, at time.Time) []ticketing.Position {
	of, ok := m.ofCompany[companyID]
	if !ok {
		return nil
	}
	first, _ := of.search(ticketing.Position{At: at})
	return of.keys[first:]
}

func (r reading) Messages(ctx context.Context, refs []ticketing.MessageRef) ([]ticketing.MessageRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.MessageRecord {
		return each(refs, func(ref ticketing.MessageRef) ticketing.MessageRecord {
			ref.At = moment(ref.At)
			return s.messages.byRef[ref]
		})
	})
}

func (tx *updating) AppendMessages(ctx context.Context, messages []ticketing.MessageRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, message := range messages {
			message.At = moment(message.At)
			if err := create(u, s.messages.byRef, messageRef(message), message, "webhook_messages_pkey"); err != nil {
				return err
			}
			need(s.messages.ofCompany, message.CompanyID, newPlaces).
				add(u, ticketing.Position{At: message.At, ID: message.ID})
		}
		return nil
	})
}

func (m *messages) keep(u *undo, ref ticketing.MessageRef, body string) {
	kept := m.byRef[ref]
	kept.Body = body
	put(u, m.byRef, ref, kept)
}

func (tx *updating) UpdateMessages(ctx context.Context, messages []ticketing.MessageRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, message := range messages {
			if _, ok := s.messages.byRef[messageRef(message)]; !ok {
				return ticketing.ErrNotFound
			}
			s.messages.keep(u, messageRef(message), message.Body)
		}
		return nil
	})
}

func (tx *updating) ForgetMessages(ctx context.Context, orders []ticketing.OrderRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, order := range orders {
			at := moment(order.ConfirmedAt)
			for _, place := range s.messages.from(order.CompanyID, at) {
				if !place.At.Equal(at) {
					break
				}
				ref := ticketing.MessageRef{CompanyID: order.CompanyID, At: place.At, ID: place.ID}
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
		var gone []ticketing.Position
		for _, place := range of.below(ticketing.Position{At: moment(before)}) {
			if len(gone) >= limit {
				break
			}
			if !s.deliveries.refersTo(companyID, place.ID) {
				gone = append(gone, place)
			}
		}
		for _, place := range gone {
			of.drop(u, place)
			take(u, s.messages.byRef, ticketing.MessageRef{CompanyID: companyID, At: place.At, ID: place.ID})
		}
		pruned = len(gone)
		return nil
	})
	return pruned, err
}
