package memory

import (
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// state holds all records.
type state struct {
	companies     companies
	brandings     brandings
	commissions   commissions
	apiKeys       apiKeys
	secrets       secrets
	categories    categories
	events        events
	inventory     inventory
	orders        orders
	endings       endings
	wallets       wallets
	bookChecks    map[uuid.UUID]driver.BookCheck
	sales         sales
	accounts      accounts
	settlements   settlements
	outbox        outbox
	endpoints     endpoints
	messages      messages
	deliveries    deliveries
	notifications notifications
	mailSenders   mailSenders
	results       results
	audit         audit
	people        people
	signIns       signIns
	cases         map[uuid.UUID]*cases
	waitingCases  *waitingCases
}

func newState() *state {
	return &state{
		companies:     newCompanies(),
		brandings:     newBrandings(),
		commissions:   newCommissions(),
		apiKeys:       newAPIKeys(),
		secrets:       newSecrets(),
		categories:    newCategories(),
		events:        newEvents(),
		inventory:     newInventory(),
		orders:        newOrders(),
		endings:       newEndings(),
		wallets:       newWallets(),
		bookChecks:    make(map[uuid.UUID]driver.BookCheck),
		sales:         newSales(),
		accounts:      newAccounts(),
		settlements:   newSettlements(),
		outbox:        newOutbox(),
		endpoints:     newEndpoints(),
		messages:      newMessages(),
		deliveries:    newDeliveries(),
		notifications: newNotifications(),
		mailSenders:   newMailSenders(),
		results:       newResults(),
		audit:         newAudit(),
		people:        newPeople(),
		signIns:       newSignIns(),
		cases:         make(map[uuid.UUID]*cases),
		waitingCases:  newIndex(comparePositions),
	}
}

// moment returns a time as a store keeps it: in UTC with milliseconds, a zero time as none.
func moment(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Millisecond)
}

// each returns the record of every reference, or the zero record where nothing is kept.
func each[R, V any](refs []R, find func(R) V) []V {
	found := make([]V, len(refs))
	for i, ref := range refs {
		found[i] = find(ref)
	}
	return found
}
