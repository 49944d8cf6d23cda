package main

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// demoShown is how many of the newest orders the page of a demo shows.
const demoShown = 5

// hiddenKey stands for the API key on pages that are read from another machine.
const hiddenKey = "YOUR_API_KEY"

// demoHome is what the page at "/" needs to show a demo.
type demoHome struct {
	svc       *ticketing.Service
	baseURL   string
	authority string // of the certificate; empty: none was made
	shop      string // its address; empty: there is none
	set       stage
}

// homeDemo is what the page shows of a demo.
type homeDemo struct {
	Company, CompanyID string
	Event              ticketing.Event
	Price              string
	Sold, Of           int64
	Orders             []homeOrder // the newest
	Shop               string
	HidesKey           bool
	Quote, Checkout    string // the calls to copy
}

// homeOrder is a row of the orders. It names no buyer, since the page needs no credential.
type homeOrder struct {
	ID, Gross, Status string
	Tickets           int
	At                time.Time
}

// show reads what was sold. The calls contain the API key only for a reader on this machine.
func (d *demoHome) show(ctx context.Context, local bool) (*homeDemo, error) {
	caller := ticketing.TrustedCaller(d.set.companyID, ticketing.AllGrants()...)
	event, err := d.svc.GetEvent(ctx, caller, d.set.eventID)
	if err != nil {
		return nil, err
	}
	stock, err := d.svc.CountStock(ctx, caller, []uuid.UUID{d.set.eventID})
	if err != nil {
		return nil, err
	}
	orders, err := d.svc.ListOrders(ctx, caller, ticketing.OrderFilter{
		PageParams: ticketing.PageParams{Limit: demoShown}, EventID: d.set.eventID,
	})
	if err != nil {
		return nil, err
	}
	key := d.set.key
	if !local {
		key = hiddenKey
	}
	shown := &homeDemo{
		Company: demoCompany, CompanyID: d.set.companyID.String(), Event: event, Price: demoPrice.String(), Shop: d.shop,
		HidesKey: !local, Sold: stock[0].Sold, Of: stock[0].Total,
		Quote: curl(d.authority, d.baseURL+"/pricing/quote", key, "", demoQuote(d.set.eventID)),
		Checkout: curl(d.authority, d.baseURL+"/checkouts", key, "cart-"+uuid.NewString(),
			demoCheckout(d.set.eventID)),
	}
	for _, order := range orders.Items {
		shown.Orders = append(shown.Orders, homeOrder{
			ID: order.ID.String(), Tickets: len(order.Lines), Gross: order.Gross.String(), Status: string(order.Status),
			At: order.ConfirmedAt.UTC(),
		})
	}
	return shown, nil
}
