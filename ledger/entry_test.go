package ledger_test

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

var company = uuid.MustParse("6f1d2c3b-4a59-4e68-8b77-0123456789ab")

type vector struct {
	Name      string        `json:"name"`
	CompanyID uuid.UUID     `json:"companyId"`
	Wallet    ledger.Wallet `json:"wallet"`
	Genesis   ledger.Hash   `json:"genesis"`
	Entries   []struct {
		Kind      ledger.Kind `json:"kind"`
		Amount    int64       `json:"amount"`
		Before    int64       `json:"before"`
		After     int64       `json:"after"`
		Reference string      `json:"reference"`
		At        time.Time   `json:"at"`
		Previous  ledger.Hash `json:"previous"`
		Bytes     string      `json:"bytes"`
		Hash      ledger.Hash `json:"hash"`
	} `json:"entries"`
}

// The bytes and hashes in testdata were not made by this package: they fix
// the format.
func TestChainsOfTheGoldenVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/vectors.json")
	is.New(t).NoErr(err)
	var vectors []vector
	is.New(t).NoErr(json.Unmarshal(text, &vectors))
	is.New(t).True(len(vectors) > 0)

	for _, v := range vectors {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			head := ledger.Genesis(v.CompanyID, v.Wallet)
			is.Equal(head, ledger.Head{CompanyID: v.CompanyID, Wallet: v.Wallet, Hash: v.Genesis})
			verifier := ledger.NewVerifier()
			for i, want := range v.Entries {
				e, next, err := head.Append(want.Kind, money.Amount(want.Amount), want.Reference, want.At)
				is.NoErr(err)
				is.Equal(e, ledger.Entry{
					CompanyID: v.CompanyID,
					Wallet:    v.Wallet,
					Sequence:  int64(i) + 1,
					Kind:      want.Kind,
					Amount:    money.Amount(want.Amount),
					Before:    money.Amount(want.Before),
					After:     money.Amount(want.After),
					Reference: want.Reference,
					At:        want.At,
					Previous:  want.Previous,
					Hash:      want.Hash,
				})
				is.Equal(string(e.Bytes()), want.Bytes)
				is.Equal(string(e.AppendBytes([]byte("x"))), "x"+want.Bytes)
				is.Equal(e.Sum(), want.Hash)
				is.Equal(ledger.Hash(sha256.Sum256(e.Bytes())), want.Hash)
				is.Equal(next, ledger.Head{
					CompanyID: v.CompanyID,
					Wallet:    v.Wallet,
					Sequence:  e.Sequence,
					Balance:   e.After,
					Hash:      e.Hash,
					At:        e.At,
				})
				is.Equal(verifier.Add(e), nil)
				head = next
			}
			is.Equal(verifier.Match(head), nil)
		})
	}
}

// The bytes do not depend on the zone in which a driver returns a time.
func TestBytesHoldTheInstantInUTC(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := chainOf(t, 1)[0]
	want := e.Sum()
	e.At = e.At.In(time.FixedZone("", 3600))
	is.Equal(e.Sum(), want)
	is.Equal(ledger.NewVerifier().Add(e), nil)
}

// A checkout hashes two entries while it holds the wallets' locks. Allocations
// are counted outside of parallel tests.
func TestSumAllocatesAtMostOnce(t *testing.T) {
	is := is.New(t)
	e := chainOf(t, 1)[0]
	buf := make([]byte, 0, 512)
	is.True(testing.AllocsPerRun(100, func() { e.Sum() }) <= 1)
	is.True(testing.AllocsPerRun(100, func() { e.AppendBytes(buf) }) == 0)
}

func BenchmarkSum(b *testing.B) {
	e := chainOf(b, 1)[0]
	b.ReportAllocs()
	for b.Loop() {
		e.Sum()
	}
}

func BenchmarkAppend(b *testing.B) {
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	head := ledger.Genesis(company, ledger.Float)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := head.Append(ledger.FloatCredit, 100, "0b0d6f2e-57d4-4f0c-9c3e-5a1f2b3c4d5e", at); err != nil {
			b.Fatal(err)
		}
	}
}
