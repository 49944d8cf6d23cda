// Package ticketing is the core of a prepaid-float ticketing service, to be embedded in a Go server.
//
// A company prepays a FLOAT balance. A checkout spends the full ticket gross from FLOAT, credits the commission to a
// separate EARNINGS balance, allocates admissions, and writes an immutable order, chained ledger rows and outbound
// facts, all in one transaction. A gate validates each admission once.
//
// # Getting started
//
// A [Service] works over a [Store]: package store keeps it in SQL, package store/memory in memory.
//
//	svc, err := ticketing.New(memory.New(), nil)
//
// A store that lasts needs its tables, and the service the secret keys that the database is used with:
//
//	db, err := store.Open(ctx, "sqlite:ticketing.db", nil)
//	err = db.Migrate(ctx)
//	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: keys})
//	err = svc.Ready(ctx) // before serving
//	go svc.Run(ctx)      // sends webhooks, tells facts, ends events
//
// The types that end in Record, Ref, Query, Reader and Writer are for authors of stores; a host does without.
//
// The data plane is one method for each operation of the public contract, and takes a [Caller]: who acts, for which
// company, with which grants. [Service.Authenticate] makes one from an API key, [TrustedCaller] makes one for a host
// that has decided by itself.
//
//	caller := ticketing.TrustedCaller(companyID, ticketing.GrantCheckoutCreate)
//	order, err := svc.Checkout(ctx, caller, "cart-1001", ticketing.CheckoutParams{…})
//
// Companies, their verification, branding, commission, float and keys are run through an [Operator]: svc.As(actor).
//
// # Money and time
//
// Amounts are whole kobo, [money.Amount]; the currency is NGN. Times are UTC with milliseconds.
//
// # Errors
//
// What a caller can act on is an [*Error] with a [Code] of the contract. Every other error is a fault of the service
// or its store: tell the client INTERNAL_ERROR and log it.
//
//	if errors.Is(err, ticketing.CodeInventoryUnavailable) { … }
//
// # Idempotency
//
// CreateEvent, CreateInventory, Checkout and ValidateAdmission take an idempotency key, 8 to 128 characters of
// A-Z a-z 0-9 . _ : - that begins with a letter or digit, unique for the company and operation. The same key with the
// same input gives the first result again, for ever; with other input it is CONFLICT; while the first is still being
// worked on it is CONFLICT, too. A failed operation does not spend its key (section 4.11).
//
// # Within a transaction of the host's
//
// A host that keeps rows of its own beside the service's sells in its own transaction, so that both are kept or neither:
// [Service.WithStore], on a store that package store binds to it.
//
// # Concurrency
//
// A Service is safe for concurrent use. It starts nothing by itself: [Service.Run] does the background work.
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
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/floatgate/ticketing/internal/digest"
	"github.com/floatgate/ticketing/internal/seal"
)

// Service is the ticketing core over one store. [New] makes it.
type Service struct {
	choices

	store      Store // for requests that are not grouped, and for operators
	groups     Store // for calls that share transactions
	background Store // for the work of Run
	bound      bool  // to a transaction of the host's
	slots      *companySlots
	strangers  *strangers
	rates      rateCache
	refusals   refusals

	onQueueFull func(operation string)
	secrets     secretCheck
	touched     touches
	wake        chan struct{} // nil: nobody waits
	told        toldParts
	checkouts   *operation[CheckoutParams, Order]
	scans       *operation[scan, TicketValidation]
	lookups     *lanes[*keyLookup]
	flights     flights
	couriers    couriers
	contained   sync.Once // the log of a panic of Grouping's functions
	drains      []func(context.Context) error
}

// choices are what Config came to: a service has them on whichever store.
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

	keys      *digest.Ring
	seals     *seal.Ring
	signers   []signer
	telemetry telemetry
}

// Config are the choices of a host. A nil *Config, and every zero field, means the default.
type Config struct {
	// SecretKeys key the digests of API-key secrets and encrypt the numbers of bank accounts and the signing secrets of
	// webhooks, 32 bytes or more each.
	// The first makes digests and encrypts, all verify and decrypt; a digest made by another than the first is renewed
	// when its API key is next used, a number when its company next requests a settlement or sets its account again.
	// Required with a store that outlives the process; with any other it defaults to a random key for the life of the
	// Service.
	SecretKeys [][]byte
	// OnFact is told each fact at least once, by [Service.Run], after the commit that wrote it, in no promised order
	// between facts. An error leaves the fact to be told again about half a minute later. Defaults to nobody.
	OnFact func(ctx context.Context, fact Fact) error
	// PollInterval is how often [Service.Run] looks for work that other processes left. Defaults to 600 ms.
	PollInterval time.Duration
	// Sender posts webhooks: package delivery has one. Defaults to none: [Service.Run] makes the deliveries, which wait for
	// a process that has one.
	Sender Sender
	// OnExhausted is told of each delivery that became FAILED in this process, after the commit, one after another. It is
	// told once, and of none that a crash or a full queue of 1,000 kept from it: [Operator.ListDeliveries] has them all. Its
	// context ends after ten seconds. A panic of it is logged and stops nothing. Defaults to nobody.
	OnExhausted func(ctx context.Context, delivery WebhookDelivery)
	// WebhookRetention is how long deliveries that are final, their attempts and the bodies of their events are kept.
	// Defaults to 30 days.
	WebhookRetention time.Duration
	// FactRetention is how long facts are kept that were dispatched and told, an hour at the least, and longer where an
	// older one of the company still waits. Defaults to for ever.
	FactRetention time.Duration
	// Logger is told what goes wrong in the background. Never a secret, a key or a buyer. Defaults to silence.
	Logger *slog.Logger
	// TracerProvider is told a span for each operation. Defaults to silence.
	TracerProvider trace.TracerProvider
	// MeterProvider is told how long operations take, and what becomes of webhooks. Defaults to silence.
	MeterProvider metric.MeterProvider
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
	// NewID makes ids, UUIDs of version 4. Defaults to random ones. Those of the audit log are always random.
	NewID func() uuid.UUID
	// Grouping says how calls that come at the same time share a transaction. Defaults to what the store works best
	// with.
	Grouping Grouping
	// CompanySlots is how many calls of a company run at the same time, of those that run by themselves: single reads, lists,
	// quotes, changes and creation of events and inventory, and whatever [Config.Grouping] leaves out. They take a slot
	// before they take a connection, so that one company's calls leave connections and processors to the others. A call
	// that finds none waits for up to 2 seconds, and beyond 1,000 such calls of its company it is refused at once: that is
	// [ErrBusy]. A change of an event or tier, and a page of a list whose pages are long, has waited as long for its turn
	// before. Defaults to 4. At most 1000.
	//
	// An [Operator] takes no slots, so that staff get through to a company that floods the service, and neither does
	// a service that is bound to a transaction: the connection is the host's.
	CompanySlots int
	// OnSlotsFull is called with the operation of every call that got no slot. It must be quick; a panic of it is logged
	// and stops nothing. Defaults to nobody.
	OnSlotsFull func(operation string)
	// Rand is where the secrets of API keys and webhooks and the nonces of encryption come from. Defaults to crypto/rand.
	Rand io.Reader
	// AllowPrivateWebhooks lets webhook endpoints be registered with localhost, addresses and local names. It is for
	// development alone, and the sender has to be told the same. Defaults to the public URLs of section 6.2.
	AllowPrivateWebhooks bool
}

// New makes a service over a store. It starts nothing: no goroutine, no listener, no transaction.
//
// It fails when a secret key is too short, when two are equal, and when the store is durable and none is given; and when
// [Config.CompanySlots] or a number of [Config.Grouping] is negative or beyond its bound.
func New(store Store, config *Config) (*Service, error) {
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
	if c.FactRetention > 0 {
		c.FactRetention = max(c.FactRetention, minFactRetention)
	}
	durable, ok := store.(DurableStore)
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
	s := &Service{wake: make(chan struct{}, 1), choices: choices{
		clock: c.Clock, newID: c.NewID, rand: c.Rand, log: c.Logger, onFact: c.OnFact, poll: c.PollInterval, keys: keys,
		seals: seals, signers: signersOf(c.SecretKeys), telemetry: observed, sender: c.Sender, onExhausted: c.OnExhausted,
		webhookRetention: c.WebhookRetention, factRetention: c.FactRetention, privateHooks: c.AllowPrivateWebhooks,
		onSlotsFull: c.OnSlotsFull,
	}}
	s.use(store)
	s.refusals.log = c.Logger
	s.strangers = newStrangers()
	s.slots = newCompanySlots(cmp.Or(c.CompanySlots, defaultCompanySlots))
	grouping := c.Grouping.on(store)
	if err := grouping.check(); err != nil {
		return nil, err
	}
	s.byCompany = grouping.ByCompany
	s.group(grouping)
	return s, nil
}

// now is the time in what the service keeps: UTC and milliseconds.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Ready reports whether the service can work: its store answers, and the secret keys are those that the database was
// used with before (on first use they are remembered), else [ErrSecretKeys]. Call it before serving.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.secrets.check(ctx, s); err != nil {
		return err
	}
	return s.onSlot(ctx, "ready", uuid.Nil, func() error {
		return s.groups.View(ctx, func(ctx context.Context, tx ReadTx) error {
			_, err := tx.SecretNames(ctx)
			return err
		})
	})
}
