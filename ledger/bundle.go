package ledger

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/money"
)

const (
	bundlePrefix = "ticketing-ledger-bundle/v1\n"

	// maxWallets is how many wallets a bundle holds.
	maxWallets = 16
	// maxLine is the longest line of a bundle, its line feed included; an entry's longest is 333.
	maxLine = 512
)

// ErrChain means that an entry does not follow the one before it: see [Verifier.Add].
var ErrChain = errors.New("ledger: the chain is broken")

// BundleWriter writes the entries of one company as a bundle. Anyone with the public key can check that the file is
// complete and who made it, without anything else. docs/ledger-format.md specifies its bytes. The same entries and key
// give the same bytes.
//
// It holds a few kilobytes, however many entries there are. It writes no entry that a [Verifier] finds a problem with.
// After an error, the bytes written so far are not a bundle.
type BundleWriter struct {
	out     *bufio.Writer
	digest  hash.Hash
	chains  *Verifier
	company uuid.UUID
	wallets []Wallet
	line    []byte
}

// NewBundleWriter begins a bundle of a company's entries.
func NewBundleWriter(w io.Writer, companyID uuid.UUID) *BundleWriter {
	b := &BundleWriter{digest: sha256.New(), chains: NewVerifier(), company: companyID}
	const buffer = 64 << 10
	b.out = bufio.NewWriterSize(io.MultiWriter(w, b.digest), buffer)
	b.line = append(b.line, bundlePrefix...)
	b.line = append(ids.AppendText(b.line, companyID), '\n')
	_, _ = b.out.Write(b.line) // The buffer keeps its error for the next call.
	return b
}

// Begin begins a wallet. Each wallet is begun once, followed by its entries from the first.
func (b *BundleWriter) Begin(w Wallet) error {
	if !wellNamed(string(w)) || slices.Contains(b.wallets, w) || len(b.wallets) == maxWallets {
		return fmt.Errorf("%w: a bundle has at most %d wallets, each once", ErrMalformed, maxWallets)
	}
	b.wallets = append(b.wallets, w)
	b.line = append(append(b.line[:0], w...), '\n')
	_, err := b.out.Write(b.line)
	return err
}

// Add writes the next entry of the wallet that was begun last. An entry of another wallet or company is [ErrMalformed].
// An entry that does not follow the one before is [ErrChain].
func (b *BundleWriter) Add(e Entry) error {
	if len(b.wallets) == 0 || e.Wallet != b.wallets[len(b.wallets)-1] || e.CompanyID != b.company {
		return fmt.Errorf("%w: the entry belongs to another wallet", ErrMalformed)
	}
	if problems := b.chains.Add(e); len(problems) > 0 {
		return fmt.Errorf("%w: %s", ErrChain, problems[0])
	}
	b.line = e.appendLine(b.line[:0])
	_, err := b.out.Write(b.line)
	return err
}

// Heads returns the ends of the chains that were written, in the order in which their wallets were begun.
func (b *BundleWriter) Heads() []Head {
	heads := make([]Head, len(b.wallets))
	for i, w := range b.wallets {
		head, moved := b.chains.Head(b.company, w)
		if !moved {
			head = Genesis(b.company, w)
		}
		heads[i] = head
	}
	return heads
}

// Sign ends the bundle with its signed heads.
func (b *BundleWriter) Sign(key ed25519.PrivateKey) (SignedHeads, error) {
	if err := b.out.Flush(); err != nil {
		return SignedHeads{}, err
	}
	signed := SignedHeads{CompanyID: b.company, Heads: b.Heads(), Entries: b.chains.Entries()}
	b.digest.Sum(signed.Body[:0])
	signed.Signature = [ed25519.SignatureSize]byte(ed25519.Sign(key, signed.statement()))
	_, err := b.out.Write(signed.Bytes())
	if err == nil {
		err = b.out.Flush()
	}
	return signed, err
}

// appendLine appends the entry as a line of a bundle. The line leaves out company, wallet and previous hash, which its
// position in the file gives.
func (e *Entry) appendLine(b []byte) []byte {
	b = strconv.AppendInt(b, e.Sequence, 10)
	b = append(b, ' ')
	b = append(b, e.Kind...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(e.Amount), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(e.Before), 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(e.After), 10)
	b = append(b, ' ')
	b = append(b, e.Reference...)
	b = append(b, ' ')
	b = e.At.UTC().AppendFormat(b, timeLayout)
	b = append(b, ' ')
	b = hex.AppendEncode(b, e.Hash[:])
	return append(b, '\n')
}

// fields reads the fields of a line one by one. It sets bad if a field is missing or is not spelled as the writer does.
type fields struct {
	rest []byte
	bad  bool
}

// next returns the text up to a space, or to the end.
func (f *fields) next() []byte {
	for i, c := range f.rest {
		if c == ' ' {
			field := f.rest[:i]
			if f.rest = f.rest[i+1:]; len(f.rest) == 0 {
				f.bad = true // A space that nothing follows.
			}
			return field
		}
	}
	field := f.rest
	f.rest = nil
	if len(field) == 0 {
		f.bad = true
	}
	return field
}

// number returns a decimal in its one spelling.
func (f *fields) number() int64 {
	const maxDigits = 19 // of math.MaxInt64
	text := f.next()
	digits := text
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	canonical := len(digits) > 0 && len(digits) <= maxDigits && (digits[0] != '0' || len(text) == 1)
	if !canonical {
		f.bad = true
		return 0
	}
	n := uint64(0)
	for _, c := range digits {
		if c < '0' || c > '9' {
			f.bad = true
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	// The smallest int64 is not an amount, and is the only one without an inverse.
	if n > 1<<63-1 {
		f.bad = true
		return 0
	}
	if len(digits) < len(text) {
		return -int64(n)
	}
	return int64(n)
}

func (f *fields) amount() money.Amount { return money.Amount(f.number()) }

func (f *fields) hash() (h Hash) {
	if h.UnmarshalText(f.next()) != nil {
		f.bad = true
	}
	return h
}

// name returns the name of a wallet or a kind.
func (f *fields) name() string {
	name := string(f.next())
	if !wellNamed(name) {
		f.bad = true
	}
	return name
}

// time returns a time written as YYYY-MM-DDThh:mm:ss.sssZ, of the years 0001 to 9999, that exists in the calendar.
func (f *fields) time() time.Time {
	text := f.next()
	if len(text) != len(timeLayout) {
		f.bad = true
		return time.Time{}
	}
	var n [7]int // year, month, day, hour, minute, second, millisecond
	part := 0
	for i, c := range text {
		switch of := timeLayout[i]; {
		case of < '0' || of > '9': // a separator
			if c != of {
				f.bad = true
			}
			part++
		case c < '0' || c > '9':
			f.bad = true
		default:
			n[part] = n[part]*10 + int(c-'0')
		}
	}
	at := time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], n[6]*int(time.Millisecond), time.UTC)
	var told [len(timeLayout)]byte
	if f.bad || n[0] < 1 || !bytes.Equal(at.AppendFormat(told[:0], timeLayout), text) {
		f.bad = true
		return time.Time{}
	}
	return at
}

// parseLine is the inverse of appendLine for a line at this position. It reports whether the line is well formed.
func (e *Entry) parseLine(line []byte) bool {
	f := fields{rest: line}
	e.Sequence = f.number()
	e.Kind = Kind(f.name())
	e.Amount, e.Before, e.After = f.amount(), f.amount(), f.amount()
	e.Reference = string(f.next())
	e.At = f.time()
	e.Hash = f.hash()
	return !f.bad && f.rest == nil && wellReferenced(e.Reference) && e.Sequence > 0
}
