package ledger_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
)

func Example() {
	company := uuid.MustParse("6f1d2c3b-4a59-4e68-8b77-0123456789ab")
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

	head := ledger.Genesis(company, ledger.Float)
	entry, _, err := head.Append(ledger.FloatCredit, 1_000_000_00, "PSK-2026-000001", at)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", entry.Bytes())
	fmt.Println(entry.Hash)
	// Output:
	// ticketing-ledger/v1
	// 6f1d2c3b-4a59-4e68-8b77-0123456789ab
	// FLOAT
	// 1
	// FLOAT_CREDIT
	// 100000000
	// 0
	// 100000000
	// PSK-2026-000001
	// 2026-11-21T09:30:00.000Z
	// 88ce242be8d4d0672da3d503d1fd0dce71821a1384ae894678d5b9e272e4eb78
	//
	// cd2cb1a4ca70fd4e22f82b060ec93fefdfd6b1dbce31375033b4830e8423516b
}

func ExampleVerifier() {
	company := uuid.MustParse("6f1d2c3b-4a59-4e68-8b77-0123456789ab")
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

	head := ledger.Genesis(company, ledger.Float)
	verifier := ledger.NewVerifier()
	for i := range 3 {
		entry, next, err := head.Append(ledger.FloatCredit, 500_00, fmt.Sprintf("PSK-%d", i), at)
		if err != nil {
			fmt.Println(err)
			return
		}
		head = next
		if i == 1 {
			continue // somebody removed the second entry
		}
		for _, problem := range verifier.Add(entry) {
			fmt.Println(problem)
		}
	}
	fmt.Println(verifier.Entries(), "entries,", len(verifier.Match(head)), "problems with the wallet")
	// Output:
	// company 6f1d2c3b-4a59-4e68-8b77-0123456789ab wallet FLOAT sequence 3: sequence 2 was expected
	// 2 entries, 0 problems with the wallet
}
