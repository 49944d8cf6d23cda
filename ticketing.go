// Package ticketing is a prepaid-float ticketing service to embed in a Go server.
//
// A company prepays a FLOAT balance. A checkout spends the full ticket gross from FLOAT, credits the commission to a
// separate EARNINGS balance, allocates admissions, and writes an immutable order, chained ledger rows and outbound
// facts, all in one transaction. At the venue each admission is validated once.
//
// # Where to begin
//
//   - [New] makes a [Service] over a store. Package [github.com/floatgate/ticketing/store] keeps data in SQLite or
//     PostgreSQL, package [github.com/floatgate/ticketing/store/memory] in memory.
//   - [Service.Checkout] sells tickets. [Service.CreateEvent], [Service.CreateInventory] and [Service.Quote] come
//     before it, [Service.ValidateAdmission] after it, at the gate.
//   - [Operator] manages companies and their money: verification, commission, float, API keys, refunds, settlements and
//     webhooks. [Service.As] returns one.
//   - [Service.Run] does the background work: it sends webhooks and ticket mails, publishes facts and ends events.
//   - [Service.WithStore] sells in a transaction of your own.
//   - Package [github.com/floatgate/ticketing/httpapi] serves the public API over HTTP, and package
//     [github.com/floatgate/ticketing/client] calls it.
//   - Package [github.com/floatgate/ticketing/webhook] receives webhooks, and package
//     [github.com/floatgate/ticketing/ledger] reads and verifies a ledger without a database.
//   - Package [github.com/floatgate/ticketing/ticketingtest] gives your tests a company that is ready to sell.
//   - The directory examples has complete programs: a checkout server, a storefront, a gate, a webhook receiver, an
//     embedded service, and a sale in the host's own transaction.
//
// The contract that comments cite by section is the public API contract; docs/contract.md sums up its sections.
//
// # Getting started
//
// The memory store needs no configuration:
//
//	svc, err := ticketing.New(memory.New(), nil)
//
// A durable store needs its tables. The service then needs the secret keys of the database:
//
//	db, err := store.Open(ctx, "sqlite:ticketing.db", nil)
//	err = db.Migrate(ctx)
//	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: keys})
//	err = svc.Ready(ctx) // before serving
//	go svc.Run(ctx)      // background work
//
// The data plane has one method for each operation of the public contract. Each takes a [Caller]: who acts, for which
// company, and with which grants. [Service.Authenticate] returns the caller of an API key, and so does
// [Service.Identify], without a read for a key that was used lately. [TrustedCaller] returns one for a host that
// decides by itself who may act.
//
//	caller := ticketing.TrustedCaller(companyID, ticketing.GrantCheckoutCreate)
//	order, err := svc.Checkout(ctx, caller, "cart-1001", ticketing.CheckoutParams{…})
//
// The operator plane manages companies in the name of an [Actor]:
//
//	staff := svc.As(ticketing.Staff("back office"))
//	company, err := staff.CreateCompany(ctx, "Lagos Nights Ltd")
//
// To mail the tickets of each sale, set [Config].Mailer, for example to the one of package
// [github.com/floatgate/ticketing/mail], and the platform's sender with [Operator.SetMailSender].
//
// # Parameters
//
// Parameters come in one order: the context, the caller or the company, the id of the subject, the idempotency key, and
// then what the call is about. Types that end in Params are what a call takes. A zero time in a filter or a [Period] is
// no bound. Where a missing time has another meaning, the field is a pointer and says what nil means.
//
// # Money and time
//
// Amounts are whole kobo, [money.Amount]. The currency is NGN. Times are UTC with milliseconds.
//
// # Errors
//
// An error that a caller can act on is an [*Error] with a [Code] of the contract. Compare it with [errors.Is]:
//
//	if errors.Is(err, ticketing.CodeInventoryUnavailable) { … }
//
// Every other error is a fault of the service or its store: log it, and respond to the client with INTERNAL_ERROR.
// After [ErrBusy] and [ErrUnavailable] the same call may be made again.
//
// # Idempotency
//
// CreateEvent, CreateInventory, Checkout and ValidateAdmission take an idempotency key: 8 to 128 characters of
// A-Z a-z 0-9 . _ : - that begin with a letter or digit. A key is unique for its company and operation. Repeating a key
// with the same input always returns the original result. The key with other input is CONFLICT, and so is a key whose
// first call is still running. A failed operation does not spend its key (section 4.11).
//
// # Transactions of the host
//
// A host that keeps rows of its own in the service's database can sell in its own transaction: both commit or neither
// does. See [Service.WithStore].
//
// # Concurrency
//
// A Service is safe for concurrent use. It starts no goroutine by itself. Call [Service.Run] for the background work.
//
// # Stores
//
// Package [github.com/floatgate/ticketing/driver] is the contract of stores. It is for authors of stores; a host does
// not need it.
package ticketing

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/coalesce"
	"github.com/floatgate/ticketing/internal/digest"
	"github.com/floatgate/ticketing/internal/seal"
)

// Service is the ticketing core over one store. [New] returns one.
type Service struct {
	choices

	store       driver.Store // for calls that are not grouped, and for operators
	groups      driver.Store // for grouped calls
	background  driver.Store // for background work
	bound       bool         // to a transaction of the host's, see WithStore
	slots       *companySlots
	unknownKeys *unknownKeys
	knownKeys   knownKeys
	reads       atomic.Int64 // that run: see manyReads
	pages       atomic.Int64 // of orders that are read
	orderPages  coalesce.Reads[orderPage, Caller, Page[Order]]
	sharesPages bool
	cache       *readCache   // nil in a bound service
	knownPlaces *knownPlaces // nil in a bound service
	// brandingVersions are those of the companies' last sales: see announceTerms.
	brandingVersions recentVersions
	// sales are where those of the companies ended: see saleLocks.
	sales        recentSales
	floats       lowFloatCache
	sold         platformPastCache
	watchedSales *watchedSales
	commits      commitSignal
	refusals     refusals

	onQueueFull func(operation string)
	secrets     secretCheck
	lastUse     lastUseThrottle // of API keys
	sessionUse  lastUseThrottle
	wake        chan struct{} // nil on a bound service: nothing runs in the background
	hints       workHints
	published   publishedParts
	checkouts   *operation[CheckoutParams, Order]
	scans       *operation[scan, TicketValidation]
	orders      *sharedRead[uuid.UUID, Order]
	quotes      *sharedRead[priceQuery, driver.PriceList]
	lookups     *lanes[*keyLookup]
	inFlight    inFlightKeys
	deliverers  deliverers
	contained   sync.Once                     // limits the log of panics in the host's functions to one
	drains      []func(context.Context) error // one for each operation with lanes
}

// choices are the settings that a service keeps from its Config. A bound service shares them with the service that it
// was made of. Nothing in it changes after [New], so the two services may read it at the same time.
type choices struct {
	clock     func() time.Time
	newID     func() uuid.UUID
	rand      io.Reader
	log       *slog.Logger
	onFact    func(context.Context, Fact) error
	poll      time.Duration
	byCompany bool // Grouping.ByCompany

	onSlotsFull func(operation string)

	sender           Sender
	onExhausted      func(context.Context, WebhookDelivery)
	webhookRetention time.Duration
	factRetention    time.Duration
	privateHooks     bool
	sessions         SessionLimits

	mailer          Mailer
	mailRenderer    MailRenderer
	mailConcurrency int
	mailRetention   time.Duration
	onMailFailed    func(context.Context, Notification)

	keys      *digest.Ring
	seals     *seal.Ring
	signers   []signer
	telemetry telemetry
}

// Config configures a [Service]. A nil *Config is valid, and every zero field means the default.
type Config struct {
	// SecretKeys are the master keys, 32 bytes or more each. They key the digests of API-key secrets, and encrypt the
	// numbers of bank accounts and the signing secrets of webhooks. The first also signs exported ledgers, see
	// [Service.LedgerKeys].
	//
	// The first key makes digests and encrypts; all of them verify and decrypt. A digest that was made with another key
	// is renewed when its API key is next used. The number of a bank account is encrypted again when its company next
	// requests a settlement or sets its account. [Operator.ReencryptBankAccounts] and
	// [Operator.ReencryptWebhookSecrets] encrypt all of them again, so that an old key can be removed.
	//
	// They are required for a durable store. For any other store they default to a random key for the life of the
	// Service.
	SecretKeys [][]byte
	// OnFact is called with each fact at least once, by [Service.Run], after the commit that wrote the fact. The order
	// between facts is not defined. After an error the fact is published again about half a minute later. Defaults to
	// none.
	OnFact func(ctx context.Context, fact Fact) error
	// PollInterval is how often [Service.Run] looks for work in the store: what other processes left, and what failed.
	// Work that its own process commits need not wait for it. Metrics of the age of what waits are as of the last look.
	// On a cluster an idle process waits at least 300 ms for each node. Defaults to 600 ms.
	PollInterval time.Duration
	// Sender posts webhooks: package delivery has one. Defaults to none: [Service.Run] then makes the deliveries, and
	// they wait for a process that has a sender.
	Sender Sender
	// OnExhausted is called with each delivery that became FAILED in this process, after the commit, one after another.
	// It is called once for each, but not for those that a crash or a full queue of 1,000 prevents:
	// [Operator.ListDeliveries] has them all. Its context ends after ten seconds. A panic of it is logged and stops
	// nothing. Defaults to none.
	OnExhausted func(ctx context.Context, delivery WebhookDelivery)
	// WebhookRetention is how long final deliveries, their attempts and the bodies of their events are kept. Defaults
	// to 30 days.
	WebhookRetention time.Duration
	// Mailer sends the ticket mails: package mail has one for SMTP. Defaults to none: [Service.Run] then makes the
	// notifications, and they wait for a process that has a mailer. No notification is made while the platform has no mail
	// sender, see [Operator.SetMailSender]. A host that sends mails from OnFact sets neither.
	Mailer Mailer
	// MailRenderer renders the ticket mails. Defaults to the Mailer if that is also a MailRenderer, as those of package
	// mail are. Any other Mailer needs one.
	MailRenderer MailRenderer
	// MailConcurrency is how many mails are handed to the Mailer at the same time. Defaults to 4. At most 100.
	MailConcurrency int
	// OnMailFailed is called with each notification that became FAILED in this process, under the same terms as
	// OnExhausted: [Operator.ListNotifications] has them all. Defaults to none.
	OnMailFailed func(ctx context.Context, notification Notification)
	// MailRetention is how long final notifications are kept. Defaults to 180 days.
	MailRetention time.Duration
	// FactRetention is how long facts are kept that were dispatched and published. It is at least an hour. A fact is
	// kept longer while an older one of its company still waits. Defaults to no limit.
	FactRetention time.Duration
	// Logger receives the failures of background work. It never receives a secret, a key or a buyer. Defaults to none.
	Logger *slog.Logger
	// TracerProvider receives a span for each operation, and one for each group of calls with links to their spans: see
	// [Grouping]. Spans hold no company, key or buyer. Defaults to none.
	TracerProvider trace.TracerProvider
	// MeterProvider receives the durations of operations, what is sold, what waits, and the outcomes of webhooks and
	// mails. Defaults to none.
	MeterProvider metric.MeterProvider
	// Clock returns the time. Defaults to time.Now.
	Clock func() time.Time
	// NewID returns new ids, UUIDs of version 4. Defaults to random ones. The ids of the audit log are always random.
	// Those of an order's line and of a validation are derived from the admission's.
	NewID func() uuid.UUID
	// Grouping says how calls that come at the same time share a transaction. Defaults to what the store works best
	// with.
	Grouping Grouping
	// CompanySlots is how many ungrouped calls of a company run at the same time: single reads, lists, quotes, changes
	// and creation of events and inventory, and everything that [Config.Grouping] excludes. Orders and quotes that share
	// a transaction take no slot. A call takes a slot before
	// it takes a connection, so one company's calls leave connections and processors to the others. Defaults to 4. At
	// most 1000.
	//
	// A call that finds no free slot waits for up to 2 seconds. If 1,000 calls of its company wait already, it is
	// refused at once. Both are [ErrBusy]. A change of an event or tier waits for up to 2 seconds for its turn before
	// that, and so does a page of a list whose pages are long.
	//
	// An [Operator] takes no slots, so that staff get through to a company that floods the service. A service that is
	// bound to a transaction takes none either: the connection is the host's.
	CompanySlots int
	// OnSlotsFull is called with the operation of every call that got no slot. It must return quickly; a panic of it is
	// logged and stops nothing. Defaults to none.
	OnSlotsFull func(operation string)
	// Rand is the source of the secrets of API keys, webhooks and people who sign in, and of the nonces of encryption.
	// Defaults to crypto/rand.
	Rand io.Reader
	// Sessions are how long the sessions of people who sign in last, see [Service.Accounts]. Every zero field means its
	// default.
	Sessions SessionLimits
	// AllowPrivateWebhooks allows webhook endpoints on localhost, addresses and local names. It is only for
	// development, and the sender needs the same setting. Defaults to the public URLs of section 6.2.
	AllowPrivateWebhooks bool
}

// New returns a service over a store. It starts nothing: no goroutine, no listener, no transaction.
//
// It fails if a secret key is too short, if two are equal, and if the store is durable and there is no key. It also
// fails if [Config.CompanySlots], [Config.MailConcurrency] or a number of [Config.Grouping] is negative or exceeds its
// limit, if a limit of [Config.Sessions] is negative, and if there is a [Config.Mailer] and nothing that renders its
// mails.
func New(store driver.Store, config *Config) (*Service, error) {
	if store == nil {
		return nil, errors.New("ticketing: a service needs a store")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if c.Clock == nil {
		c.Clock = time.Now //nolint:forbidigo // The one place where the service meets the real clock.
	}
	if c.NewID == nil {
		c.NewID = uuid.New
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.PollInterval <= 0 {
		c.PollInterval = 600 * time.Millisecond // With all else, an idle service asks less than twice a second.
	}
	if c.WebhookRetention <= 0 {
		c.WebhookRetention = 30 * 24 * time.Hour
	}
	if c.MailRetention <= 0 {
		c.MailRetention = 180 * 24 * time.Hour
	}
	if c.FactRetention > 0 {
		c.FactRetention = max(c.FactRetention, minFactRetention)
	}
	// A random key would make a durable store useless to the next process: it could verify no API key and decrypt
	// nothing.
	durable, ok := store.(driver.DurableStore)
	lasting := ok && durable.Durable()
	if len(c.SecretKeys) == 0 {
		if lasting {
			return nil, errors.New("ticketing: a durable store needs Config.SecretKeys")
		}
		key := make([]byte, 32)
		if _, err := io.ReadFull(c.Rand, key); err != nil {
			return nil, fmt.Errorf("ticketing: make a secret key: %w", err)
		}
		c.SecretKeys = [][]byte{key}
	}
	keys, err := digest.New(c.SecretKeys)
	if err != nil {
		return nil, fmt.Errorf("ticketing: secret keys: %w", err)
	}
	seals, err := sealsUnder(keys.Names(), c.SecretKeys)
	if err != nil {
		return nil, fmt.Errorf("ticketing: secret keys: %w", err)
	}
	observed, err := newTelemetry(c.TracerProvider, c.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("ticketing: metrics: %w", err)
	}
	if c.CompanySlots < 0 || c.CompanySlots > maxCompanySlots {
		return nil, fmt.Errorf("ticketing: Config.CompanySlots is %d; it must be from 0, for the default, to %d",
			c.CompanySlots, maxCompanySlots)
	}
	if err := c.Sessions.check(); err != nil {
		return nil, err
	}
	renderer, err := c.renderer()
	if err != nil {
		return nil, err
	}
	s := &Service{wake: make(chan struct{}, 1), hints: newWorkHints(), choices: choices{
		clock: c.Clock, newID: c.NewID, rand: c.Rand, log: c.Logger, onFact: c.OnFact, poll: c.PollInterval, keys: keys,
		seals: seals, signers: signersOf(c.SecretKeys), telemetry: observed, sender: c.Sender, onExhausted: c.OnExhausted,
		webhookRetention: c.WebhookRetention, factRetention: c.FactRetention, privateHooks: c.AllowPrivateWebhooks,
		onSlotsFull: c.OnSlotsFull, mailer: c.Mailer, mailRenderer: renderer, mailRetention: c.MailRetention,
		mailConcurrency: cmp.Or(c.MailConcurrency, defaultMailConcurrency), onMailFailed: c.OnMailFailed,
		sessions: c.Sessions.orDefaults(),
	}}
	s.use(store)
	s.refusals.log = c.Logger
	// The slots are made here and not by WithStore: a bound service takes none.
	s.unknownKeys = newUnknownKeys()
	s.cache, s.knownPlaces = &readCache{}, newKnownPlaces()
	s.slots = newCompanySlots(cmp.Or(c.CompanySlots, defaultCompanySlots))
	// The store knows what it needs, and the host knows what it wants. The limits apply to what both make of it.
	grouping := c.Grouping.on(store)
	if err := grouping.check(); err != nil {
		return nil, err
	}
	s.byCompany = grouping.ByCompany
	s.group(grouping)
	if err := s.gauge(c.MeterProvider); err != nil {
		return nil, fmt.Errorf("ticketing: metrics: %w", err)
	}
	return s, nil
}

// renderer returns what makes the mails, and nil for a configuration without mail. It checks the other settings of
// mail.
func (c *Config) renderer() (MailRenderer, error) {
	if c.MailConcurrency < 0 || c.MailConcurrency > maxMailConcurrency {
		return nil, fmt.Errorf("ticketing: Config.MailConcurrency is %d; it must be from 0, for the default, to %d",
			c.MailConcurrency, maxMailConcurrency)
	}
	if c.MailRenderer != nil || c.Mailer == nil {
		return c.MailRenderer, nil
	}
	// The core does not import package mail: a host that sends no mails would link templates and pictures for nothing.
	if both, ok := c.Mailer.(MailRenderer); ok {
		return both, nil
	}
	return nil, errors.New("ticketing: a Config.Mailer that renders nothing needs a Config.MailRenderer")
}

// purposeStore is a store whose transactions all have one purpose.
//
// A store keeps connections free for each purpose, so a flood of requests leaves some to sales and to background work.
// The purpose travels in the context, so that a wrapper of a store passes it on without knowing it.
type purposeStore struct {
	driver.Store

	purpose driver.Purpose
}

// mark returns ctx with the purpose of the store.
func (p purposeStore) mark(ctx context.Context) context.Context {
	return driver.WithPurpose(ctx, p.purpose)
}

// View runs fn in a View of the underlying store.
func (p purposeStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return p.Store.View(p.mark(ctx), fn)
}

// Snapshot runs fn in a Snapshot of the underlying store.
func (p purposeStore) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return p.Store.Snapshot(p.mark(ctx), fn)
}

// Update runs fn in an Update of the underlying store.
func (p purposeStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	return p.Store.Update(p.mark(ctx), fn)
}

// use sets the store of the service, one view of it for each purpose. Requests and operators have no purpose of their
// own: that is the default of a transaction.
func (s *Service) use(store driver.Store) {
	s.store = store
	s.floats, s.sold, s.watchedSales = newLowFloatCache(), newPlatformPastCache(), new(watchedSales)
	s.groups = purposeStore{store, driver.PurposeGroup}
	s.background = purposeStore{store, driver.PurposeBackground}
}
