package ledger

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
)

// maxProblems is how many problems a report lists.
const maxProblems = 100

// BundleCheck verifies bundles, with no store and no secret.
type BundleCheck struct {
	// Keys are the public keys that a bundle may be signed with.
	Keys []ed25519.PublicKey
	// Against are heads that were kept elsewhere, such as those of an older bundle: each must be an entry of this
	// bundle.
	Against *SignedHeads
	// HeadsAlone accepts the signed heads of a bundle without its entries. These are enough to compare later bundles
	// with.
	HeadsAlone bool
	// Progress is called from time to time with the number of entries read. Defaults to none.
	Progress func(entries int64)
}

// BundleReport is the result of a verification.
type BundleReport struct {
	// Signed are the heads that the file ends with, whether there are problems or not. It is nil if the file is
	// malformed before their end.
	Signed  *SignedHeads
	Wallets int
	Entries int64
	// Problems lists at most a hundred, followed by the number of the others. Without problems the bundle is as it was
	// signed, complete and in order.
	Problems []string
}

// OK reports whether there are no problems.
func (r BundleReport) OK() bool { return len(r.Problems) == 0 }

// Verify reads a bundle to its end and reports all that is wrong with it: bytes that no [BundleWriter] writes, entries
// that are not a chain (as a [Verifier] reports), heads that are not the ends of the chains, a digest or a signature
// that does not match, and a head of c.Against that is not an entry. Only the reader's failure is an error; a file of
// any content gives a report.
//
// It takes the same memory for a file of any size and content. It reads no further after a malformed line.
func (c BundleCheck) Verify(r io.Reader) (BundleReport, error) {
	const buffer = 64 << 10
	b := &bundleReader{
		BundleCheck: c, in: bufio.NewReaderSize(r, buffer), digest: sha256.New(), chains: NewVerifier(),
		report: BundleReport{Problems: []string{}},
	}
	err := b.read()
	if told, ok := errors.AsType[*malformedError](err); ok {
		b.problem(told.Error())
		err = nil
	}
	b.report.Wallets, b.report.Entries = len(b.wallets), b.chains.Entries()
	if more := b.found - maxProblems; more > 0 {
		b.report.Problems = append(b.report.Problems, fmt.Sprintf("and %d more", more))
	}
	return b.report, err
}

// malformedError means that a file cannot be read beyond a line.
type malformedError struct {
	line int64
	text string
}

func (e *malformedError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

type bundleReader struct {
	BundleCheck

	in      *bufio.Reader
	line    int64 // the number of the line read last
	digest  hash.Hash
	chains  *Verifier
	company uuid.UUID
	wallets []Head // in the order of the file
	report  BundleReport
	found   int
}

func (b *bundleReader) problem(text string) {
	b.found++
	if len(b.report.Problems) < maxProblems {
		b.report.Problems = append(b.report.Problems, text)
	}
}

func (b *bundleReader) malformed(text string) error { return &malformedError{b.line, text} }

// next returns the next line, its line feed included. The line is valid until the next call.
func (b *bundleReader) next() ([]byte, error) {
	line, err := b.in.ReadSlice('\n')
	b.line++
	switch {
	case errors.Is(err, io.EOF):
		return nil, b.malformed("the file ends before its end")
	case errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line) > maxLine:
		return nil, b.malformed("is longer than any line of a bundle")
	case err != nil:
		return nil, fmt.Errorf("ledger: read a bundle: %w", err)
	}
	return line, nil
}

func (b *bundleReader) read() error {
	line, err := b.next()
	if err != nil {
		return err
	}
	switch {
	case string(line) == headsPrefix && b.HeadsAlone:
		return b.readHeads(true)
	case string(line) == headsPrefix:
		return b.malformed("these are the signed heads of a bundle, without its entries")
	case string(line) != bundlePrefix:
		return b.malformed("is not the first line of a bundle")
	}
	b.digest.Write(line)
	if line, err = b.next(); err != nil {
		return err
	}
	var ok bool
	if b.company, ok = parseUUID(line[:len(line)-1]); !ok {
		return b.malformed("is not the id of a company")
	}
	b.digest.Write(line)
	if err := b.readEntries(); err != nil {
		return err
	}
	return b.readHeads(false)
}

// readEntries reads up to and including the first line of the heads.
func (b *bundleReader) readEntries() error {
	const often = 1 << 14
	var entry Entry
	for {
		line, err := b.next()
		if err != nil {
			return err
		}
		if string(line) == headsPrefix {
			return nil
		}
		b.digest.Write(line)
		text := line[:len(line)-1]
		if len(text) > 0 && text[0] >= 'A' && text[0] <= 'Z' {
			if err := b.begin(Wallet(text)); err != nil {
				return err
			}
			entry = Entry{CompanyID: b.company, Wallet: Wallet(text), Hash: b.wallets[len(b.wallets)-1].Hash}
			continue
		}
		entry.Previous = entry.Hash
		if len(b.wallets) == 0 || !entry.parseLine(text) {
			return b.malformed("is neither an entry nor a wallet nor the beginning of the heads")
		}
		b.add(entry)
		if b.Progress != nil && b.chains.Entries()%often == 0 {
			b.Progress(b.chains.Entries())
		}
	}
}

func (b *bundleReader) begin(w Wallet) error {
	known := slices.ContainsFunc(b.wallets, func(h Head) bool { return h.Wallet == w })
	if !wellNamed(string(w)) || known || len(b.wallets) == maxWallets {
		return b.malformed("is not the name of a wallet that was not there before")
	}
	b.wallets = append(b.wallets, Genesis(b.company, w))
	return nil
}

// add checks an entry, also against a head of b.Against with its sequence.
func (b *bundleReader) add(e Entry) {
	for _, problem := range b.chains.Add(e) {
		b.problem(fmt.Sprintf("line %d: %s", b.line, problem))
	}
	head := &b.wallets[len(b.wallets)-1]
	if b.Against != nil {
		for i := range b.Against.Heads {
			if old := &b.Against.Heads[i]; old.Wallet == e.Wallet && old.Sequence == e.Sequence {
				b.blame(old.continued(&e))
			}
		}
	}
	*head = e.head()
}

func (b *bundleReader) blame(text string) {
	if text != "" {
		b.problem(text)
	}
}

// readHeads reads what follows the first line of the heads, to the end of the file.
func (b *bundleReader) readHeads(alone bool) error {
	var signed SignedHeads
	line, err := b.next()
	if err != nil {
		return err
	}
	var ok bool
	if signed.CompanyID, ok = parseUUID(line[:len(line)-1]); !ok || !alone && signed.CompanyID != b.company {
		return b.malformed("is not the id of the company")
	}
	for {
		if line, err = b.next(); err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte("entries ")) {
			break
		}
		head := Head{CompanyID: signed.CompanyID}
		known := slices.ContainsFunc(signed.Heads, func(h Head) bool { return bytes.HasPrefix(line, []byte(h.Wallet+" ")) })
		if len(signed.Heads) == maxWallets || known || !head.parseLine(line[:len(line)-1]) {
			return b.malformed("is not the head of a wallet")
		}
		signed.Heads = append(signed.Heads, head)
	}
	f := fields{rest: line[len("entries ") : len(line)-1]}
	if signed.Entries = f.number(); f.bad || f.rest != nil || signed.Entries < 0 {
		return b.malformed("is not how many entries there are")
	}
	if line, err = b.next(); err != nil {
		return err
	}
	text, found := bytes.CutPrefix(line[:len(line)-1], []byte("body "))
	if signed.Body, err = ParseHash(string(text)); err != nil || !found {
		return b.malformed("is not the digest of the body")
	}
	if line, err = b.next(); err != nil {
		return err
	}
	if !signed.parseSignature(line) {
		return b.malformed("is not a signature")
	}
	b.report.Signed = &signed
	if _, err := b.in.ReadByte(); !errors.Is(err, io.EOF) {
		if err != nil {
			return fmt.Errorf("ledger: read a bundle: %w", err)
		}
		b.line++
		b.problem((&malformedError{b.line, "follows the end"}).Error())
	}
	b.judge(&signed, alone)
	return nil
}

func (s *SignedHeads) parseSignature(line []byte) bool {
	digits, found := strings.CutPrefix(string(line[:len(line)-1]), "signature ")
	const half = 2 * sha256.Size
	if !found || len(digits) != 2*half {
		return false
	}
	for i := range 2 { // Its halves have the form of hashes.
		h, err := ParseHash(digits[i*half : (i+1)*half])
		if err != nil {
			return false
		}
		copy(s.Signature[i*len(h):], h[:])
	}
	return true
}

// judge compares what was signed with what was read.
func (b *bundleReader) judge(signed *SignedHeads, alone bool) {
	if !signed.SignedBy(b.Keys...) {
		b.problem("the signature does not match the public key: somebody else made or changed the file")
	}
	if b.Against != nil && b.Against.CompanyID != signed.CompanyID {
		b.problem("the older file is of another company")
	}
	if alone {
		b.wallets = signed.Heads
		return
	}
	if signed.Body != Hash(b.digest.Sum(nil)) {
		b.problem("the entries are not those that were signed: their digests differ")
	}
	if signed.Entries != b.chains.Entries() {
		b.problem(fmt.Sprintf("%d entries were signed, the file holds %d", signed.Entries, b.chains.Entries()))
	}
	for _, head := range b.wallets {
		if !slices.ContainsFunc(signed.Heads, func(h Head) bool { return h.Wallet == head.Wallet }) {
			b.problem(fmt.Sprintf("wallet %s: it has no head", head.Wallet))
		}
	}
	for _, head := range signed.Heads {
		if !slices.ContainsFunc(b.wallets, func(h Head) bool { return h.Wallet == head.Wallet }) {
			b.problem(fmt.Sprintf("wallet %s: it has a head, but is not in the file", head.Wallet))
			continue
		}
		for _, problem := range b.chains.Match(head) {
			b.problem(problem.String())
		}
	}
	if b.Against == nil {
		return
	}
	for i := range b.Against.Heads {
		old := &b.Against.Heads[i]
		at := slices.IndexFunc(b.wallets, func(h Head) bool { return h.Wallet == old.Wallet })
		if at < 0 {
			b.problem(fmt.Sprintf("wallet %s: the older file has it, this one does not", old.Wallet))
		} else if b.wallets[at].Sequence < old.Sequence {
			b.blame(old.continued(nil))
		}
	}
}

// parseUUID parses the 36 characters of an id, in lower case.
func parseUUID(text []byte) (uuid.UUID, bool) {
	const length = 36
	if len(text) != length {
		return uuid.UUID{}, false
	}
	id, err := uuid.ParseBytes(text)
	var told [length]byte
	return id, err == nil && bytes.Equal(ids.AppendText(told[:0], id), text)
}
