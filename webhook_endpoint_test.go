package ticketing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

const hookURL = "https://hooks.adire.ng/tickets?shop=1"

func hookParams() ticketing.WebhookEndpointParams {
	return ticketing.WebhookEndpointParams{
		URL: hookURL, Events: []ticketing.FactType{ticketing.FactTicketValidated, ticketing.FactOrderCreated},
	}
}

// hook registers an endpoint for a company.
func (e *env) hook(tb testing.TB, companyID uuid.UUID) ticketing.IssuedWebhookEndpoint {
	tb.Helper()
	made, err := e.staff.CreateWebhookEndpoint(tb.Context(), companyID, hookParams())
	is.New(tb).NoErr(err)
	return made
}

// endpointRecord returns an endpoint as it is stored.
func (e *env) endpointRecord(tb testing.TB, id uuid.UUID) (record driver.WebhookEndpoint) {
	tb.Helper()
	is.New(tb).NoErr(e.store.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
		record, err = tx.FindWebhookEndpoint(ctx, id)
		return err
	}))
	return record
}

// delivered stores deliveries to an endpoint as the delivery pipeline creates them, each of an event of its own, a
// second apart. The function change adapts each of them.
func (e *env) delivered(
	tb testing.TB, endpointID uuid.UUID, number int, change func(n int, delivery *driver.Delivery),
) []driver.Delivery {
	tb.Helper()
	endpoint := e.endpointRecord(tb, endpointID)
	made := make([]driver.Delivery, number)
	messages := make([]driver.Message, number)
	for n := range made {
		at := e.clock.now().Add(time.Duration(n) * time.Second)
		messages[n] = driver.Message{
			CompanyID: endpoint.CompanyID, At: at, ID: uuid.New(), Type: ticketing.FactOrderCreated, Subject: uuid.New(),
			Body: fmt.Sprintf(`{"n":%d}`, n),
		}
		made[n] = driver.Delivery{
			CompanyID: endpoint.CompanyID, CreatedAt: at, ID: uuid.New(), Endpoint: endpoint.Number, EndpointID: endpointID,
			MessageAt: at, MessageID: messages[n].ID, Type: messages[n].Type, URL: endpoint.URL,
			SecretVersion: endpoint.ActiveSecret, Status: ticketing.DeliveryPending, DueAt: at,
		}
		if change != nil {
			change(n, &made[n])
		}
		messages[n].Type = made[n].Type
		if made[n].Status != ticketing.DeliveryPending {
			made[n].FinishedAt = at
		}
	}
	e.write(tb, endpoint.CompanyID, func(ctx context.Context, tx driver.Tx) error {
		if err := tx.AppendMessages(ctx, messages); err != nil {
			return err
		}
		return tx.AppendDeliveries(ctx, made)
	})
	return made
}

func (e *env) deliveryStatus(tb testing.TB, id uuid.UUID) ticketing.DeliveryStatus {
	tb.Helper()
	found, err := e.staff.GetDelivery(tb.Context(), id)
	is.New(tb).NoErr(err)
	return found.Status
}

// actsOf returns the audit entries of one action.
func (e *env) actsOf(t *testing.T, companyID uuid.UUID, action string) []ticketing.AuditEntry {
	t.Helper()
	return slices.DeleteFunc(e.acts(t, companyID), func(act ticketing.AuditEntry) bool { return act.Action != action })
}

// TestWebhookEndpointOnTheWire checks Section 5.2: a secret "starts with svc_whsec_, is shown once". It also checks the
// members of an endpoint in cli.md.
func TestWebhookEndpointOnTheWire(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t) // A verification is not required.
		made := e.hook(t, company)
		is.True(strings.HasPrefix(string(made.Secret), "svc_whsec_"))
		is.Equal(len(made.Secret), len("svc_whsec_")+43)
		is.True(made.Secret != e.hook(t, other).Secret)
		shown := fmt.Sprintf(`"id":"%s","companyId":"%s","url":"%s","events":["order.created","ticket.validated"],`+
			`"status":"ENABLED","pendingSecret":false,"createdAt":"2026-11-21T09:30:00.000Z",`+
			`"updatedAt":"2026-11-21T09:30:00.000Z"`, made.ID, company, hookURL)
		is.Equal(show(t, made), fmt.Sprintf(`{%s,"secret":"%s"}`, shown, string(made.Secret)))

		found, err := e.staff.GetWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		is.Equal(show(t, found), "{"+shown+"}")
		listed, err := e.staff.ListWebhookEndpoints(t.Context(), company)
		is.NoErr(err)
		is.Equal(listed, []ticketing.WebhookEndpoint{found})
		none, err := e.staff.ListWebhookEndpoints(t.Context(), e.unverified(t))
		is.NoErr(err)
		is.Equal(show(t, none), "[]")
	})
}

func TestWebhookEndpointsAreCheckedWhenTheyAreRegistered(t *testing.T) {
	t.Parallel()
	const event = "must be order.created, commission.accrued, balance.low or ticket.validated"
	order := []ticketing.FactType{ticketing.FactOrderCreated}
	long := "https://hooks.adire.ng/" + strings.Repeat("a", 2048)
	tests := []struct {
		name   string
		url    string
		events []ticketing.FactType
		want   string // the beginning
	}{
		{"any port", "https://hooks.adire.ng:8443/a", order, ""},
		{"all types", hookURL, ticketing.WebhookEventTypes(), ""},
		{"2048 characters", long[:2048], order, ""},
		{"2049 characters", long[:2049], order, "url: must be at most 2048 characters"},
		{"no URL", "", order, "url: must "},
		{"http", "http://hooks.adire.ng/a", order, "url: must begin with https://"},
		{"credentials", "https://ada:pw@hooks.adire.ng/a", order, "url: must not contain credentials"},
		{"a fragment", "https://hooks.adire.ng/a#b", order, "url: must "},
		{"localhost", "https://localhost/a", order, "url: must "},
		{"an address", "https://93.184.216.34/a", order, "url: must "},
		{"a short address", "https://127.1/a", order, "url: must "},
		{"a local name", "https://printer.local/a", order, "url: must "},
		{"a trailing dot", "https://hooks.adire.ng./a", order, "url: must "},
		{"no types", hookURL, nil, "events: must have at least one event type"},
		{"the ticket mail", hookURL, []ticketing.FactType{ticketing.FactTicketEmail}, "events[0]: " + event},
		{"a sale", hookURL, []ticketing.FactType{ticketing.FactOrderCreated, driver.FactSale}, "events[1]: " + event},
		{"a sample", hookURL, []ticketing.FactType{"sample.order.created"}, "events[0]: " + event},
		{"upper case", hookURL, []ticketing.FactType{"ORDER.CREATED"}, "events[0]: " + event},
		{
			"twice", hookURL,
			[]ticketing.FactType{ticketing.FactBalanceLow, ticketing.FactBalanceLow},
			"events[1]: must not repeat an event type",
		},
		{
			"too many to tell", hookURL, make([]ticketing.FactType, 100),
			strings.Join([]string{
				"events[0]: " + event, "events[1]: " + event, "events[2]: " + event, "events[3]: " + event, "events[4]: " + event,
			}, "; "),
		},
		{"both", "ftp://a", nil, "url: must begin with https://; events: must have at least one event type"},
	}
	onEnvs(t, func(t *testing.T, e *env) {
		company := e.unverified(t)
		made := e.hook(t, company)
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				created, err := e.staff.CreateWebhookEndpoint(t.Context(), company,
					ticketing.WebhookEndpointParams{URL: test.url, Events: test.events})
				is.True(strings.HasPrefix(said(err), test.want) && (test.want == "") == (err == nil)) // the message
				is.True(!strings.Contains(said(err), "pw"))
				if err == nil {
					is.Equal(created.URL, test.url)
					is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), created.ID))
				}
				events := test.events
				if events == nil {
					events = []ticketing.FactType{} // nil would change nothing
				}
				before, err := e.staff.GetWebhookEndpoint(t.Context(), made.ID)
				is.NoErr(err)
				updated, err := e.staff.UpdateWebhookEndpoint(t.Context(), made.ID,
					ticketing.WebhookEndpointUpdate{URL: &test.url, Events: events})
				is.True(strings.HasPrefix(said(err), test.want) && (test.want == "") == (err == nil))
				after, failed := e.staff.GetWebhookEndpoint(t.Context(), made.ID)
				is.NoErr(failed)
				if err == nil {
					is.Equal(after, updated)
				} else {
					is.Equal(after, before)
				}
			})
		}
	})
}

// TestPrivateWebhooksAreForDevelopment checks that private URLs are accepted only by a service that is configured to
// allow them.
func TestPrivateWebhooksAreForDevelopment(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		params := hookParams()
		params.URL = "https://127.0.0.1:8443/a"
		_, err := e.staff.CreateWebhookEndpoint(t.Context(), company, params)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		svc, err := ticketing.New(e.store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('a')}, Clock: e.clock.now, AllowPrivateWebhooks: true,
		})
		is.NoErr(err)
		made, err := svc.As(ticketing.Staff("test")).CreateWebhookEndpoint(t.Context(), company, params)
		is.NoErr(err)
		is.Equal(made.URL, params.URL)
		params.URL = "http://127.0.0.1:8443/a"
		_, err = svc.As(ticketing.Staff("test")).CreateWebhookEndpoint(t.Context(), company, params)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
	})
}

// TestTenWebhookEndpoints checks Section 6.2: "At most 10 endpoints per company". Disabled endpoints count, and
// deleting one makes room.
func TestTenWebhookEndpoints(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company, other := e.unverified(t), e.unverified(t)
		var made []uuid.UUID
		for range ticketing.MaxWebhookEndpoints {
			made = append(made, e.hook(t, company).ID)
		}
		refused := func() {
			t.Helper()
			_, err := e.staff.CreateWebhookEndpoint(t.Context(), company, hookParams())
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), "A company has at most 10 webhook endpoints, disabled ones counted. Delete one first.")
		}
		refused()
		_, err := e.staff.DisableWebhookEndpoint(t.Context(), made[3])
		is.NoErr(err)
		refused()
		e.hook(t, other)
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), made[3]))
		eleventh := e.hook(t, company)
		is.Equal(e.endpointRecord(t, eleventh.ID).Number, int64(11)) // No number is used again.
		refused()
		listed, err := e.staff.ListWebhookEndpoints(t.Context(), company)
		is.NoErr(err)
		ids := make([]uuid.UUID, len(listed))
		for i, endpoint := range listed {
			ids[i] = endpoint.ID
		}
		is.Equal(ids, append(slices.Delete(slices.Clone(made), 3, 4), eleventh.ID)) // in the order of registration
	})
}

// TestFactsRecordWhichEndpointsThereWere checks that an endpoint gets the events after its registration, whatever the
// clocks show. For that, each fact has the number of endpoints that had been registered before it.
func TestFactsRecordWhichEndpointsThereWere(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 50)
		var want []int64
		sold := func(ever int64) {
			t.Helper()
			order := shop.Sell(t, event.ID, "VIP", 1)
			shop.Scan(t, event.ID, order.Lines[0].AdmissionID)
			want = append(want, ever, ever)
		}
		sold(0)
		first, err := shop.Staff.CreateWebhookEndpoint(t.Context(), shop.Company.ID, hookParams())
		is.NoErr(err)
		shop.Clock.Advance(-time.Second)
		sold(1)
		_, err = shop.Staff.DisableWebhookEndpoint(t.Context(), first.ID)
		is.NoErr(err)
		sold(1)
		is.NoErr(shop.Staff.DeleteWebhookEndpoint(t.Context(), first.ID))
		sold(1)
		_, err = shop.Staff.CreateWebhookEndpoint(t.Context(), shop.Company.ID, hookParams())
		is.NoErr(err)
		sold(2)
		var got []int64
		is.NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			facts, err := tx.ListFacts(ctx, shop.Company.ID, driver.Position{}, 100)
			got = nil
			for _, fact := range facts {
				got = append(got, fact.Endpoints)
			}
			return err
		}))
		slices.Sort(got)
		is.Equal(got, want)
	})
}

// TestChangingAnEndpointLeavesItsDeliveries checks Section 6: "Changing an endpoint's subscriptions affects only future
// dispatch", and 6.5: automatic attempts keep the URL and the secret's version.
func TestChangingAnEndpointLeavesItsDeliveries(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		pending := e.delivered(t, made.ID, 1, nil)[0]
		before := e.acts(t, company)
		e.clock.advance(time.Hour)

		// An empty update and one to the same values change nothing.
		for _, update := range []ticketing.WebhookEndpointUpdate{{}, {
			URL: of(hookURL), Events: []ticketing.FactType{ticketing.FactOrderCreated, ticketing.FactTicketValidated},
		}} {
			same, err := e.staff.UpdateWebhookEndpoint(t.Context(), made.ID, update)
			is.NoErr(err)
			is.Equal(same, made.WebhookEndpoint)
		}
		is.Equal(e.acts(t, company), before)

		updated, err := e.staff.UpdateWebhookEndpoint(t.Context(), made.ID, ticketing.WebhookEndpointUpdate{
			URL: of("https://other.adire.ng/"),
		})
		is.NoErr(err)
		is.Equal(updated.URL, "https://other.adire.ng/")
		is.Equal(updated.Events, made.Events)
		is.Equal(updated.UpdatedAt.Time, opening.Add(time.Hour))
		is.Equal(updated.CreatedAt, made.CreatedAt)
		updated, err = e.staff.UpdateWebhookEndpoint(t.Context(), made.ID, ticketing.WebhookEndpointUpdate{
			Events: []ticketing.FactType{ticketing.FactBalanceLow, ticketing.FactCommissionAccrued},
		})
		is.NoErr(err)
		is.Equal(updated.URL, "https://other.adire.ng/")
		is.Equal(updated.Events, []ticketing.FactType{ticketing.FactCommissionAccrued, ticketing.FactBalanceLow})
		_, err = e.staff.PrepareWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		_, err = e.staff.ActivateWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			kept, err := tx.FindDelivery(ctx, pending.ID)
			is.Equal(show(t, kept), show(t, pending))
			return err
		}))
		acts := e.actsOf(t, company, "webhook.update")
		is.Equal(len(acts), 2)
		changes := []string{string(acts[0].Changes), string(acts[1].Changes)}
		slices.Sort(changes)
		is.Equal(changes[1], fmt.Sprintf(`{"url":{"before":"%s","after":"https://other.adire.ng/"}}`, hookURL))
		is.Equal(acts[0].Subject, "webhook "+made.ID.String())
	})
}

// TestDisablingCancelsWhatIsPending checks Section 3.5: "Disabling an endpoint cancels its pending work". An attempt in
// flight may finish, and final deliveries stay.
func TestDisablingCancelsWhatIsPending(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		for _, act := range []struct {
			name string
			do   func(ctx context.Context, id uuid.UUID) error
		}{
			{"disable", func(ctx context.Context, id uuid.UUID) error {
				disabled, err := e.staff.DisableWebhookEndpoint(ctx, id)
				if err == nil && disabled.Status != ticketing.WebhookDisabled {
					err = fmt.Errorf("it is %s", disabled.Status)
				}
				return err
			}},
			{"delete", e.staff.DeleteWebhookEndpoint},
		} {
			t.Run(act.name, func(t *testing.T) {
				is := is.New(t)
				company := e.unverified(t)
				made, neighbour := e.hook(t, company), e.hook(t, company)
				const number = 1100
				all := e.delivered(t, made.ID, number, func(n int, delivery *driver.Delivery) {
					switch n {
					case 0:
						delivery.Status = ticketing.DeliverySucceeded
					case 1:
						delivery.Status = ticketing.DeliveryFailed
					case 2: // in flight
						delivery.LeasedUntil = e.clock.now().Add(time.Hour)
						delivery.DueAt = delivery.LeasedUntil
					case 3: // the process that held the lease has ended
						delivery.LeasedUntil = e.clock.now().Add(-time.Hour)
					}
				})
				others := e.delivered(t, neighbour.ID, 1, nil)
				is.NoErr(act.do(t.Context(), made.ID))
				is.Equal(e.deliveryStatus(t, all[0].ID), ticketing.DeliverySucceeded)
				is.Equal(e.deliveryStatus(t, all[1].ID), ticketing.DeliveryFailed)
				is.Equal(e.deliveryStatus(t, all[2].ID), ticketing.DeliveryPending)
				is.Equal(e.deliveryStatus(t, all[3].ID), ticketing.DeliveryCancelled)
				is.Equal(e.deliveryStatus(t, others[0].ID), ticketing.DeliveryPending)
				cancelled, err := e.staff.CountDeliveries(t.Context(), company,
					ticketing.DeliveryFilter{Status: ticketing.DeliveryCancelled})
				is.NoErr(err)
				is.Equal(cancelled, number-3)
				is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
					flying, err := tx.FindDelivery(ctx, all[2].ID)
					is.True(flying.Cancelling)
					return err
				}))
			})
		}
	})
}

// TestEnablingStartsOver checks that disabling or enabling again changes nothing and leaves no audit entry. Deliveries
// that an interrupted disabling left pending are cancelled before the endpoint is enabled.
func TestEnablingStartsOver(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		pending := e.delivered(t, made.ID, 1, nil)[0]
		count := len(e.acts(t, company))
		enabled, err := e.staff.EnableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		is.Equal(enabled, made.WebhookEndpoint)
		is.Equal(e.deliveryStatus(t, pending.ID), ticketing.DeliveryPending)
		is.Equal(len(e.acts(t, company)), count)

		first, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		e.clock.advance(time.Second)
		left := e.delivered(t, made.ID, 3, nil)
		again, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		is.Equal(again, first)
		is.Equal(e.deliveryStatus(t, left[2].ID), ticketing.DeliveryCancelled)
		left = e.delivered(t, made.ID, 3, nil)
		e.clock.advance(time.Minute)
		enabled, err = e.staff.EnableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		is.Equal(enabled.Status, ticketing.WebhookEnabled)
		for _, delivery := range left {
			is.Equal(e.deliveryStatus(t, delivery.ID), ticketing.DeliveryCancelled)
		}
		is.Equal(len(e.acts(t, company)), count+2)
		is.Equal(len(e.actsOf(t, company, "webhook.enable")), 1)
		is.Equal(string(e.actsOf(t, company, "webhook.disable")[0].Changes),
			`{"status":{"before":"ENABLED","after":"DISABLED"}}`)
	})
}

func TestADeletedEndpointIsGone(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		_, err := e.staff.PrepareWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		pending := e.delivered(t, made.ID, 2, nil)
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), made.ID))

		_, err = e.staff.GetWebhookEndpoint(t.Context(), made.ID)
		is.Equal(said(err), "The webhook endpoint was not found.")
		_, err = e.staff.EnableWebhookEndpoint(t.Context(), made.ID)
		is.Equal(code(err), ticketing.CodeNotFound)
		is.Equal(code(e.staff.DeleteWebhookEndpoint(t.Context(), made.ID)), ticketing.CodeNotFound)
		is.NoErr(e.store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			kept, err := tx.WebhookSecrets(ctx, []driver.WebhookSecretRef{
				{CompanyID: company, Endpoint: 1, Version: 1}, {CompanyID: company, Endpoint: 1, Version: 2},
			})
			is.Equal(kept, make([]driver.WebhookSecret, 2))
			return err
		}))

		// Its deliveries are still listed, but no longer delivered.
		page, err := e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
		is.NoErr(err)
		is.Equal(len(page.Items), 2)
		is.Equal(page.Items[0].EndpointID, made.ID)
		_, err = e.staff.ListDeliveries(t.Context(), company, ticketing.DeliveryFilter{EndpointID: made.ID},
			ticketing.PageParams{})
		is.Equal(code(err), ticketing.CodeNotFound)
		_, err = e.staff.ReplayDelivery(t.Context(), pending[0].ID)
		is.Equal(said(err), "The webhook endpoint was deleted: its deliveries cannot be replayed.")
		is.Equal(code(err), ticketing.CodeConflict)
		var deleted map[string]any
		is.NoErr(json.Unmarshal(e.actsOf(t, company, "webhook.delete")[0].Changes, &deleted))
		is.Equal(deleted["url"], map[string]any{"before": hookURL, "after": nil})
	})
}

// TestSuspendedCompaniesKeepTheirWebhooks checks that a suspended company's webhooks continue, since they report sales
// that happened.
func TestSuspendedCompaniesKeepTheirWebhooks(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		_, err := e.staff.SuspendCompany(t.Context(), company)
		is.NoErr(err)
		made := e.hook(t, company)
		failed := e.delivered(t, made.ID, 1, func(_ int, delivery *driver.Delivery) {
			delivery.Status = ticketing.DeliveryFailed
		})
		_, err = e.staff.ReplayDelivery(t.Context(), failed[0].ID)
		is.NoErr(err)
		_, err = e.staff.TriggerWebhook(t.Context(), company, ticketing.FactBalanceLow)
		is.NoErr(err)
	})
}
