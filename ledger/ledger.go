// Package ledger holds the bytes of a wallet movement, the hash chain that
// binds the movements of a wallet to one another, and the verification of
// such chains without a database.
//
// A wallet is one balance of one company. An [Entry] moves the balance;
// entries are never changed and never removed. Each holds the hash of the one
// before it, so a change anywhere in a history shows in every history that
// ends in a hash that was kept elsewhere. A chain belongs to one wallet: wallets
// never wait for each other.
//
// # Bytes of an entry
//
// The hash of an entry is the SHA-256 of the following text: ASCII, eleven
// lines in this order, each ended by one line feed (0x0A), nothing before,
// between or after them.
//
//	ticketing-ledger/v1   the constant that names this format and its version
//	company               the UUID: 36 characters, lower case, with hyphens
//	wallet                1 to 32 characters: A to Z, 0 to 9 and _, the first a letter
//	sequence              decimal, from 1, without gaps in a wallet
//	kind                  1 to 32 characters, like the wallet
//	amount                decimal minor units (kobo), "-" before a debit
//	before                the balance before, in the same form, never negative
//	after                 the balance after, before plus amount, never negative
//	reference             1 to 128 characters from 0x21 to 0x7E: no space, no control
//	at                    UTC, YYYY-MM-DDThh:mm:ss.sssZ, years 0001 to 9999
//	previous              64 lower-case hexadecimal digits: the hash of the entry before
//
// Decimal numbers have no plus sign, no leading zero and no "-0". No field can
// contain a line feed and every field has one spelling, so two entries that
// differ have different bytes. Balances are at most [money.MaxBalance].
//
// The entry with sequence 1 holds the genesis hash of its wallet, which is the
// SHA-256 of three lines of the same kind:
//
//	ticketing-ledger/v1/genesis
//	company
//	wallet
//
// A later format will have another first line. Bytes are never made from a
// marshalled struct and never in SQL.
//
// # Bundles
//
// A [BundleWriter] puts the entries of a company into one file that ends with
// [SignedHeads], and a [BundleCheck] verifies it with nothing but a public key.
// docs/ledger-format.md specifies its bytes, and says what it can prove.
//
// # Example
//
// The first credit of a company's FLOAT, 1,000,000.00, has these bytes:
//
//	ticketing-ledger/v1
//	6f1d2c3b-4a59-4e68-8b77-0123456789ab
//	FLOAT
//	1
//	FLOAT_CREDIT
//	100000000
//	0
//	100000000
//	PSK-2026-000001
//	2026-11-21T09:30:00.000Z
//	88ce242be8d4d0672da3d503d1fd0dce71821a1384ae894678d5b9e272e4eb78
//
// and this hash, which sha256sum prints for them, too:
//
//	cd2cb1a4ca70fd4e22f82b060ec93fefdfd6b1dbce31375033b4830e8423516b
package ledger

import "errors"

// Wallet names one of the wallets that every company has.
type Wallet string

// The wallets of a company.
const (
	// Float pays for checkouts; the company funds it.
	Float Wallet = "FLOAT"
	// Earnings collects the company's commission.
	Earnings Wallet = "EARNINGS"
)

// Kind is the cause of a movement. The chain accepts any well-formed kind: the
// service enforces which wallet and which sign belong to it.
type Kind string

// The kinds of movement (Sections 2.9, 3.3, 3.6 and 4.7).
const (
	// FloatCredit funds FLOAT; its reference is the provider's.
	FloatCredit Kind = "FLOAT_CREDIT"
	// CheckoutDebit takes the gross of an order from FLOAT; its reference is
	// the order's id.
	CheckoutDebit Kind = "CHECKOUT_DEBIT"
	// CommissionAccrual adds the commission of an order to EARNINGS; its
	// reference is the order's id.
	CommissionAccrual Kind = "COMMISSION_ACCRUAL"
	// CheckoutRefund gives the gross of a refunded order back to FLOAT; its
	// reference is the order's id.
	CheckoutRefund Kind = "CHECKOUT_REFUND"
	// CommissionReversal takes the commission of a refunded order from
	// EARNINGS; its reference is the order's id.
	CommissionReversal Kind = "COMMISSION_REVERSAL"
	// SettlementDebit takes the whole balance from EARNINGS for a payout; its
	// reference is the settlement's id.
	SettlementDebit Kind = "SETTLEMENT_DEBIT"
	// SettlementRefund gives the amount of a rejected settlement back to
	// EARNINGS; its reference is the settlement's id.
	SettlementRefund Kind = "SETTLEMENT_REFUND"
)

// The errors of [Head.Append], for [errors.Is].
var (
	// ErrMalformed means that a field cannot be written in the bytes.
	ErrMalformed = errors.New("ledger: malformed movement")
	// ErrInsufficient means that the balance would fall below zero.
	ErrInsufficient = errors.New("ledger: balance would be negative")
	// ErrOverflow means that the balance would rise above
	// [money.MaxBalance], or that the sequence has reached its end.
	ErrOverflow = errors.New("ledger: balance or sequence would overflow")
	// ErrTime means that the movement is before the wallet's last one.
	ErrTime = errors.New("ledger: time runs backwards")
)
