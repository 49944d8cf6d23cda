package ticketing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// Limits of a page (section 8).
const (
	DefaultPageLimit = 25
	MaxPageLimit     = 100
)

// PageParams say which page of a listing is wanted (section 4.10).
type PageParams struct {
	// Limit is the largest number of items, 1 to 100. Defaults to 25.
	Limit int
	// Cursor is the NextCursor of the page before; empty for the first page. One of another listing, filter or
	// company is INVALID_CURSOR.
	Cursor string
}

// Page is one page of a listing.
type Page[T any] struct {
	Items []T
	// HasMore tells whether more follows; NextCursor is empty when it does not.
	HasMore    bool
	NextCursor string
}

// Position is a place in a listing that is ordered by time and then by id. The zero Position is the beginning.
type Position struct {
	At time.Time
	ID uuid.UUID
}

var errInvalidCursor = &Error{
	Code: CodeInvalidCursor, Message: "The cursor is invalid for this listing. Start again without it.",
}

func (p PageParams) limit(v *violations) int {
	if p.Limit == 0 {
		return DefaultPageLimit
	}
	if p.Limit < 1 || p.Limit > MaxPageLimit {
		v.add("limit", fmt.Sprintf("must be from 1 to %d", MaxPageLimit))
	}
	return p.Limit
}

// read decodes the cursor, if there is one, to the position bytes that turn wrote.
func (p PageParams) read(scope [16]byte, size int) ([]byte, error) {
	if p.Cursor == "" {
		return nil, nil
	}
	position, err := cursor.Decode(p.Cursor, scope, size)
	if err != nil {
		return nil, errInvalidCursor
	}
	return position, nil
}

// turn makes a page of records that were asked for with one more than its limit.
func turn[R any](records []R, limit int, scope [16]byte, position func(R) []byte) ([]R, string) {
	if len(records) <= limit {
		return records, ""
	}
	records = records[:limit]
	return records, cursor.Encode(scope, position(records[limit-1]))
}

const positionSize = 8 + 16

// behind tells whether a position comes after another one.
func (p Position) behind(other Position) bool {
	return cmp.Or(p.At.Compare(other.At), bytes.Compare(p.ID[:], other.ID[:])) > 0
}

func (p Position) bytes() []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMilli())), p.ID[:]...)
}

func parsePosition(b []byte) Position {
	if len(b) != positionSize {
		return Position{}
	}
	return Position{
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC(), //nolint:gosec // The inverse of bytes.
		ID: uuid.UUID(b[8:]),
	}
}

const numberSize = 8

// numberBytes is the position of what is listed by its number: an order, a settlement.
func numberBytes(number int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(number)) //nolint:gosec // A sequence is positive.
}

// parseNumber is the inverse of numberBytes, and 0 for the first page.
func parseNumber(b []byte) (int64, error) {
	if b == nil {
		return 0, nil
	}
	number := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // Checked here.
	if number < 1 {
		return 0, errInvalidCursor
	}
	return number, nil
}
