package console_test

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// batch are the fields of the form that adds tickets, with changes as pairs.
func batch(key string, changes ...string) []string {
	values := map[string]string{
		"idempotencyKey": key, "tier": "REGULAR", "title": "Entry", "unitPrice": "₦2,500.00", "quantity": "1,000",
		"status": "AVAILABLE",
	}
	for i := 0; i+1 < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	var fields []string
	for name, value := range values {
		fields = append(fields, name, value)
	}
	return fields
}

func (s *shop) stock(t *testing.T, tier string) ticketing.TierStock {
	t.Helper()
	var shown struct {
		Tiers []ticketing.TierStock `json:"tiers"`
	}
	s.get(t, viewer, "/api/v2"+s.at()).data(t, &shown)
	for _, one := range shown.Tiers {
		if one.Tier == tier {
			return one
		}
	}
	t.Fatalf("no tier %s in %v", tier, shown.Tiers)
	return ticketing.TierStock{}
}

func TestTicketsAreAddedOnceHoweverOftenTheFormIsSent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	key := keyIn(t, s.get(t, owner, s.at()))
	for range 2 {
		added := s.follow(t, owner, s.post(t, owner, s.at()+"/tiers/add", batch(key)...))
		ok.True(added.has("The tickets were added."))
		ok.True(added.has("₦2,500.00"))
	}
	ok.Equal(s.stock(t, "REGULAR").TotalAdmissions, int64(1000))
	ok.True(!s.get(t, viewer, s.at()).has("Add tickets")) // A viewer adds none.
	again := keyIn(t, s.get(t, owner, s.at()))
	s.post(t, owner, s.at()+"/tiers/add", batch(again)...)
	ok.Equal(s.stock(t, "REGULAR").TotalAdmissions, int64(2000))

	for _, tt := range []struct{ field, value, violation string }{
		{"tier", "Nowhere", "must be a ticket category of the event"},
		{"title", "", "must not be empty"},
		{"unitPrice", "12.345", "two"},
		{"unitPrice", "0", "must be true for a price of 0"},
		{"isFree", "true", "must be true for a price of 0"},
		{"quantity", "1001", "must be from 1 to 1000"},
		{"quantity", "some", "must be a whole number"},
		{"status", "SOLD_OUT", "must be AVAILABLE or PAUSED"},
	} {
		refused := s.post(t, owner, s.at()+"/tiers/add", batch(uuid.NewString(), tt.field, tt.value)...)
		ok.Equal(refused.StatusCode, http.StatusBadRequest) // tt.violation
		if !refused.has(tt.violation) {
			t.Errorf("%s %q: no violation %q: %s", tt.field, tt.value, tt.violation, alert(refused))
		}
	}
	ok.Equal(s.stock(t, "REGULAR").TotalAdmissions, int64(2000))
	free := s.post(t, owner, s.at()+"/tiers/add", batch(uuid.NewString(), "tier", "STUDENT", "unitPrice", "0",
		"isFree", "true")...)
	ok.True(s.follow(t, owner, free).has("Free"))
}

func TestTierIsPricedPausedAndCancelled(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.sell(t)
	ok.True(s.get(t, viewer, s.at()).has(`data-label="Sold">1<`))
	ok.True(!s.get(t, viewer, s.at()).has("Change the price"))
	at := s.tierAt("VIP")
	done := s.follow(t, owner, s.post(t, owner, at+"/price", "unitPrice", "200.00"))
	ok.True(done.has("The price of the unsold tickets was changed."))
	ok.Equal(int64(*s.stock(t, "VIP").UnitPrice), int64(200_00))
	refused := s.post(t, owner, at+"/price", "unitPrice", "0")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has("must be true for a price of 0 and false for any other"))
	ok.True(s.follow(t, owner, s.post(t, owner, at+"/pause")).has("The unsold tickets are paused."))
	ok.Equal(s.stock(t, "VIP").PausedQuantity, int64(99))
	ok.True(s.follow(t, owner, s.post(t, owner, at+"/resume")).has("The unsold tickets are on sale."))
	ok.Equal(s.post(t, owner, at+"/cancel").StatusCode, http.StatusBadRequest) // nothing was ticked
	ok.Equal(s.stock(t, "VIP").AvailableQuantity, int64(99))
	// Somebody else cancels the tier meanwhile.
	_, err := s.books.CancelInventory(t.Context(), s.books.Caller, s.event.ID, "VIP")
	ok.NoErr(err)
	for path, fields := range map[string][]string{
		"/price": {"unitPrice", "5.00"}, "/pause": nil, "/resume": nil, "/cancel": {"confirmed", "true"},
	} {
		late := s.post(t, owner, at+path, fields...)
		ok.Equal(late.StatusCode, http.StatusConflict)                                // path
		ok.True(late.has("The tier has no unsold admission that could change."))      // path
		ok.True(late.has(`data-label="Status"><span class="badge quiet">Cancelled<`)) // path
	}
	stock := s.stock(t, "VIP")
	ok.Equal([]int64{stock.SoldQuantity, stock.CancelledQuantity}, []int64{1, 99})
}

// TestTierWithAnyNameHasItsActs checks that a form which was refused is found again, whatever is in the name of the
// tier.
func TestTierWithAnyNameHasItsActs(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	const name = `Tables 1/2 "früh" & <b>; 50%`
	_, err := s.books.UpdateEvent(t.Context(), s.books.Caller, s.event.ID,
		ticketing.UpdateEventParams{TicketCategories: &[]string{name}})
	ok.NoErr(err)
	s.follow(t, owner, s.post(t, owner, s.at()+"/tiers/add", batch(uuid.NewString(), "tier", name)...))
	ok.Equal(s.stock(t, name).AvailableQuantity, int64(1000))
	refused := s.post(t, owner, s.tierAt(name)+"/price", "unitPrice", "much")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="much"`))
	ok.True(s.follow(t, owner, s.post(t, owner, s.tierAt(name)+"/pause")).has("The unsold tickets are paused."))
	ok.Equal(s.stock(t, name).PausedQuantity, int64(1000))
}

func TestEventThatIsSoldOutSaysSo(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.books.Sell(t, s.event.ID, "VIP", 50)
	s.books.Sell(t, s.event.ID, "VIP", 50)
	shown := s.get(t, viewer, s.at())
	ok.True(shown.has("Sold out"))
	ok.True(shown.has(`data-label="Sold">100<`))
}

// TestTierShowsTheRangeOfItsPrices holds that a category whose batches differ in price shows the lowest and the highest
// one of its unsold tickets.
func TestTierShowsTheRangeOfItsPrices(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	ok.True(!s.get(t, viewer, s.at()).has("₦150.00 to"))
	s.books.Inventory(t, s.event.ID, "VIP", 90_00, 5)
	ok.True(s.get(t, viewer, s.at()).has("₦90.00 to ₦150.00</td>"))
}
