package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/store"
)

// anyRecord draws from few different values, so that columns are constant, ids repeat, and some are NULL.
func anyRecord() *rapid.Generator[store.EveryKind] {
	ids := rapid.SampledFrom([]uuid.UUID{{}, {1}, {2}, {0xff, 15: 0xff}})
	return rapid.Custom(func(t *rapid.T) store.EveryKind {
		return store.EveryKind{
			ID: ids.Draw(t, "id"), Maybe: ids.Draw(t, "maybe"),
			Number: rapid.SampledFrom([]int64{0, -1, 1 << 62}).Draw(t, "number"),
			At:     rapid.SampledFrom([]time.Time{{}, time.UnixMilli(1), minute(5)}).Draw(t, "at"),
			Text:   rapid.SampledFrom([]string{"", "a", `"'\{},`, "NULL", "é", "\x00", "\xff"}).Draw(t, "text"),
			Yes:    rapid.Bool().Draw(t, "yes"),
			Bytes:  rapid.SampledFrom([][]byte{nil, {}, {0}, {0xab, 0xcd}}).Draw(t, "bytes"),
		}
	})
}

// TestTypedColumnsWriteWhatRowsDo checks that an insert of typed columns is the statement that the same values in rows
// make, and that both refuse the same texts.
func TestTypedColumnsWriteWhatRowsDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prepares, shaped := rapid.Bool().Draw(t, "prepares"), rapid.Bool().Draw(t, "shaped")
		typed, rows := store.InsertsOfEveryKind(prepares, shaped, false), store.InsertsOfEveryKind(prepares, shaped, true)
		every := rapid.SliceOfN(anyRecord(), 1, 5)
		for range 3 {
			records := every.Draw(t, "records")
			written, err := typed(records)
			expected, rowsErr := rows(records)
			if (err == nil) != (rowsErr == nil) {
				t.Fatalf("typed columns: %v, rows: %v", err, rowsErr)
			}
			if written != expected {
				t.Fatalf("typed columns write\n%s\nand rows\n%s", written, expected)
			}
			if company, expected := store.SoleCompany(records, false), store.SoleCompany(records, true); company != expected {
				t.Fatalf("the company of typed columns is %v, that of rows %v", company, expected)
			}
		}
	})
}
