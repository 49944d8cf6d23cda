package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/seal"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// fillNewest writes testdata/DIALECT/VERSION.sql and .json for the newest version of the schema. The files of a
// released version are never written again.
var fillNewest = flag.Bool("fill-newest", false, "write the databases of the newest version of the schema to testdata")

// released returns the checksums of migrations. A database stores them, and the store refuses a database with another
// checksum: an entry that was part of a release never changes.
func released() map[string]map[string]string {
	return map[string]map[string]string{
		"postgres": {
			"0001_tickets":       "50055faabbefbaf9db4ea24611dcb9dc796260927864deaf287c3ae7b6abfb09",
			"0002_audit":         "aff3f06e82b8e3a36b612f49f19636cc0271f2647cd6d0df06978b708942e8a9",
			"0003_people":        "c02115b5013ba88460ddfbdd2c6695d64c86ab976d6122113ba079be84e8bd2f",
			"0004_settlements":   "69545b70e40db29c1eb34b620d186a34887b4bd12c3ecfdd88256e22f2affc0e",
			"0005_webhooks":      "35ec4aec08041caf6c43de51c90e295f22396ff4adbec4bf4912ae152dd1a13d",
			"0006_statistics":    "0188bf3afdb03063b4bb162dd178b933464d557eea0929933f4873322de18136",
			"0007_notifications": "cfecd8c64ef41bd510a544c01ac6cc9818df802f002c53fc7f155b15e1d583e2",
			"0008_accounts":      "2018140aa09258da0dcd6e9093e518c69e1949cb68f8a3b816931cdaa4ee4e5b",
			"0009_console_reads": "83bcb848b2537e4ec659d0e0e476624b8fac8ed62686103b8190fa67028cd4f9",
			"0010_sales":         "af5e4b0f21ed896852b5d6ea5f556e4d353f3730ca54b8e10160f667d334f0c9",
			"0011_search":        "20c5d3823ad97b5cfcb2fc9268c9ae84aa863bf2c4457d17b9201fecf06c5572",
			"0012_event_sums":    "8b45ea7dd0c230fa8b2d472dee9b2a08fc1d230974ad35b2e4798ac9d3160ff2",
			"0013_audit_ids":     "80815cb20baca670468364eae9e842bed11cd39d8569ef508913c90320e18fd9",
			"0014_audit_users":   "6d3f48328cc0bb88c0cc02de8cf18e6412137b0e7137fbb12be3721f49fd0ad3",
			"0015_queues":        "6a2e3276a565c3a87910903333e97d024894d2993c1800b9658e0ff421d5666b",
			"0016_revisions":     "af28cf2e71ccd9eaf6863ea86b422f1ac28fe7fe1a7c2238297c9c08195e16ff",
		},
		"sqlite": {
			"0001_tickets":       "e11039efce97ca6dd7816cd351c99229d751f8c54f29fb7a6e7e932ccda1ae62",
			"0002_audit":         "f8bd19795aab78eda03ce34dd7690d39f0ea61587df49458726d35f78dd9c784",
			"0003_people":        "6729c9d2f17b0d6f61a181543444333bbd4e91bc8ea282baf92150b92b584483",
			"0004_settlements":   "bc05052ef0822b20b36bf65601b4ff913c04d27bbef1318117bbbedb114bc31b",
			"0005_webhooks":      "2c6ed28539a1bc43faf6fa83f7b839d6e7faffcd0ee3d1746b33f963fb146622",
			"0006_statistics":    "c02a859c5163456ed135ad2bb6ad853ee8f7ddc29ac7b78a6e16b2f01b54e859",
			"0007_notifications": "11a43359fa3f87c06488a8b030e73c290b32952a8649a9b6995388d82287db1e",
			"0008_accounts":      "cedc80d197e46d64616e03895cf61d20aa0ca87482e36201422d6f9f5a1f2959",
			"0009_console_reads": "5409a067899cefa44e30ae6568038efac84960553d02636e2c872941ce2144f0",
			"0010_sales":         "a6dac38f6c957eb39281dcf3e712cc3b46c7e6b55a12dd6a7816b1225b9aa46c",
			"0011_search":        "7d2d7664ace096a3f9a6b3d9427f32acf36f73c3114dd38c92b7d7a0e9d0dcfc",
			"0012_event_sums":    "bb40dd926243932d5596ef70d518c21f9748873f282643b8182e8a41cb9a4108",
			"0013_audit_ids":     "a7928af4d72f296fb8931145ba7985fe3a5a786dfecb6ce2eff942f07c9f6c9b",
			"0014_audit_users":   "3ed1915174751e14d5568ab3fdf6f528171f543f56c96f69997e7ba99860a14d",
			"0015_queues":        "e7d42d66b79fda42899b5a040b47a140187936ae597f4c664a5c8572240120df",
			"0016_revisions":     "58f1fab1aa554b1974ce669688b188f8441c60a401b0630f5c119c44b37decc4",
		},
	}
}

// TestReleasedMigrations checks that no released migration changes or disappears, and that a new one is listed here.
func TestReleasedMigrations(t *testing.T) {
	t.Parallel()
	for dialect, want := range released() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			steps, err := store.Migrations(dialect)
			is.NoErr(err)
			found := make(map[string]string)
			for _, step := range steps {
				found[step.Name] = step.Checksum
			}
			is.Equal(found, want)
		})
	}
}

// past describes a database of an earlier version of the schema: what the SQL that fills it contains, and what clients
// received then.
type past struct {
	APIKey  string    `json:"apiKey"`
	Revoked string    `json:"revoked"`
	Event   uuid.UUID `json:"event"`
	Order   uuid.UUID `json:"order"`
	Scanned uuid.UUID `json:"scanned"`
	Unspent uuid.UUID `json:"unspent"` // an admission that was not scanned
	// Answers holds the responses that clients received, by request.
	Answers map[string]json.RawMessage `json:"answers"`
}

// upgrader gives the tests access to databases of a dialect.
type upgrader struct {
	dialect string
	// empty creates an empty database, and returns its URL and a connection to it.
	empty func(t *testing.T) (dsn string, db *sql.DB)
	// literal is SQL that returns a column's value as a literal. columns is SQL that returns the columns of all tables.
	literal, columns string
}

func upgraders() []upgrader {
	connected := func(t *testing.T, db *sql.DB) *sql.DB {
		t.Helper()
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	return []upgrader{
		{
			dialect: "postgres", literal: "quote_nullable(%s::text)", columns: postgresColumns,
			empty: func(t *testing.T) (string, *sql.DB) {
				t.Helper()
				dsn := pgtest.Database(t)
				return dsn, connected(t, sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn))))
			},
		},
		{dialect: "sqlite", literal: "quote(%s)", columns: sqliteColumns, empty: func(t *testing.T) (string, *sql.DB) {
			t.Helper()
			path := filepath.Join(t.TempDir(), "past.db")
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			return "sqlite:" + path, connected(t, db)
		}},
	}
}

// TestUpgrade checks that a database of any earlier version of the schema is migrated to this one with all its data.
// Its books verify, its API keys work, its idempotency keys return the same responses as then, byte for byte, and it
// continues to sell.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for _, u := range upgraders() {
		steps, err := store.Migrations(u.dialect)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range steps {
			t.Run(u.dialect+"/"+step.Name, func(t *testing.T) {
				t.Parallel()
				file := filepath.Join("testdata", u.dialect, step.Name)
				if *fillNewest && i == len(steps)-1 {
					u.fill(t, file)
				}
				u.upgrade(t, steps[:i+1], file)
			})
		}
	}
}

func (u upgrader) upgrade(t *testing.T, steps []store.Migration, file string) {
	t.Helper()
	is := is.New(t)
	dsn, db := u.empty(t)
	for _, step := range steps {
		_, err := db.ExecContext(t.Context(), "BEGIN;"+step.SQL+"COMMIT")
		is.NoErr(err)
	}
	fill, err := os.ReadFile(file + ".sql")
	is.NoErr(err)
	_, err = db.ExecContext(t.Context(), "BEGIN;"+string(fill)+"COMMIT")
	is.NoErr(err)
	is.NoErr(db.Close())
	text, err := os.ReadFile(file + ".json")
	is.NoErr(err)
	var then past
	is.NoErr(json.Unmarshal(text, &then))

	s := testdb.Open(t, dsn, nil)
	if u.dialect == "postgres" && pgtest.OnCluster() {
		is.NoErr(s.DistributeTables(t.Context())) // With their rows. The migrations then change distributed tables.
	}
	is.NoErr(s.Migrate(t.Context()))
	svc, err := ticketing.New(s, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: ticketingtest.NewClock(time.Time{}).Now,
	})
	is.NoErr(err)
	books := func() {
		t.Helper()
		report, err := svc.As(ticketing.Staff("upgrade")).VerifyLedger(t.Context(), uuid.Nil)
		is.NoErr(err)
		is.Equal(strings.Join(report.Problems, "; "), "")
		is.True(report.Entries > 0)
	}
	books()
	_, err = svc.Authenticate(t.Context(), then.Revoked)
	is.True(errors.Is(err, ticketing.CodeAuthenticationFailed))
	caller, err := svc.Authenticate(t.Context(), then.APIKey)
	is.NoErr(err)
	now := then.answers(t, svc, caller)
	is.Equal(len(now), len(then.Answers))
	for asked, answer := range then.Answers {
		var compact bytes.Buffer
		is.NoErr(json.Compact(&compact, answer))
		is.Equal(asked+" "+string(now[asked]), asked+" "+compact.String())
	}

	before := filepath.Base(file) < "0010_sales"
	// The version before dispatched the first fact. The others wait.
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{caller.CompanyID()}}); err != nil || !before {
			return err
		}
		facts, err := tx.TakeFacts(ctx, caller.CompanyID(), 1)
		if err != nil {
			return err
		}
		return tx.DispatchFacts(ctx, facts, true)
	}))
	books()
	order, err := svc.Checkout(t.Context(), caller, "after-0001", ticketingtest.Basket(then.Event, "VIP", 5000_00, 2))
	is.NoErr(err)
	is.Equal(order.Status, driver.OrderConfirmed)
	scan, err := svc.ValidateAdmission(t.Context(), caller, then.Event, then.Unspent,
		"scan-after-0001", ticketing.ValidateParams{})
	is.NoErr(err)
	is.Equal(scan.Outcome, ticketing.OutcomeAdmitted)
	books()
	sumsFill(t, s, caller, then.Event, order.ID, before, books)
}

// accepted is a transport with which every endpoint accepts what it receives.
type accepted struct{}

func (accepted) Post(context.Context, ticketing.WebhookRequest) (int, error) { return 200, nil }

// sumsFill checks that orders from before are counted in the sums of sales while the company sells on, and that the
// books verify after every step. before reports whether the database is from before there were sums: then the report
// has none of the orders at first. sold is an order of this version.
func sumsFill(
	t *testing.T, s *store.Store, caller ticketing.Caller, event, sold uuid.UUID, before bool, books func(),
) {
	t.Helper()
	is := is.New(t)
	ctx, company := t.Context(), caller.CompanyID()
	clock := ticketingtest.NewClock(time.Time{}).Now
	svc, err := ticketing.New(s, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: clock, Sender: accepted{},
	})
	is.NoErr(err)
	staff := svc.As(ticketing.Staff("upgrade"))
	report := func() ticketing.SalesReport {
		t.Helper()
		found, err := staff.Sales(ctx, company, ticketing.SalesFilter{
			From: clock().Add(-100 * 24 * time.Hour), To: clock().Add(100 * 24 * time.Hour),
		})
		is.NoErr(err)
		return found
	}
	first := report()
	is.Equal(first.CompleteFrom != nil, before)
	is.True(!before || first.Total == ticketing.SalesFigures{})
	_, err = staff.RefundOrder(ctx, sold, ticketing.RefundParams{Reason: "moved to another city"})
	is.NoErr(err)
	books()
	// The company sells while its orders from before are counted.
	beside := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < 3 && err == nil; i++ {
			_, err = svc.Checkout(ctx, caller, fmt.Sprintf("beside-%04d", i), ticketingtest.Basket(event, "VIP", 5000_00, 1))
		}
		beside <- err
	}()
	for counted := -1; counted != 0; {
		counted, err = svc.CountSales(ctx)
		is.NoErr(err)
		books()
	}
	is.NoErr(<-beside)
	order, err := svc.Checkout(ctx, caller, "after-0002", ticketingtest.Basket(event, "VIP", 5000_00, 1))
	is.NoErr(err)
	_, err = staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{Reason: "bought twice"})
	is.NoErr(err)
	_, err = svc.SendWebhooks(ctx)
	is.NoErr(err)
	books()

	var want ticketing.SalesFigures
	page, err := staff.ListOrders(ctx, company, ticketing.OrderSearch{})
	is.NoErr(err)
	for _, order := range page.Items {
		detail, err := staff.GetOrder(ctx, order.ID)
		is.NoErr(err)
		want.Orders++
		want.Gross += detail.Gross
		want.Commission += detail.Commission.Amount
		if detail.Status == driver.OrderRefunded {
			want.Refunded += detail.Gross
			want.Reversed += detail.Commission.Amount
		}
		for _, line := range detail.Lines {
			want.Admissions++
			if line.Validation != nil {
				want.Admitted++
			}
		}
	}
	last := report()
	is.True(last.CompleteFrom == nil)
	is.Equal(last.Total, want)
	is.Equal(want.Admitted, int64(2)) // One was scanned before, and one after.
}

// answers repeats the requests of then, with the same idempotency keys, which change nothing.
func (p past) answers(t *testing.T, svc *ticketing.Service, caller ticketing.Caller) map[string]json.RawMessage {
	t.Helper()
	is := is.New(t)
	answers := make(map[string]json.RawMessage)
	record := func(asked string, value any, err error) {
		t.Helper()
		is.NoErr(err)
		text, err := json.Marshal(value)
		is.NoErr(err)
		answers[asked] = text
	}
	ctx := t.Context()
	event, err := svc.CreateEvent(ctx, caller, "event-0001", ticketingtest.EventParams())
	record("event created", event, err)
	added, err := svc.CreateInventory(ctx, caller, p.Event, "stock-0001",
		ticketingtest.InventoryParams("VIP", 5000_00, 20))
	record("inventory created", added, err)
	sold, err := svc.Checkout(ctx, caller, "cart-0001", ticketingtest.Basket(p.Event, "VIP", 5000_00, 3))
	record("checked out", sold, err)
	scan, err := svc.ValidateAdmission(ctx, caller, p.Event, p.Scanned, "scan-0001",
		ticketing.ValidateParams{Location: "Gate 1"})
	record("validated", scan, err)
	found, err := svc.GetEvent(ctx, caller, p.Event)
	record("event", found, err)
	events, err := svc.ListEvents(ctx, caller, ticketing.EventFilter{})
	record("events", events.Items, err)
	tiers, err := svc.ListInventory(ctx, caller, p.Event)
	record("inventory", tiers, err)
	order, err := svc.GetOrder(ctx, caller, p.Order)
	record("order", order, err)
	orders, err := svc.ListOrders(ctx, caller, ticketing.OrderFilter{})
	record("orders", orders.Items, err)
	return answers
}

// fill creates a database with everything that this version stores, and writes it to files.
func (u upgrader) fill(t *testing.T, file string) {
	t.Helper()
	is := is.New(t)
	dsn, db := u.empty(t)
	s := testdb.Open(t, dsn, nil)
	is.NoErr(s.Migrate(t.Context()))
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: s})
	shop.Neighbour(t)
	ctx, caller := t.Context(), shop.Caller
	p := past{APIKey: shop.APIKey}

	category, err := shop.Staff.CreateCategory(ctx, "Concerts", "concerts")
	is.NoErr(err)
	event, err := shop.CreateEvent(ctx, caller, "event-0001", ticketingtest.EventParams())
	is.NoErr(err)
	p.Event = event.ID
	shop.Event(t, ticketingtest.Draft, func(p *ticketing.CreateEventParams) { p.CategoryID = category.ID })
	cancelled := shop.Event(t)
	shop.Inventory(t, cancelled.ID, "VIP", 1000_00, 5)
	_, err = shop.CancelEvent(ctx, caller, cancelled.ID)
	is.NoErr(err)
	_, err = shop.CreateInventory(ctx, caller, p.Event, "stock-0001", ticketingtest.InventoryParams("VIP", 5000_00, 20))
	is.NoErr(err)
	shop.Inventory(t, p.Event, "GENERAL_ADMISSION", 0, 10)
	shop.Inventory(t, p.Event, "STUDENT", 1000_00, 2)
	shop.Sell(t, p.Event, "STUDENT", 2)
	shop.Sell(t, p.Event, "GENERAL_ADMISSION", 1)
	name := "Àdìrẹ 'Concerts'"
	_, err = shop.Staff.UpdateBranding(ctx, shop.Company.ID, ticketing.UpdateBrandingParams{BrandName: &name})
	is.NoErr(err)
	order, err := shop.Checkout(ctx, caller, "cart-0001", ticketingtest.Basket(p.Event, "VIP", 5000_00, 3))
	is.NoErr(err)
	p.Order, p.Scanned, p.Unspent = order.ID, order.Lines[0].AdmissionID, order.Lines[1].AdmissionID
	_, err = shop.ValidateAdmission(ctx, caller, p.Event, p.Scanned, "scan-0001",
		ticketing.ValidateParams{Location: "Gate 1"})
	is.NoErr(err)
	next, err := shop.Staff.IssueAPIKey(ctx, shop.Company.ID, "gate", ticketing.AllGrants())
	is.NoErr(err)
	p.Revoked = next.Key
	_, err = shop.Staff.RevokeAPIKey(ctx, next.ID)
	is.NoErr(err)
	_, err = shop.Staff.RefundOrder(ctx, shop.Sell(t, p.Event, "VIP", 1).ID,
		ticketing.RefundParams{Reason: "Ill", Restock: true})
	is.NoErr(err)
	_, err = shop.Staff.CancelOrder(ctx, shop.Sell(t, p.Event, "GENERAL_ADMISSION", 1).ID, "Fraud")
	is.NoErr(err)
	_, err = shop.Staff.SetBankAccount(ctx, shop.Company.ID, ticketing.BankAccountParams{
		Bank: "First Bank", AccountNumber: "0123456789", AccountName: "Adire Concerts Ltd",
	})
	is.NoErr(err)
	rejected, err := shop.Staff.RequestSettlement(ctx, shop.Company.ID)
	is.NoErr(err)
	_, err = shop.Staff.RejectSettlement(ctx, rejected.ID, "No such account")
	is.NoErr(err)
	_, err = shop.Staff.RequestSettlement(ctx, shop.Company.ID)
	is.NoErr(err)
	_, err = shop.Staff.AddMember(ctx, shop.Company.ID, ticketing.AddMemberParams{
		Email: "ada@example.com", Name: name, Role: driver.RoleOwner,
	})
	is.NoErr(err)
	_, err = shop.Staff.UpdateVerification(ctx, shop.Company.ID, ticketing.UpdateVerificationParams{LegalName: &name})
	is.NoErr(err)
	hooked(t, s, shop.Company.ID, order.ID)
	mailed(t, s, order.ID)
	signedIn(t, s, shop.Company.ID)
	p.Answers = p.answers(t, shop.Service, caller)

	is.NoErr(os.MkdirAll(filepath.Dir(file), 0o755))
	text, err := json.MarshalIndent(p, "", "\t")
	is.NoErr(err)
	is.NoErr(os.WriteFile(file+".json", append(text, '\n'), 0o600))
	is.NoErr(os.WriteFile(file+".sql", []byte(u.dump(t, db)), 0o600))
}

// hooked inserts an endpoint with its secret, and deliveries to it, of which one failed and one waits.
func hooked(t *testing.T, s driver.Store, companyID, orderID uuid.UUID) {
	t.Helper()
	is := is.New(t)
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		companies, err := tx.Companies(ctx, []uuid.UUID{companyID})
		if err != nil {
			return err
		}
		names, err := tx.SecretNames(ctx)
		if err != nil {
			return err
		}
		ring, err := seal.New([]seal.Key{{Name: names[0], Secret: bytes.Repeat([]byte("k"), 32)}})
		if err != nil {
			return err
		}
		endpoint := newEndpoint(companyID, 1)
		companies[0].WebhookEndpoints = endpoint.Number
		sealed, err := ring.Seal(rand.Reader, "webhook-secret",
			fmt.Sprintf("%s/%d/%d", companyID, endpoint.Number, endpoint.ActiveSecret),
			[]byte("svc_whsec_"+strings.Repeat("A", 43)))
		if err != nil {
			return err
		}
		message := driver.Message{
			CompanyID: companyID, At: minute(1), ID: number(9001), Type: driver.FactOrderCreated, Subject: orderID,
			Body: `{"id":"00000000-0000-0000-0000-000000002329"}`,
		}
		failed, waiting := newDelivery(companyID, 1, 1), newDelivery(companyID, 1, 2)
		failed.Status, failed.FinishedAt, waiting.MessageID = driver.DeliveryFailed, minute(9), failed.MessageID
		failed.Attempts = []driver.DeliveryAttempt{
			{At: driver.Time{Time: minute(3)}, Status: 503, DurationMS: 12, Error: "the receiver answered with 503"},
			{At: driver.Time{Time: minute(4)}, DurationMS: 10_000, Error: "no answer in time"},
		}
		return errors.Join(
			tx.UpdateCompany(ctx, companies[0]), tx.CreateWebhookEndpoint(ctx, endpoint),
			tx.AppendWebhookSecret(ctx, driver.WebhookSecret{
				CompanyID: companyID, Endpoint: 1, Version: 1, Secret: sealed, CreatedAt: minute(1),
			}),
			tx.PutBookChecks(ctx, []driver.BookCheck{{CompanyID: companyID, VerifiedAt: minute(1), Entries: 9}}),
			tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: companyID}),
			tx.PutBuyerOrders(ctx, []driver.BuyerOrder{{CompanyID: companyID, Email: "ada@example.com", Number: 2}}),
			tx.AppendMessages(ctx, []driver.Message{message}),
			tx.AppendDeliveries(ctx, []driver.Delivery{failed, waiting}),
		)
	}))
}

// mailed inserts a mail sender and notifications of an order: one failed, one waits, and one was removed.
func mailed(t *testing.T, s driver.Store, orderID uuid.UUID) {
	t.Helper()
	is := is.New(t)
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		order, err := tx.FindOrder(ctx, orderID)
		if err != nil {
			return err
		}
		var copies []driver.Notification
		for n := range 3 {
			one := newNotification(order.CompanyID, order.Number)
			one.Copy, one.OrderID, one.EventID = n+1, order.ID, order.EventID
			copies = append(copies, one)
		}
		gone, failed, waiting := &copies[0], &copies[1], &copies[2]
		gone.Status, gone.FinishedAt = driver.NotificationSent, minute(5)
		failed.Status, failed.FinishedAt = driver.NotificationFailed, minute(9)
		failed.Attempts = []driver.NotificationAttempt{
			{At: driver.Time{Time: minute(3)}, Error: "no answer in time"},
			{At: driver.Time{Time: minute(9)}, Code: "550 5.1.1", Error: "the address was refused"},
		}
		waiting.Recipient = "ada@example.com"
		if err := tx.AppendNotifications(ctx, copies); err != nil {
			return err
		}
		pruned, err := tx.PruneNotifications(ctx, order.CompanyID, minute(9), 9)
		is.Equal(pruned, 1)
		return errors.Join(err, tx.AppendMailSender(ctx, driver.MailSender{
			Version: 1, Address: "tickets@example.com", Name: "Àdìrẹ 'Tickets'", CreatedAt: minute(1),
		}))
	}))
}

// signedIn inserts a member of the staff with a session, a code that was not used, a link that was, and a passkey.
func signedIn(t *testing.T, s driver.Store, companyID uuid.UUID) {
	t.Helper()
	is := is.New(t)
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{{}}}); err != nil {
			return err
		}
		users, err := tx.FindUsers(ctx, []string{"ada@example.com"})
		if err != nil {
			return err
		}
		user := users[0].ID
		member, session, passkey := newStaffMember(), newSession(), newPasskey()
		code, link := newSignInToken(1), newSignInToken(2)
		member.UserID, session.UserID, code.UserID, link.UserID, passkey.UserID = user, user, user, user, user
		code.CompanyID = uuid.Nil
		link.Kind, link.Browser, link.CompanyID, link.Tries = driver.SignInLink, "", companyID, 0
		link.UsedAt = minute(3)
		return errors.Join(
			tx.PutStaffMember(ctx, member), tx.PutSession(ctx, session), tx.PutSignInToken(ctx, code),
			tx.PutSignInToken(ctx, link), tx.PutPasskey(ctx, passkey),
		)
	}))
}

// dump returns the SQL that inserts all rows into empty tables.
func (u upgrader) dump(t *testing.T, db *sql.DB) string {
	t.Helper()
	is := is.New(t)
	var all strings.Builder
	named := make(map[string][]string)
	for _, column := range columns(t, db, u.columns) {
		named[column.table] = append(named[column.table], column.name)
	}
	for _, table := range store.PlacementOrder() {
		if table == "ticketing_migrations" {
			continue
		}
		columns := named[table]
		values := make([]string, len(columns))
		for i, column := range columns {
			values[i] = fmt.Sprintf(u.literal, column)
		}
		kept := texts(t, db, "SELECT "+strings.Join(values, " || ', ' || ")+" FROM "+table)
		is.True(len(kept) > 0) // Every table has rows.
		slices.Sort(kept)
		for _, row := range kept {
			fmt.Fprintf(&all, "INSERT INTO %s (%s) VALUES (%s);\n", table, strings.Join(columns, ", "), row)
		}
	}
	return all.String()
}
