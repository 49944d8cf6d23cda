package ledger

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// Problem is something that a [Verifier] found wrong. Sequence is that of the
// entry or the head at which it was found, as it was given.
type Problem struct {
	CompanyID uuid.UUID
	Wallet    Wallet
	Sequence  int64
	Text      string
}

// String returns the problem as one line. It quotes the wallet's name if that
// is malformed. The text quotes nothing but numbers, times and hashes.
func (p Problem) String() string {
	wallet := string(p.Wallet)
	if !wellNamed(wallet) {
		wallet = fmt.Sprintf("%.64q", wallet)
	}
	return fmt.Sprintf("company %s wallet %s sequence %d: %s", p.CompanyID, wallet, p.Sequence, p.Text)
}

// Verifier checks the chains of any number of wallets as their entries stream
// by. The entries of one wallet come in ascending order of sequence, from the
// first; those of different wallets may be mixed. It keeps a few hundred bytes
// for each wallet, however long its chain is.
//
// It proves that every entry is unchanged since it was hashed, and that the
// entries of a wallet follow one another from its genesis without a gap. The
// entries alone cannot prove that none is missing at the end, nor that the
// whole chain was not rewritten. Only a head kept elsewhere can: see
// [Verifier.Match].
//
// A Verifier is not safe for concurrent use.
type Verifier struct {
	chains   map[chainKey]*chain
	entries  int64
	problems int64
}

type chainKey struct {
	companyID uuid.UUID
	wallet    Wallet
}

// A chain holds where a wallet's next entry may be. While the entries are in
// order that is one place. After an entry out of order there are more, so that
// the entries after it get no problem. The first place is the one after that
// entry.
type chain struct {
	last   Head
	places []place
}

// A place is the end of a chain as the next entry must continue it. If the
// entry before was wrong, the next one may follow either its values or the
// values that it should have had.
type place struct {
	sequence          int64
	balance, balance2 money.Amount
	hash, hash2       Hash
	// at is the latest time of an entry whose hash was right.
	at time.Time
}

// NewVerifier returns a verifier that has seen no entry.
func NewVerifier() *Verifier {
	return &Verifier{chains: make(map[chainKey]*chain)}
}

// Add checks the next entry of a wallet and returns what is wrong with it. An
// entry by itself may have a malformed field, a balance that is negative, too
// large or not the sum, or a hash that is not that of its bytes. Against the
// entry before it may have a gap or a repeated sequence, another previous hash,
// another balance, or an earlier time. A problem is reported only at the entry
// that has it.
func (v *Verifier) Add(e Entry) []Problem {
	v.entries++
	c := v.chain(e.CompanyID, e.Wallet)
	sum := e.Sum()

	var texts []string
	if text := e.malformed(); text != "" {
		texts = append(texts, text)
	}
	texts = append(texts, e.misreckoned()...)
	if e.Hash != sum {
		texts = append(texts, fmt.Sprintf("hash is %s, its bytes have %s", e.Hash, sum))
	}
	from, wrong := c.locate(&e)
	texts = append(texts, wrong...)

	next := place{
		sequence: e.Sequence,
		balance:  e.After, balance2: e.Before + e.Amount,
		hash: e.Hash, hash2: sum,
		at: e.At,
	}
	// A time that its hash does not prove must not put the entries after it
	// in the past.
	if e.Hash != sum && from.at.Before(next.at) {
		next.at = from.at
	}
	c.places = append(c.places[:0], next)
	if e.Sequence != from.sequence+1 {
		// Either this entry is one too many, or its sequence is wrong.
		renumbered := next
		renumbered.sequence = from.sequence + 1
		c.places = append(c.places, from, renumbered)
	} else if len(wrong) > 0 {
		c.places = append(c.places, from)
	}
	c.last = e.head()
	return v.report(e.CompanyID, e.Wallet, e.Sequence, texts)
}

// Match compares a head that was kept, beside the entries or elsewhere, with
// the end of the chain as it was added. It finds what the entries alone cannot
// show: that entries are missing at the end, or that all are. A wallet without
// an entry matches its [Genesis]; the time of such a head is ignored.
func (v *Verifier) Match(h Head) []Problem {
	places := []place{genesisPlace(h.CompanyID, h.Wallet)}
	if c := v.chains[chainKey{h.CompanyID, h.Wallet}]; c != nil {
		places = c.places
	}
	var texts []string
	for i, p := range places {
		wrong := p.mismatch(&h)
		if len(wrong) == 0 {
			return nil
		}
		if i == 0 {
			texts = wrong
		}
	}
	return v.report(h.CompanyID, h.Wallet, h.Sequence, texts)
}

// Head returns the head after the last entry added of a wallet, with the
// values of that entry, and whether there was one.
func (v *Verifier) Head(companyID uuid.UUID, w Wallet) (Head, bool) {
	c := v.chains[chainKey{companyID, w}]
	if c == nil {
		return Head{}, false
	}
	return c.last, true
}

// Heads returns the result of [Verifier.Head] for every wallet, ordered by
// company and wallet.
func (v *Verifier) Heads() []Head {
	heads := make([]Head, 0, len(v.chains))
	for _, c := range v.chains {
		heads = append(heads, c.last)
	}
	slices.SortFunc(heads, func(a, b Head) int {
		return cmp.Or(bytes.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.Wallet, b.Wallet))
	})
	return heads
}

// Wallets returns how many wallets had an entry.
func (v *Verifier) Wallets() int { return len(v.chains) }

// Entries returns how many entries were added.
func (v *Verifier) Entries() int64 { return v.entries }

// Problems returns how many problems were found.
func (v *Verifier) Problems() int64 { return v.problems }

func (v *Verifier) chain(companyID uuid.UUID, w Wallet) *chain {
	key := chainKey{companyID, w}
	c := v.chains[key]
	if c == nil {
		c = &chain{places: []place{genesisPlace(companyID, w)}}
		v.chains[key] = c
	}
	return c
}

func (v *Verifier) report(companyID uuid.UUID, w Wallet, sequence int64, texts []string) []Problem {
	if len(texts) == 0 {
		return nil
	}
	problems := make([]Problem, len(texts))
	for i, text := range texts {
		problems[i] = Problem{CompanyID: companyID, Wallet: w, Sequence: sequence, Text: text}
	}
	v.problems += int64(len(problems))
	return problems
}

// locate returns the place that e follows and what is wrong with e there. If e
// follows none, locate compares it with the place of its sequence, or else with
// the first one.
func (c *chain) locate(e *Entry) (place, []string) {
	best := c.places[0]
	bestWrong := best.misplaced(e)
	for _, p := range c.places[1:] {
		if len(bestWrong) == 0 {
			break
		}
		wrong := p.misplaced(e)
		if len(wrong) == 0 || best.sequence+1 != e.Sequence && p.sequence+1 == e.Sequence {
			best, bestWrong = p, wrong
		}
	}
	return best, bestWrong
}

func genesisPlace(companyID uuid.UUID, w Wallet) place {
	h := Genesis(companyID, w)
	return place{hash: h.Hash, hash2: h.Hash}
}

// misplaced returns what is wrong with e as the entry after p. If the sequence
// is wrong, the rest follows from it and is not reported.
func (p *place) misplaced(e *Entry) []string {
	if e.Sequence != p.sequence+1 {
		return []string{fmt.Sprintf("sequence %d was expected", p.sequence+1)}
	}
	var texts []string
	if e.Previous != p.hash && e.Previous != p.hash2 {
		texts = append(texts, fmt.Sprintf("previous hash is %s, the entry before has %s", e.Previous, p.hash))
	}
	if e.Before != p.balance && e.Before != p.balance2 {
		texts = append(texts, fmt.Sprintf("balance before is %s, the entry before left %s", e.Before, p.balance))
	}
	if e.At.Before(p.at) {
		texts = append(texts, fmt.Sprintf("time %s runs back behind %s", formatTime(e.At), formatTime(p.at)))
	}
	return texts
}

// mismatch returns what is wrong with h as the head at p.
func (p *place) mismatch(h *Head) []string {
	var texts []string
	if h.Balance != p.balance && h.Balance != p.balance2 {
		texts = append(texts, fmt.Sprintf("head has balance %s, the last entry left %s", h.Balance, p.balance))
	}
	if h.Sequence != p.sequence {
		return append(texts, fmt.Sprintf("head has sequence %d, the last entry has %d", h.Sequence, p.sequence))
	}
	if h.Hash != p.hash && h.Hash != p.hash2 {
		texts = append(texts, fmt.Sprintf("head has hash %s, the last entry has %s", h.Hash, p.hash))
	}
	if h.Sequence > 0 && p.hash == p.hash2 && !h.At.Equal(p.at) {
		texts = append(texts, fmt.Sprintf("head has time %s, the last entry has %s", formatTime(h.At), formatTime(p.at)))
	}
	return texts
}

// misreckoned returns what is wrong with the entry's numbers, without the entry
// before.
func (e *Entry) misreckoned() []string {
	var texts []string
	for _, b := range []struct {
		name    string
		balance money.Amount
	}{{"before", e.Before}, {"after", e.After}} {
		switch {
		case b.balance < 0:
			texts = append(texts, fmt.Sprintf("balance %s is negative: %s", b.name, b.balance))
		case b.balance > money.MaxBalance:
			texts = append(texts, fmt.Sprintf("balance %s is above the maximum: %s", b.name, b.balance))
		}
	}
	if e.Before+e.Amount != e.After {
		texts = append(texts, fmt.Sprintf("balance after is %s, not %s plus %s", e.After, e.Before, e.Amount))
	}
	return texts
}

func formatTime(t time.Time) string {
	return t.UTC().Format(time.RFC3339Nano)
}
