package ticketing

import (
	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/recent"
)

// recentIDs are ids that were found lately, such as those of API keys that authenticated. They decide only how a call
// is queued, never whether it is allowed: that is read from the store each time.
type recentIDs = recent.Map[uuid.UUID, struct{}]

// recentVersions are the numbers of the brandings that companies had lately. They are only assumed.
type recentVersions struct{ recent.Map[uuid.UUID, int64] }

// note remembers the version of a company.
func (r *recentVersions) note(companyID uuid.UUID, version int64) {
	if known, ok := r.Get(companyID); !ok || known != version {
		r.Put(companyID, version)
	}
}

// aloneFor is how many transactions with sales of a company have to follow one another in this process, with no other
// movement between, before it counts as the only one that sells for the company.
const aloneFor = 8

// recentSales are where the FLOAT wallets of companies were after the last sales of this process. They decide only with
// which message the next sales lock.
type recentSales struct {
	recent.Map[uuid.UUID, lastSale]
}

// lastSale is where a wallet was after the last transaction with sales of its company.
type lastSale struct {
	sequence int64
	alone    int // transactions before it that followed one another here, up to aloneFor
}

// note remembers a transaction, by the sequences of the wallets before and after it.
func (r *recentSales) note(before, after map[uuid.UUID]int64) {
	for company, sequence := range before {
		last, _ := r.Get(company)
		alone := 0
		if last.sequence == sequence {
			alone = min(last.alone+1, aloneFor)
		}
		r.Put(company, lastSale{after[company], alone})
	}
}

// isAlone reports whether the last transactions with sales of a company followed one another in this process.
func (r *recentSales) isAlone(companyID uuid.UUID) bool {
	last, _ := r.Get(companyID)
	return last.alone >= aloneFor
}
