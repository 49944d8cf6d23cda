package console

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func exportCompanies(_ context.Context, c *call) (rowPages, error) {
	if c.query("order") == byLowestFloat {
		return exportLowestFloats(c)
	}
	filter, err := companyFilter(c)
	return rowsOf(func(ctx context.Context, params ticketing.PageParams) (ticketing.Page[ticketing.Company], error) {
		filter.PageParams = params
		return c.operator.ListCompanies(ctx, filter)
	}, func(company ticketing.Company) []string {
		verified := company.Verification
		return []string{
			company.ID.String(), company.Name, string(company.Status), string(verified.Status),
			cellAt(verified.ApprovalExpiresAt), cellAt(verified.GraceUntil), cellAt(&company.CreatedAt), "", "",
		}
	}), err
}

// exportLowestFloats returns the companies that the page shows, with what is known of those.
func exportLowestFloats(c *call) (rowPages, error) {
	if isFiltered(c, "prefix", "status", "verification", "expires") {
		return nil, errFloatFilter
	}
	return rowsOfWhole(func(ctx context.Context) ([]ticketing.CompanyFloat, error) {
		found, err := c.operator.LowFloats(ctx, ticketing.MaxPageLimit)
		return found.Companies, err
	}, func(one ticketing.CompanyFloat) []string {
		return []string{
			one.CompanyID.String(), one.CompanyName, string(one.Status), "", "", "", "", one.Float.String(),
			string(one.FloatStatus),
		}
	}), nil
}

func exportPayouts(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(c.operator.ListOpenSettlements, func(s ticketing.OpenSettlement) []string {
		return []string{
			s.ID.String(), s.CompanyID.String(), s.CompanyName, s.Amount.String(), string(s.Status), s.BankAccountLast4,
			cellAt(&s.RequestedAt),
		}
	}), nil
}

func exportCases(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(c.operator.ListSubmittedCases, func(one ticketing.SubmittedCase) []string {
		return []string{
			one.CompanyID.String(), one.CompanyName, cellOf(one.Number), one.LegalName, cellAt(one.SubmittedAt),
		}
	}), nil
}

// exportDeadLetters returns the companies with the most dead letters. The last line says if there are more.
func exportDeadLetters(_ context.Context, c *call) (rowPages, error) {
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		found, err := c.operator.CountDeadLetters(ctx)
		shown := 0
		rows := rowsOfAll(found.Companies, func(one ticketing.CompanyDeadLetters) []string {
			shown += one.Count
			return []string{cellAt(&found.Since), one.CompanyID.String(), one.CompanyName, strconv.Itoa(one.Count)}
		})
		if found.Capped || shown < found.Total {
			rows = append(rows, remark("AND MORE: only the latest dead letters are counted, of a hundred companies at most.",
				deadLetterColumns()))
		}
		return rows, "", err
	}, nil
}

// deadLetterColumns returns the columns of the file of dead letters.
func deadLetterColumns() []string { return strings.Fields("since companyId company deadLetters") }

func exportStaff(_ context.Context, c *call) (rowPages, error) {
	of := func(m ticketing.StaffMember) uuid.UUID { return m.UserID }
	return rowsOfPeople(c, c.operator.ListStaff, of, func(m ticketing.StaffMember) []string {
		return []string{m.UserID.String(), m.Name, m.Email, string(m.Role), cellAt(&m.CreatedAt)}
	}), nil
}

// exportFundings returns what the float of a company was funded with, from the audit log.
func exportFundings(_ context.Context, c *call) (rowPages, error) {
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		found, err := c.operator.ListAudit(ctx, c.pathID("companyId"), ticketing.AuditFilter{
			PageParams: ticketing.PageParams{Cursor: cursor, Limit: exportPage}, Action: creditAction,
		})
		if err != nil {
			return nil, "", err
		}
		rows := make([][]string, len(found.Items))
		for i, one := range found.Items {
			made, err := newFunding(shownAct{AuditEntry: one})
			if err != nil {
				return nil, "", err
			}
			rows[i] = []string{
				cellAt(&made.At), made.Reference, made.Actor, made.Amount.String(), made.Balance.String(),
			}
		}
		return rows, found.NextCursor, nil
	}, nil
}

func exportCategories(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(c.operator.ListCategories, func(one ticketing.Category) []string {
		return []string{one.ID.String(), one.Name, one.Slug, string(one.Status)}
	}), nil
}

// exportBooks returns when the books of each company were verified.
func exportBooks(_ context.Context, c *call) (rowPages, error) {
	return rowsOf(c.operator.ListBookChecks, func(one ticketing.CompanyBooks) []string {
		row := []string{one.CompanyID.String(), one.CompanyName}
		if check := one.LastCheck; check != nil {
			return append(row, cellAt(&check.VerifiedAt), strconv.FormatBool(check.OK), cellOf(check.Problems),
				cellOf(check.Entries))
		}
		return append(row, "", "", "", "")
	}), nil
}

// exportMoney returns the companies that sold most, like their page. Its last lines say what is missing.
func exportMoney(_ context.Context, c *call) (rowPages, error) {
	covered, err := moneyPeriod(c)
	if err != nil {
		return nil, err
	}
	filter := covered.filter()
	return func(ctx context.Context, _ string) ([][]string, string, error) {
		sold, err := c.operator.PlatformSales(ctx, filter, ticketing.MaxPageLimit)
		from, to := filter.From.Format(time.RFC3339), filter.To.Format(time.RFC3339)
		rows := rowsOfAll(sold.Companies, func(one ticketing.CompanySales) []string {
			return []string{
				from, to, one.Company.ID.String(), one.Company.Name, cellOf(one.Sales.Orders), cellOf(one.Sales.Admissions),
				one.Sales.Gross.String(), one.Sales.Commission.String(), one.Sales.Refunded.String(),
				one.Sales.Reversed.String(), cellOf(one.Sales.Admitted), one.Wallets.Float.String(),
				one.Wallets.Earnings.String(), strconv.FormatBool(one.Counting),
			}
		})
		if sold.Counting {
			rows = append(rows, remark("NOT COMPLETE: orders are still being counted. Export it again later.", moneyColumns()))
		}
		if sold.HasMore {
			rows = append(rows, remark("AND MORE: further companies sold less than these.", moneyColumns()))
		}
		return rows, "", err
	}, nil
}

// moneyColumns returns the columns of the file of what companies sold.
func moneyColumns() []string {
	return strings.Fields("from to companyId company orders tickets gross commission refunded reversed admitted " +
		"float earnings counting")
}
