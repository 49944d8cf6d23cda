package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// companyName identifies the company at the next start.
const companyName = "Freedom Park"

// shop is what the till sells.
type shop struct{ companyID, eventID uuid.UUID }

// setUp creates what a sale needs: a company that is verified, has a commission rate and has float, and an event with
// tickets. Each step may run again: it looks first, or its key or reference returns what was done before. It stands for
// the work of a platform's staff, who would not approve a company again at each start.
func setUp(ctx context.Context, svc *ticketing.Service) (shop, error) {
	op := svc.As(ticketing.Staff("set-up"))
	company, err := findOrCreate(ctx, op)
	if err != nil {
		return shop{}, err
	}
	if _, err := op.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}); err != nil {
		return shop{}, err
	}
	rates, err := op.ListCommissionRates(ctx, company.ID)
	if err != nil {
		return shop{}, err
	}
	if len(rates) == 0 {
		rate, err := money.ParseRate("2.5", money.Percent)
		if err != nil {
			return shop{}, err
		}
		if _, err := op.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate}); err != nil {
			return shop{}, err
		}
	}
	if _, err := op.CreditFloat(ctx, company.ID, "bank-transfer-0001", 250_000_00); err != nil {
		return shop{}, err
	}

	caller := ticketing.TrustedCaller(company.ID, ticketing.GrantEventManage, ticketing.GrantInventoryManage)
	event, err := svc.CreateEvent(ctx, caller, "highlife-2030", ticketing.CreateEventParams{
		Title: "Highlife by the Lagoon", Date: "2030-12-24", StartsAt: "19:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
		Venue: "Freedom Park", ImageURL: "https://images.example/highlife.jpg", Status: ticketing.EventPublished,
	})
	if err != nil {
		return shop{}, err
	}
	_, err = svc.CreateInventory(ctx, caller, event.ID, "highlife-2030-vip", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP seat", UnitPrice: 15_000_00, Currency: money.Currency, Quantity: 200,
		Status: ticketing.InventoryAvailable,
	})
	return shop{companyID: company.ID, eventID: event.ID}, err
}

// findOrCreate searches the companies whose names begin alike before it creates one. A host that has its own table
// keeps the id there.
func findOrCreate(ctx context.Context, op ticketing.Operator) (ticketing.Company, error) {
	filter := ticketing.CompanyFilter{Prefix: companyName}
	for {
		companies, err := op.ListCompanies(ctx, filter)
		if err != nil {
			return ticketing.Company{}, err
		}
		for _, company := range companies.Items {
			if company.Name == companyName {
				return company, nil
			}
		}
		if !companies.HasMore {
			return op.CreateCompany(ctx, companyName)
		}
		filter.Cursor = companies.NextCursor
	}
}
