package ticketing

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/cursor"
)

// Limits of a page (section 8).
const (
	DefaultPageLimit = 25
	MaxPageLimit     = 100
)

// PageParams select a page of a listing (section 4.10).
type PageParams struct {
	// Limit is the most items on the page, 1 to 100; anything else is INVALID_REQUEST. Defaults to 25. It may differ
	// from page to page.
	Limit int
	// Cursor is the NextCursor of the preceding page; empty for the first page. A cursor of another listing, filter or
	// company is INVALID_CURSOR.
	Cursor string
}

// Page is one page of a listing.
type Page[T any] struct {
	Items []T
	// HasMore reports whether another page follows. If not, NextCursor is empty.
	HasMore    bool
	NextCursor string
}

// errInvalidCursor is the one error for every cursor that is not of this listing. It does not say what is wrong: a
// client never builds a cursor, and can only start again (section 4.10).
var errInvalidCursor = &Error{
	Code: CodeInvalidCursor, Message: "The cursor is invalid for this listing. Start again without it.",
}

// limit returns the checked limit, or the default where none was given.
func (p PageParams) limit(v *violations) int {
	if p.Limit == 0 {
		return DefaultPageLimit
	}
	if p.Limit < 1 || p.Limit > MaxPageLimit {
		v.add("limit", fmt.Sprintf("must be from 1 to %d", MaxPageLimit))
	}
	return p.Limit
}

// read decodes the cursor to the position bytes that cutPage wrote, and returns nil for the first page. The scope binds
// a cursor to one listing of one company with one filter. A cursor is not signed, so it grants nothing: the query that
// uses the position checks again what the caller may see.
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

// cutPage cuts records to a page and returns the cursor of the next one, or an empty cursor after the last. The records
// were read with one more than limit: the extra record shows that another page follows.
func cutPage[R any](records []R, limit int, scope [16]byte, position func(R) []byte) ([]R, string) {
	if len(records) <= limit {
		return records, ""
	}
	records = records[:limit]
	return records, cursor.Encode(scope, position(records[limit-1]))
}

// positionSize is the length of a Position in a cursor: 8 bytes of Unix milliseconds, big-endian, then the 16 of the
// id.
const positionSize = 8 + 16

// afterPosition reports whether a position comes after another one.
func afterPosition(p, other driver.Position) bool {
	return cmp.Or(p.At.Compare(other.At), bytes.Compare(p.ID[:], other.ID[:])) > 0
}

// positionBytes returns the position as a cursor holds it.
func positionBytes(p driver.Position) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMilli())), p.ID[:]...)
}

// parsePosition is the inverse of positionBytes. Anything of another length is the zero Position.
func parsePosition(b []byte) driver.Position {
	if len(b) != positionSize {
		return driver.Position{}
	}
	return driver.Position{
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC(), //nolint:gosec // The inverse of positionBytes.
		ID: uuid.UUID(b[8:]),
	}
}

// numberSize is the length of a number in a cursor, in bytes.
const numberSize = 8

// numberBytes returns the position, in a cursor, of what is listed by its number: an order, a settlement.
func numberBytes(number int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(number)) //nolint:gosec // A sequence is positive.
}

// parseNumber is the inverse of numberBytes. It returns 0 for the first page, and refuses numbers that no record has.
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

// firstRecord returns the single record that a list method was asked for.
func firstRecord[T any](found []T, err error) (T, error) {
	if err != nil || len(found) == 0 {
		var none T
		return none, err
	}
	return found[0], nil
}
