package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const webhooks = "/business/{companyId}/webhooks"

func TestEndpointIsRegisteredWithASecretThatIsShownOnce(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	empty := s.get(t, viewer, webhooks)
	ok.Equal(empty.StatusCode, http.StatusOK)
	ok.True(empty.has("No endpoints yet"))
	ok.True(!empty.has("Register an endpoint")) // A viewer changes nothing.

	url := "https://hooks.example.com/in?a=1,2"
	made := s.post(t, administrator, webhooks+"/create", "url", url, "events", "order.created", "events", "balance.low")
	ok.Equal(made.StatusCode, http.StatusOK)
	ok.True(made.has("svc_whsec_"))
	ok.True(made.has("shown only once"))
	list := s.get(t, viewer, webhooks)
	ok.True(list.has(url))
	ok.True(list.has("order.created, balance.low"))
	ok.True(!list.has("svc_whsec_"))
	var endpoints []struct {
		URL    string                   `json:"url"`
		Secret string                   `json:"secret"`
		Health ticketing.EndpointHealth `json:"health"`
	}
	s.get(t, viewer, "/api/v2"+webhooks).data(t, &endpoints)
	ok.Equal(len(endpoints), 1)
	ok.Equal(endpoints[0].URL, url)
	ok.Equal(endpoints[0].Secret, "")

	var issued struct {
		Secret string `json:"secret"`
	}
	s.postJSON(t, administrator, webhooks+"/create", `{"url":"https://b.example.com","events":["order.created"]}`).
		data(t, &issued)
	ok.Equal(len(issued.Secret), len("svc_whsec_")+43)
}

func TestRefusedEndpointKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	refused := s.post(t, owner, webhooks+"/create", "url", "http://hooks.example.com/<b>", "events", "order.created")
	ok.Equal(refused.StatusCode, http.StatusBadRequest)
	ok.True(refused.has(`value="http://hooks.example.com/&lt;b&gt;"`))
	ok.True(refused.has(`class="violation"`))
	ok.True(refused.has(`value="order.created" checked`))
	none := s.post(t, owner, webhooks+"/create", "url", "https://hooks.example.com")
	ok.Equal(none.StatusCode, http.StatusBadRequest)
	ok.True(none.has("must have at least one event type"))
}

func TestNewSecretsNeedARecentSignIn(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpoint := s.endpoint(t)
	s.books.Clock.Advance(11 * time.Minute)
	at := webhooks + "/" + endpoint.ID.String()
	for _, path := range []string{webhooks + "/create", at + "/secret/prepare"} {
		asked := s.post(t, owner, path, "url", "https://c.example.com", "events", "order.created")
		if strings.HasSuffix(path, "prepare") {
			asked = s.post(t, owner, path)
		}
		ok.Equal(asked.StatusCode, http.StatusForbidden)
		ok.True(asked.has("Confirm your identity"))
		ok.True(!asked.has("svc_whsec_"))
	}
	ok.Equal(s.post(t, owner, at+"/endpoint/disable").StatusCode, http.StatusSeeOther) // needs none
}

func TestEndpointIsChangedOnItsPage(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpoint := s.endpoint(t)
	at := webhooks + "/" + endpoint.ID.String()
	page := s.get(t, viewer, at)
	ok.Equal(page.StatusCode, http.StatusOK)
	ok.True(page.has("No deliveries yet."))
	ok.True(!page.has("<form method=\"post\" action=\"/business")) // A viewer has no form.

	changed := s.post(t, administrator, at+"/endpoint/update", "url", "https://new.example.com",
		"events", "ticket.validated")
	page = s.follow(t, administrator, changed)
	ok.True(page.has("The endpoint was changed."))
	ok.True(page.has("<h1>https://new.example.com</h1>"))
	cleared := s.post(t, administrator, at+"/endpoint/update", "url", "https://new.example.com")
	ok.Equal(cleared.StatusCode, http.StatusBadRequest)
	ok.True(cleared.has("must have at least one event type"))

	ok.True(s.follow(t, administrator, s.post(t, administrator, at+"/endpoint/disable")).has("Enable it"))
	ok.True(s.follow(t, administrator, s.post(t, administrator, at+"/endpoint/enable")).has("Disable it"))
	prepared := s.post(t, administrator, at+"/secret/prepare")
	ok.True(prepared.has("svc_whsec_"))
	ok.True(s.get(t, administrator, at).has("Next secret prepared"))
	ok.True(!s.get(t, administrator, at).has("svc_whsec_"))
	ok.True(s.follow(t, administrator, s.post(t, administrator, at+"/secret/activate")).has(
		"are now signed with the new secret"))
	again := s.post(t, administrator, at+"/secret/activate")
	ok.Equal(again.StatusCode, http.StatusConflict)

	gone := s.post(t, administrator, at+"/endpoint/delete")
	ok.True(strings.HasSuffix(gone.Header.Get("Location"), "/webhooks"))
	ok.Equal(s.get(t, administrator, at).StatusCode, http.StatusNotFound)
}

func TestEndpointOfAnotherCompanyIsNotHere(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpoint := s.endpoint(t)
	s.sell(t)
	s.sendAll(t)
	page, err := s.staff.ListDeliveries(t.Context(), s.company, ticketing.DeliveryFilter{}, ticketing.PageParams{})
	ok.NoErr(err)
	here := "/business/" + s.other.String() + "/webhooks/"
	for _, path := range []string{here + endpoint.ID.String(), here + "deliveries/" + page.Items[0].ID.String()} {
		ok.Equal(s.get(t, chief, path).StatusCode, http.StatusNotFound)
		ok.Equal(s.get(t, stranger, path).StatusCode, http.StatusNotFound)
	}
	for _, path := range []string{
		here + endpoint.ID.String() + "/endpoint/delete", here + endpoint.ID.String() + "/secret/prepare",
		here + "deliveries/" + page.Items[0].ID.String() + "/replay",
	} {
		ok.Equal(s.post(t, chief, path).StatusCode, http.StatusNotFound)
	}
	_, err = s.staff.GetWebhookEndpoint(t.Context(), endpoint.ID)
	ok.NoErr(err)
}

func TestSampleIsSent(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpoint := s.endpoint(t)
	at := webhooks + "/" + endpoint.ID.String()
	sent := s.post(t, owner, webhooks+"/sample", "type", "order.created", "_next", strings.ReplaceAll(at, "{companyId}",
		s.company.String()))
	ok.True(s.follow(t, owner, sent).has("A sample of order.created is on its way."))
	s.sendAll(t)
	ok.True(s.get(t, owner, at).has("order.created"))
	ok.Equal(s.post(t, owner, webhooks+"/sample", "type", "order.lost").StatusCode, http.StatusBadRequest)
}

func TestDeadLetterIsReplayed(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.endpoint(t)
	order := s.sell(t)
	s.status.Store(http.StatusInternalServerError)
	s.sendAll(t)
	ok.True(s.get(t, viewer, webhooks).has("status=FAILED\">1</a>"))
	dead := s.get(t, viewer, webhooks+"/deliveries?status=FAILED")
	ok.True(dead.has("Dead letters"))
	var letters []ticketing.WebhookDelivery
	s.get(t, viewer, "/api/v2"+webhooks+"/deliveries?status=FAILED").data(t, &letters)
	ok.Equal(len(letters), 1)
	ok.True(!s.get(t, viewer, webhooks+"/deliveries?status=SUCCEEDED").has("order.created</td>"))

	at := webhooks + "/deliveries/" + letters[0].ID.String()
	ok.True(dead.has(strings.ReplaceAll(at, "{companyId}", s.company.String())))
	page := s.get(t, viewer, at)
	ok.Equal(strings.Count(page.text, `<td class="number" data-label="Response">500</td>`), 8) // each attempt
	ok.True(page.has(order.ID.String()))                                                       // the body
	ok.True(!page.has("Replay</button>"))
	var detail struct {
		Body string `json:"body"`
	}
	s.get(t, viewer, "/api/v2"+at).data(t, &detail)
	message, err := s.staff.GetMessage(t.Context(), s.company, letters[0].EventID)
	ok.NoErr(err)
	ok.Equal(detail.Body, message.Body)

	s.status.Store(http.StatusOK)
	ok.True(s.get(t, support, at).has("Replay</button>"))
	made := s.follow(t, support, s.post(t, support, at+"/replay"))
	ok.True(made.has("This page shows the new delivery."))
	ok.True(made.has("Replay of") && made.has(`data-copy="`+letters[0].ID.String()+`"`))
	ok.Equal(s.post(t, support, at+"/replay").StatusCode, http.StatusSeeOther)
	s.sendAll(t)
	ok.True(s.get(t, viewer, webhooks+"/deliveries?status=SUCCEEDED").has("replay"))
}

func TestManyAreReplayedAfterACount(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	endpoint := s.endpoint(t)
	s.status.Store(http.StatusInternalServerError)
	for range 3 {
		s.sell(t)
	}
	s.sendAll(t)
	list := s.get(t, administrator, webhooks+"/deliveries?status=FAILED")
	ok.True(list.has("/webhooks/replay?status=FAILED"))
	counted := s.get(t, administrator, webhooks+"/replay?status=FAILED&endpointId="+endpoint.ID.String())
	ok.True(counted.has("3 deliveries selected"))
	ok.True(counted.has("Replay 3 deliveries</button>"))
	ok.Equal(s.get(t, viewer, webhooks+"/replay").StatusCode, http.StatusForbidden)
	var count struct {
		Count  int               `json:"count"`
		Filter map[string]string `json:"filter"`
	}
	s.get(t, administrator, "/api/v2"+webhooks+"/replay?status=FAILED").data(t, &count)
	ok.Equal(count.Count, 3)

	var fields []string
	for name, value := range count.Filter {
		fields = append(fields, name, value)
	}
	s.sell(t) // It fails after the count, so it is not replayed.
	s.sendAll(t)
	done := s.follow(t, administrator, s.post(t, administrator, webhooks+"/replay/start", fields...))
	ok.True(done.has("3 deliveries are being replayed."))
	ok.True(s.get(t, administrator, webhooks+"/replay?status=CANCELLED").has("0 deliveries selected"))
	unknown := s.postJSON(t, administrator, webhooks+"/replay/start", `{"endpointId":"`+uuid.NewString()+`"}`)
	ok.Equal(unknown.StatusCode, http.StatusNotFound)
}

func TestDeliveriesHavePagesAndFilters(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	ok.True(s.get(t, viewer, webhooks+"/deliveries").has("No deliveries yet"))
	s.endpoint(t)
	for range 3 {
		s.sell(t)
	}
	s.sendAll(t)
	first := s.get(t, viewer, webhooks+"/deliveries?limit=2&type=order.created")
	ok.Equal(strings.Count(first.text, `<td data-label="Event">order.created</td>`), 2)
	_, after, found := strings.Cut(first.text, `class="button quiet" href="`+strings.ReplaceAll(webhooks, "{companyId}",
		s.company.String())+"/deliveries?cursor=")
	ok.True(found)
	cursor, _, _ := strings.Cut(after, "&")
	rest := s.get(t, viewer, webhooks+"/deliveries?limit=2&type=order.created&cursor="+cursor)
	ok.Equal(strings.Count(rest.text, `<td data-label="Event">order.created</td>`), 1)
	// A cursor of another filter.
	ok.Equal(s.get(t, viewer, webhooks+"/deliveries?cursor="+cursor).StatusCode, http.StatusBadRequest)
	ok.True(s.get(t, viewer, webhooks+"/deliveries?since=2030-01-01").has("No results"))
	ok.True(!s.get(t, viewer, webhooks+"/deliveries?until=2026-11-21").has("No results")) // the day itself counts
	for _, query := range []string{"status=LOST", "type=order.lost", "endpointId=1", "since=x", "colour=red"} {
		ok.Equal(s.get(t, viewer, webhooks+"/deliveries?"+query).StatusCode, http.StatusBadRequest) // query
	}
}

// TestMoreDeliveriesThanOneReplayMay checks that a page counts no further than it has to, and that the act refuses.
func TestMoreDeliveriesThanOneReplayMay(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	s.endpoint(t)
	const most = 1000
	for range most + 50 {
		_, err := s.staff.TriggerWebhook(t.Context(), s.company, ticketing.FactOrderCreated)
		ok.NoErr(err)
	}
	s.sendAll(t)
	page := s.get(t, administrator, webhooks+"/replay")
	ok.True(page.has("More than 1000 deliveries selected") && page.has("At most 1000 can be replayed at a time."))
	refused := s.post(t, administrator, webhooks+"/replay/start", "until", "2030-01-01T00:00:00Z")
	ok.Equal(refused.StatusCode, http.StatusConflict)
	ok.True(refused.has("At most 1000 deliveries are replayed at once, and these are more."))
}
