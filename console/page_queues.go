package console

import (
	"context"
	"time"

	"github.com/floatgate/ticketing"
)

const (
	queuesPath = "/platform"
	casesPath  = "/platform/cases"

	// queueShown is how many items of a queue the first page shows.
	queueShown = 10
	// expirySoon is within which time the end of an approval is shown.
	expirySoon = 30 * 24 * time.Hour
	// expiryPages limits how many pages of companies are read to skip those whose approval has ended.
	expiryPages = 10
)

// queuePages returns the first page of the platform, the work that waits for staff, and the whole list of cases.
func queuePages() []page {
	read := []ticketing.Permission{ticketing.PermissionTenantRead}
	return []page{
		{
			bar:  true,
			path: queuesPath, scope: scopePlatform, title: "To do", nav: "To do", icon: "inbox", permissions: read,
			template: "queues.html", load: loadQueues, live: []ticketing.WatchTopic{ticketing.WatchQueues},
		},
		{
			path: casesPath, scope: scopePlatform, title: "Cases to decide", permissions: read, template: "cases.html",
			query: []string{"cursor"}, load: loadCases,
		},
	}
}

// queues are what waits for staff. A queue that the person may not see is nil.
type queues struct {
	Cases       queue[ticketing.SubmittedCase]   `json:"cases"`
	Settlements *queue[ticketing.OpenSettlement] `json:"settlements,omitempty"`
	Expiring    queue[ticketing.Company]         `json:"expiring"`
	// Expired is how many approvals have already ended, among those that were read.
	Expired int                           `json:"expired"`
	Floats  queue[ticketing.CompanyFloat] `json:"lowFloats"`
	Dead    ticketing.DeadLetters         `json:"deadLetters"`
}

// queue is the beginning of a list.
type queue[T any] struct {
	Items []T  `json:"items"`
	More  bool `json:"more"`
}

func newQueue[T any](found ticketing.Page[T]) queue[T] {
	return queue[T]{Items: found.Items, More: found.HasMore}
}

// Number returns how many there are, such as "3" or "10+".
func (q queue[T]) Number() string {
	text := textOf(len(q.Items))
	if q.More {
		text += "+"
	}
	return text
}

// Idle reports whether nothing waits for anybody.
func (q queues) Idle() bool {
	return len(q.Cases.Items)+len(q.Expiring.Items)+len(q.Floats.Items)+q.Dead.Total == 0 &&
		(q.Settlements == nil || len(q.Settlements.Items) == 0)
}

// DeadShown returns the companies with the most dead letters.
func (q queues) DeadShown() []ticketing.CompanyDeadLetters {
	return q.Dead.Companies[:min(queueShown, len(q.Dead.Companies))]
}

func loadQueues(ctx context.Context, c *call) (view, error) {
	var shown queues
	first := ticketing.PageParams{Limit: queueShown}
	cases, err := c.operator.ListSubmittedCases(ctx, first)
	if err != nil {
		return view{}, err
	}
	shown.Cases = newQueue(cases)
	if holds(c.actor, ticketing.PermissionSettlementRead) {
		open, err := c.operator.ListOpenSettlements(ctx, first)
		if err != nil {
			return view{}, err
		}
		shown.Settlements = new(newQueue(open))
	}
	if shown.Expiring, shown.Expired, err = expiringApprovals(ctx, c); err != nil {
		return view{}, err
	}
	floats, err := c.operator.LowFloats(ctx, ticketing.MaxPageLimit)
	if err != nil {
		return view{}, err
	}
	shown.Floats.Items = []ticketing.CompanyFloat{}
	for _, one := range floats.Companies {
		switch {
		case !one.LowBalance:
		case len(shown.Floats.Items) == queueShown:
			shown.Floats.More = true
		default:
			shown.Floats.Items = append(shown.Floats.Items, one)
		}
	}
	shown.Dead, err = c.operator.CountDeadLetters(ctx)
	return view{data: shown}, err
}

// expiringApprovals returns the companies whose approval ends within 30 days, earliest first, and counts those whose
// approval has ended.
func expiringApprovals(ctx context.Context, c *call) (found queue[ticketing.Company], expired int, err error) {
	filter := ticketing.CompanyFilter{
		PageParams: ticketing.PageParams{Limit: ticketing.MaxPageLimit}, Verification: ticketing.VerificationApproved,
		ExpiresBefore: c.now.Add(expirySoon), Order: ticketing.CompaniesByExpiry,
	}
	found.Items = []ticketing.Company{}
	for range expiryPages {
		companies, err := c.operator.ListCompanies(ctx, filter)
		if err != nil {
			return found, expired, err
		}
		for _, company := range companies.Items {
			switch {
			case daysUntil(company.Verification.ApprovalExpiresAt, c.now) == nil:
				expired++
			case len(found.Items) == queueShown:
				found.More = true
				return found, expired, nil
			default:
				found.Items = append(found.Items, company)
			}
		}
		if !companies.HasMore {
			break
		}
		filter.Cursor = companies.NextCursor
	}
	return found, expired, nil
}

// DaysUntil returns how many whole days a time is away, as a badge.
func (f *frame) DaysUntil(at *ticketing.Time) badge {
	days := daysUntil(at, f.now)
	switch {
	case days == nil:
		return badge{Text: "Expired", Tone: "bad"}
	case *days == 0:
		return badge{Text: "Less than a day left", Tone: "wait"}
	case *days <= soon:
		return badge{Text: formatPlural(*days, "day", "days") + " left", Tone: "wait"}
	}
	return badge{Text: formatPlural(*days, "day", "days") + " left", Tone: "quiet"}
}

func loadCases(ctx context.Context, c *call) (view, error) {
	return listed(c.operator.ListSubmittedCases(ctx, c.paging()))
}
