package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// brokenHooks returns stores that break what webhooks rely on.
func brokenHooks() []broken {
	writes := func(name, fails string, tx func(driver.Tx) driver.Tx) broken {
		return broken{name, fails, writing(tx)}
	}
	reads := func(name, fails string, tx func(driver.ReadTx) driver.ReadTx) broken {
		return broken{name, fails, reading(tx)}
	}
	return []broken{
		writes(
			"claims without a lease", "deliveries/a claim keeps others away until it runs out",
			func(tx driver.Tx) driver.Tx { return unclaimed{tx} },
		),
		writes("claims for ever", "deliveries/a claim keeps others away until it runs out", func(tx driver.Tx) driver.Tx {
			return claimedForEver{tx}
		}),
		writes("claims before the time", "deliveries/the longest due are claimed", func(tx driver.Tx) driver.Tx {
			return hastyClaims{tx}
		}),
		writes("answers a claim in any order", "deliveries/the longest due are claimed", func(tx driver.Tx) driver.Tx {
			return backwards{tx}
		}),
		{"claims what another has claimed", "deliveries/a delivery is claimed once", claimsTwice},
		writes("locks what is being cancelled", "deliveries/those that are pending are locked", func(tx driver.Tx) driver.Tx {
			return cancelsTwice{tx}
		}),
		writes("loses the last attempts", "deliveries/a change is kept", func(tx driver.Tx) driver.Tx {
			return attemptless{tx}
		}),
		writes("removes what waits", "deliveries/old ones that are final are removed", func(tx driver.Tx) driver.Tx {
			return sweeping{tx}
		}),
		reads(
			"lists deliveries at the end of the window", "deliveries/list is in order and in pages under every filter",
			func(tx driver.ReadTx) driver.ReadTx { return inclusive{tx} },
		),
		reads(
			"lists deliveries of every type", "deliveries/list is in order and in pages under every filter",
			func(tx driver.ReadTx) driver.ReadTx { return anyType{tx} },
		),
		reads(
			"counts a page", "deliveries/list is in order and in pages under every filter",
			func(tx driver.ReadTx) driver.ReadTx { return countsPage{tx} },
		),
		reads(
			"counts on after the most", "deliveries/list is in order and in pages under every filter",
			func(tx driver.ReadTx) driver.ReadTx { return countsOn{tx} },
		),
		reads(
			"lists the deliveries of every message", "deliveries/those of a message are listed",
			func(tx driver.ReadTx) driver.ReadTx { return anyMessage{tx} },
		),
		reads(
			"takes what was made last for the last success", "deliveries/show the health of endpoints",
			func(tx driver.ReadTx) driver.ReadTx { return lastMade{tx} },
		),
		reads(
			"counts failures of all times", "deliveries/show the health of endpoints",
			func(tx driver.ReadTx) driver.ReadTx { return unforgiving{tx} },
		),
		reads(
			"counts without an end", "deliveries/show the health of endpoints",
			func(tx driver.ReadTx) driver.ReadTx { return endless{tx} },
		),
		reads("needs no secret", "deliveries/a secret is needed while one is pending", func(tx driver.ReadTx) driver.ReadTx {
			return needless{tx}
		}),
		writes("dispatches without marking", "facts/go from dispatch to publication", func(tx driver.Tx) driver.Tx {
			return undispatching{tx}
		}),
		writes("publishes what nobody is to get", "facts/go from dispatch to publication", func(tx driver.Tx) driver.Tx {
			return talkative{tx}
		}),
		{"takes what another has taken", "facts/are taken by one at a time", takesTwice},
		writes("removes facts that wait", "facts/old ones that are handled are removed", func(tx driver.Tx) driver.Tx {
			return handling{tx}
		}),
		writes("forgets how many endpoints there were", "facts/round trip", func(tx driver.Tx) driver.Tx {
			return endpointless{tx}
		}),
		writes(
			"looks for messages at another time", "messages/those about an order are forgotten",
			func(tx driver.Tx) driver.Tx { return remembering{tx} },
		),
		writes(
			"removes messages that are needed", "messages/old ones that no delivery is left of are removed",
			func(tx driver.Tx) driver.Tx { return careless{tx} },
		),
		writes(
			"keeps the secrets of an endpoint", "webhook endpoints/one that is removed takes its secrets along",
			func(tx driver.Tx) driver.Tx { return orphaning{tx} },
		),
		reads(
			"lists secrets of the key", "webhook secrets/those of another key are listed",
			func(tx driver.ReadTx) driver.ReadTx { return anySigner{tx} },
		),
		reads(
			"lists secrets in use", "webhook secrets/those that are neither active nor pending are listed",
			func(tx driver.ReadTx) driver.ReadTx { return retiresAll{tx} },
		),
		reads(
			"answers with work of one kind", "work/is due by kind, company and endpoint, in pages",
			func(tx driver.ReadTx) driver.ReadTx { return oneKind{tx} },
		),
		reads(
			"begins a page of work with the last", "work/is due by kind, company and endpoint, in pages",
			func(tx driver.ReadTx) driver.ReadTx { return workingTwice{tx} },
		),
		reads(
			"counts beyond the limit", "work/what waits is counted",
			func(tx driver.ReadTx) driver.ReadTx { return unlimited{tx} },
		),
		reads(
			"loses the oldest beyond the limit", "work/what waits is counted",
			func(tx driver.ReadTx) driver.ReadTx { return shortsighted{tx} },
		),
		reads(
			"takes claimed deliveries for due", "work/a delivery is due when its time has come",
			func(tx driver.ReadTx) driver.ReadTx { return impatient{tx} },
		),
		reads(
			"takes the youngest work for the oldest", "work/is due by kind, company and endpoint, in pages",
			func(tx driver.ReadTx) driver.ReadTx { return youngest{tx} },
		),
	}
}

type unclaimed struct{ driver.Tx }

func (u unclaimed) ClaimDeliveries(ctx context.Context, claim driver.DeliveryClaim) ([]driver.Delivery, error) {
	claim.Until = claim.At
	return u.Tx.ClaimDeliveries(ctx, claim)
}

type claimedForEver struct{ driver.Tx }

func (c claimedForEver) ClaimDeliveries(
	ctx context.Context, claim driver.DeliveryClaim,
) ([]driver.Delivery, error) {
	until := claim.Until
	claim.Until = until.AddDate(100, 0, 0)
	claimed, err := c.Tx.ClaimDeliveries(ctx, claim)
	for i := range claimed {
		claimed[i].DueAt, claimed[i].LeasedUntil = until, until
	}
	return claimed, err
}

type hastyClaims struct{ driver.Tx }

func (h hastyClaims) ClaimDeliveries(
	ctx context.Context, claim driver.DeliveryClaim,
) ([]driver.Delivery, error) {
	claim.At = claim.At.Add(time.Hour)
	return h.Tx.ClaimDeliveries(ctx, claim)
}

type backwards struct{ driver.Tx }

func (b backwards) ClaimDeliveries(ctx context.Context, claim driver.DeliveryClaim) ([]driver.Delivery, error) {
	claimed, err := b.Tx.ClaimDeliveries(ctx, claim)
	slices.Reverse(claimed)
	return claimed, err
}

// claimingTwice also returns a delivery that the first claim returned.
type claimingTwice struct {
	driver.Tx

	first *[]driver.Delivery
}

func claimsTwice(s driver.Store) driver.Store {
	first := new([]driver.Delivery)
	return writing(func(tx driver.Tx) driver.Tx { return claimingTwice{tx, first} })(s)
}

func (c claimingTwice) ClaimDeliveries(
	ctx context.Context, claim driver.DeliveryClaim,
) ([]driver.Delivery, error) {
	claimed, err := c.Tx.ClaimDeliveries(ctx, claim)
	if *c.first == nil {
		*c.first = slices.Clone(claimed)
		return claimed, err
	}
	if len(claimed) > 0 {
		claimed[0] = (*c.first)[0]
	}
	return claimed, err
}

// cancelsTwice also locks deliveries that are being cancelled.
type cancelsTwice struct{ driver.Tx }

func (c cancelsTwice) LockPending(
	ctx context.Context, endpoint driver.WebhookEndpointRef, limit int,
) ([]driver.Delivery, error) {
	return c.ListDeliveries(ctx, driver.DeliveryQuery{
		CompanyID: endpoint.CompanyID, Endpoint: endpoint.Number, Status: driver.DeliveryPending, Limit: limit,
	})
}

type attemptless struct{ driver.Tx }

func (a attemptless) UpdateDeliveries(ctx context.Context, deliveries []driver.Delivery) error {
	deliveries = slices.Clone(deliveries)
	for i := range deliveries {
		deliveries[i].Attempts = deliveries[i].Attempts[:min(2, len(deliveries[i].Attempts))]
	}
	return a.Tx.UpdateDeliveries(ctx, deliveries)
}

// sweeping treats pending deliveries as final.
type sweeping struct{ driver.Tx }

func (s sweeping) PruneDeliveries(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error) {
	waiting, err := s.ListDeliveries(ctx, driver.DeliveryQuery{
		CompanyID: companyID, Status: driver.DeliveryPending, Until: before, Limit: limit,
	})
	if err != nil {
		return 0, err
	}
	for i := range waiting {
		waiting[i].Status, waiting[i].FinishedAt = driver.DeliveryFailed, before
	}
	if err := s.UpdateDeliveries(ctx, waiting); err != nil {
		return 0, err
	}
	return s.Tx.PruneDeliveries(ctx, companyID, before, limit)
}

type inclusive struct{ driver.ReadTx }

func (i inclusive) ListDeliveries(ctx context.Context, query driver.DeliveryQuery) ([]driver.Delivery, error) {
	if !query.Until.IsZero() {
		query.Until = query.Until.Add(time.Millisecond)
	}
	return i.ReadTx.ListDeliveries(ctx, query)
}

type anyType struct{ driver.ReadTx }

func (a anyType) ListDeliveries(ctx context.Context, query driver.DeliveryQuery) ([]driver.Delivery, error) {
	query.Type = ""
	return a.ReadTx.ListDeliveries(ctx, query)
}

type anyMessage struct{ driver.ReadTx }

func (a anyMessage) ListMessageDeliveries(
	ctx context.Context, companyID, _ uuid.UUID, limit int,
) ([]driver.Delivery, error) {
	return a.ListDeliveries(ctx, driver.DeliveryQuery{CompanyID: companyID, Limit: limit})
}

type lastMade struct{ driver.ReadTx }

func (l lastMade) EndpointHealth(
	ctx context.Context, query driver.EndpointHealthQuery,
) ([]driver.EndpointHealth, error) {
	health, err := l.ReadTx.EndpointHealth(ctx, query)
	for i := range health {
		last, err := l.ListDeliveries(ctx, driver.DeliveryQuery{
			CompanyID: health[i].CompanyID, Endpoint: health[i].Endpoint, Status: driver.DeliverySucceeded, Limit: 1,
		})
		if err != nil {
			return nil, err
		}
		for _, delivery := range last {
			health[i].LastSuccessAt = delivery.FinishedAt
		}
	}
	return health, err
}

type unforgiving struct{ driver.ReadTx }

func (u unforgiving) EndpointHealth(
	ctx context.Context, query driver.EndpointHealthQuery,
) ([]driver.EndpointHealth, error) {
	query.Since = time.Time{}
	return u.ReadTx.EndpointHealth(ctx, query)
}

type endless struct{ driver.ReadTx }

func (e endless) EndpointHealth(
	ctx context.Context, query driver.EndpointHealthQuery,
) ([]driver.EndpointHealth, error) {
	query.Most = 1000
	return e.ReadTx.EndpointHealth(ctx, query)
}

type countsPage struct{ driver.ReadTx }

func (c countsPage) CountDeliveries(ctx context.Context, query driver.DeliveryQuery, _ int) (int, error) {
	page, err := c.ListDeliveries(ctx, query)
	return len(page), err
}

type countsOn struct{ driver.ReadTx }

func (c countsOn) CountDeliveries(ctx context.Context, query driver.DeliveryQuery, _ int) (int, error) {
	return c.ReadTx.CountDeliveries(ctx, query, 0)
}

type needless struct{ driver.ReadTx }

func (needless) DeliversUnder(context.Context, driver.WebhookSecretRef) (bool, error) {
	return false, nil
}

type undispatching struct{ driver.Tx }

func (u undispatching) DispatchFacts(ctx context.Context, facts []driver.Fact, _ bool) error {
	for _, fact := range facts {
		position := driver.Position{At: fact.At.Add(-time.Millisecond)}
		known, err := u.ListFacts(ctx, fact.CompanyID, position, 100)
		if err != nil {
			return err
		}
		if !slices.Contains(known, fact) {
			return driver.ErrNotFound
		}
	}
	return nil
}

type talkative struct{ driver.Tx }

func (t talkative) DispatchFacts(ctx context.Context, facts []driver.Fact, _ bool) error {
	return t.Tx.DispatchFacts(ctx, facts, false)
}

// takingTwice also returns a fact that the first call took.
type takingTwice struct {
	driver.Tx

	first *[]driver.Fact
}

func takesTwice(s driver.Store) driver.Store {
	first := new([]driver.Fact)
	return writing(func(tx driver.Tx) driver.Tx { return takingTwice{tx, first} })(s)
}

func (t takingTwice) TakeFacts(ctx context.Context, companyID uuid.UUID, limit int) ([]driver.Fact, error) {
	taken, err := t.Tx.TakeFacts(ctx, companyID, limit)
	if *t.first == nil {
		*t.first = slices.Clone(taken)
		return taken, err
	}
	if len(taken) > 0 {
		return append(taken, (*t.first)[0]), err
	}
	return taken, err
}

// handling marks every fact as handled before it removes old ones.
type handling struct{ driver.Tx }

func (h handling) PruneFacts(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error) {
	facts, err := h.ListFacts(ctx, companyID, driver.Position{}, 100)
	if err != nil {
		return 0, err
	}
	if err := h.DispatchFacts(ctx, facts, true); err != nil {
		return 0, err
	}
	return h.Tx.PruneFacts(ctx, companyID, before, limit)
}

type endpointless struct{ driver.Tx }

func (e endpointless) AppendFacts(ctx context.Context, facts []driver.Fact) error {
	facts = slices.Clone(facts)
	for i := range facts {
		facts[i].Endpoints = 0
	}
	return e.Tx.AppendFacts(ctx, facts)
}

// remembering looks for messages at the wrong time.
type remembering struct{ driver.Tx }

func (r remembering) ForgetMessages(ctx context.Context, orders []driver.Order) error {
	orders = slices.Clone(orders)
	for i := range orders {
		orders[i].ConfirmedAt = orders[i].ConfirmedAt.Add(time.Second)
	}
	return r.Tx.ForgetMessages(ctx, orders)
}

// careless removes the deliveries of messages before it removes the messages.
type careless struct{ driver.Tx }

func (c careless) PruneMessages(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error) {
	all, err := c.ListDeliveries(ctx, driver.DeliveryQuery{CompanyID: companyID, Limit: 100})
	if err != nil {
		return 0, err
	}
	for i := range all {
		all[i].Status, all[i].FinishedAt = driver.DeliveryFailed, before
	}
	if err := c.UpdateDeliveries(ctx, all); err != nil {
		return 0, err
	}
	if _, err := c.PruneDeliveries(ctx, companyID, before.AddDate(1, 0, 0), 100); err != nil {
		return 0, err
	}
	return c.Tx.PruneMessages(ctx, companyID, before, limit)
}

// orphaning keeps the secrets of an endpoint that is removed.
type orphaning struct{ driver.Tx }

func (o orphaning) DeleteWebhookEndpoint(ctx context.Context, ref driver.WebhookEndpointRef) error {
	secrets, err := o.StaleWebhookSecrets(ctx, driver.StaleWebhookSecretQuery{Limit: 100})
	if err != nil {
		return err
	}
	if err := o.Tx.DeleteWebhookEndpoint(ctx, ref); err != nil {
		return err
	}
	for _, secret := range secrets {
		if secret.CompanyID == ref.CompanyID && secret.Endpoint == ref.Number {
			if err := o.AppendWebhookSecret(ctx, secret); err != nil {
				return err
			}
		}
	}
	return nil
}

type anySigner struct{ driver.ReadTx }

func (a anySigner) StaleWebhookSecrets(
	ctx context.Context, query driver.StaleWebhookSecretQuery,
) ([]driver.WebhookSecret, error) {
	query.SecretName = ""
	return a.ReadTx.StaleWebhookSecrets(ctx, query)
}

type retiresAll struct{ driver.ReadTx }

func (r retiresAll) RetiredWebhookSecrets(
	ctx context.Context, after driver.WebhookSecretRef, limit int,
) ([]driver.WebhookSecretRef, error) {
	secrets, err := r.StaleWebhookSecrets(ctx, driver.StaleWebhookSecretQuery{After: after, Limit: limit})
	refs := make([]driver.WebhookSecretRef, len(secrets))
	for i, s := range secrets {
		refs[i] = driver.WebhookSecretRef{CompanyID: s.CompanyID, Endpoint: s.Endpoint, Version: s.Version}
	}
	return refs, err
}

type oneKind struct{ driver.ReadTx }

func (o oneKind) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	query.After = query.After[:min(1, len(query.After))]
	return o.ReadTx.DueWork(ctx, query)
}

// workingTwice begins a page with the company of the last entry, whatever its endpoint.
type workingTwice struct{ driver.ReadTx }

func (w workingTwice) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	query.After = slices.Clone(query.After)
	for i := range query.After {
		query.After[i].Endpoint = 0
	}
	return w.ReadTx.DueWork(ctx, query)
}

// unlimited counts all that waits, whatever the limit.
type unlimited struct{ driver.ReadTx }

func (u unlimited) Waiting(ctx context.Context, kinds []driver.WorkKind, _ int) ([]driver.Waiting, error) {
	return u.ReadTx.(driver.WaitingReader).Waiting(ctx, kinds, 1000)
}

// shortsighted returns another time where it does not count all.
type shortsighted struct{ driver.ReadTx }

func (s shortsighted) Waiting(ctx context.Context, kinds []driver.WorkKind, limit int) ([]driver.Waiting, error) {
	waiting, err := s.ReadTx.(driver.WaitingReader).Waiting(ctx, kinds, limit)
	for i := range waiting {
		if waiting[i].Items == limit {
			waiting[i].Since = waiting[i].Since.Add(time.Second)
		}
	}
	return waiting, err
}

type impatient struct{ driver.ReadTx }

func (i impatient) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	query.At = query.At.Add(time.Hour)
	return i.ReadTx.DueWork(ctx, query)
}

// youngest returns the time of the query instead of the time since which the oldest work waits.
type youngest struct{ driver.ReadTx }

func (y youngest) DueWork(ctx context.Context, query driver.WorkQuery) ([]driver.DueWork, error) {
	due, err := y.ReadTx.DueWork(ctx, query)
	for i := range due {
		due[i].Since = query.At
	}
	return due, err
}
