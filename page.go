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

// Page is one page of a list. It has no total, because counting would read the whole list for every page.
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

// listing is a list of records R, opened at one page. The records are in the order of their positions P.
type listing[R, P any] struct {
	order listOrder[R, P]
	scope [16]byte // binds a cursor to one list of one company with one filter
	// after is the position of the last record of the page before, and zero for the first page.
	after P
	// limit is how many records to read. It is one more than the page holds: the extra record shows that another page
	// follows.
	limit int
}

// listOrder is the order of a list: the position of a record, and its bytes in a cursor. A new list takes byTime or
// byNumber, or brings an order whose bytes have one length.
type listOrder[R, P any] struct {
	position func(R) P
	size     int // of the bytes
	encode   func(P) []byte
	decode   func([]byte) (P, error)
}

// byTime is the order of what is listed by time and id.
func byTime[R any](position func(R) driver.Position) listOrder[R, driver.Position] {
	return listOrder[R, driver.Position]{position, positionSize, positionBytes, parsePosition}
}

// byNumber is the order of what is listed by its number: an order, a settlement.
func byNumber[R any](number func(R) int64) listOrder[R, int64] {
	return listOrder[R, int64]{number, numberSize, numberBytes, parseNumber}
}

// openListing opens a list at the page that params select. v holds what is wrong with the filter of the list, and scope
// names everything that two lists differ in.
//
// The violation of the limit comes before those in v, and INVALID_REQUEST before INVALID_CURSOR. A cursor is not
// signed, so it grants nothing: the query that uses the position checks again what the caller may see.
func openListing[R, P any](
	order listOrder[R, P], params PageParams, v violations, scope ...string,
) (listing[R, P], error) {
	var all violations
	limit := params.limit(&all)
	if err := append(all, v...).err(); err != nil {
		return listing[R, P]{}, err
	}
	list := listing[R, P]{order: order, scope: cursor.Scope(scope...), limit: limit + 1}
	if params.Cursor == "" {
		return list, nil
	}
	// The text is untrusted input. The decoder accepts nothing but what cut encoded for this scope.
	position, err := cursor.Decode(params.Cursor, list.scope, order.size)
	if err != nil {
		return listing[R, P]{}, errInvalidCursor
	}
	list.after, err = order.decode(position)
	return list, err
}

// cut returns the records of the page, whether another page follows, and the cursor of that one. records are those
// after the position, at most limit of them.
func (l listing[R, P]) cut(records []R) (page []R, more bool, next string) {
	if len(records) < l.limit {
		return records, false, ""
	}
	page = records[:l.limit-1]
	last := l.order.position(page[len(page)-1])
	return page, true, cursor.Encode(l.scope, l.order.encode(last))
}

// positionSize is the length of a Position in a cursor: 8 bytes of Unix milliseconds, big-endian, then the 16 of the
// id.
const positionSize = 8 + 16

// afterPosition reports whether a position comes after another one. It is the order of lists by time: times first, and
// ids byte by byte among equal times.
func afterPosition(p, other driver.Position) bool {
	return cmp.Or(p.At.Compare(other.At), bytes.Compare(p.ID[:], other.ID[:])) > 0
}

// positionBytes returns the position as a cursor holds it.
func positionBytes(p driver.Position) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(p.At.UnixMilli())), p.ID[:]...)
}

// parsePosition is the inverse of positionBytes. It never fails: every time and id is a position.
func parsePosition(b []byte) (driver.Position, error) {
	return driver.Position{
		At: time.UnixMilli(int64(binary.BigEndian.Uint64(b))).UTC(), //nolint:gosec // The inverse of positionBytes.
		ID: uuid.UUID(b[8:]),
	}, nil
}

// numberSize is the length of a number in a cursor, in bytes.
const numberSize = 8

// numberBytes returns the number as a cursor holds it: 8 bytes, big-endian.
func numberBytes(number int64) []byte {
	return binary.BigEndian.AppendUint64(nil, uint64(number)) //nolint:gosec // A sequence is positive.
}

// parseNumber is the inverse of numberBytes. It refuses numbers that no record has.
func parseNumber(b []byte) (int64, error) {
	number := int64(binary.BigEndian.Uint64(b)) //nolint:gosec // Checked here.
	if number < 1 {
		return 0, errInvalidCursor
	}
	return number, nil
}

// firstRecord returns the single record that a list method was asked for. An empty list gives the zero record, with
// which a store stands for what it does not keep.
func firstRecord[T any](found []T, err error) (T, error) {
	if err != nil || len(found) == 0 {
		var none T
		return none, err
	}
	return found[0], nil
}
