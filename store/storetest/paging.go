package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func compareText(a, b string) int { return strings.Compare(a, b) }

// place is the position of a record in a list: by time, then by id.
type place struct{ id, ms int }

func (p place) position() driver.Position { return driver.Position{At: at(p.ms), ID: id(p.id)} }

// placesOf returns the places of records, with ids and times as their numbers.
func placesOf[R any](found []R, err error, where func(R) (time.Time, uuid.UUID)) ([]place, error) {
	places := make([]place, len(found))
	for i, record := range found {
		created, unique := where(record)
		places[i] = place{
			id: int(unique[14])<<8 | int(unique[15]), //nolint:mnd // The number that id made it from, if it is small.
			ms: int(created.Sub(at(0)) / time.Millisecond),
		}
	}
	return places, err
}

// pages compares a list with its expected order: in full, in pages of every size, and after every record.
func pages[K comparable](order []K, list func(after *K, limit int) ([]K, error)) error {
	for limit := 1; limit <= len(order)+1; limit++ {
		for from := -1; from < len(order); from++ {
			var after *K
			if from >= 0 {
				after = &order[from]
			}
			got, err := list(after, limit)
			if err != nil {
				return fmt.Errorf("a page of %d behind place %d: %w", limit, from, err)
			}
			expected := order[from+1 : min(from+1+limit, len(order))]
			if !slices.Equal(got, expected) {
				return fmt.Errorf("a page of %d behind place %d: got %v, want %v", limit, from, got, expected)
			}
		}
	}
	return nil
}
