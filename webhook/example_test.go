package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/floatgate/ticketing/webhook"
)

// A receiver handles each event by its type. The sender of this example signs as the service does.
func ExampleHandler() {
	accept := func(_ context.Context, delivery webhook.Delivery) error {
		switch about := delivery.Event.Data.(type) {
		case webhook.OrderCreated:
			fmt.Println("sold for", about.Order.GrossAmount)
		case webhook.BalanceLow:
			fmt.Println("the float runs out:", about.BalanceAfter)
		}
		return nil // Other events are accepted and ignored.
	}
	handler := webhook.Handler(webhook.FixedSecrets("svc_whsec_example"), accept, nil)

	event := webhook.NewEvent("0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10", time.Now(), webhook.BalanceLow{
		OrderID: "5c6d7e8f-9012-4a3b-8c4d-5e6f70819203", Currency: "NGN", BalanceBefore: "1100.00",
		BalanceAfter: "950.00", ThresholdAmount: "1000.00",
	})
	body, err := event.Encode()
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "https://receiver.example/webhooks", strings.NewReader(string(body)))
	request.Header.Set(webhook.HeaderEventID, event.ID)
	request.Header.Set(webhook.HeaderEvent, event.Type)
	request.Header.Set(webhook.HeaderSignature, webhook.Sign("svc_whsec_example", time.Now(), body))
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	fmt.Println(answer.Code)
	// Output:
	// the float runs out: 950.00
	// 204
}

// The example of Sign's comment.
func ExampleSign() {
	fmt.Println(webhook.Sign("svc_whsec_example", time.Unix(1767225600, 0), []byte("{}")))
	// Output:
	// t=1767225600,v1=a6f6850a99c6229061afa91483d9e8e07a36ab740525ab278b3992b50acb57fa
}

// During a rotation both secrets are tried. A day later the request cannot be replayed.
func ExampleVerify() {
	signed := time.Unix(1767225600, 0)
	body := []byte("{}")
	header := webhook.Sign("svc_whsec_next", signed, body)
	fmt.Println(webhook.Verify(header, body, signed.Add(time.Second), "svc_whsec_current", "svc_whsec_next"))
	err := webhook.Verify(header, body, signed.Add(24*time.Hour), "svc_whsec_current", "svc_whsec_next")
	fmt.Println(errors.Is(err, webhook.ErrTimestamp))
	// Output:
	// <nil>
	// true
}

// A program that serves requests in its own way calls Receive.
func ExampleReceive() {
	serve := func(w http.ResponseWriter, r *http.Request) {
		delivery, err := webhook.Receive(r, time.Now(), "svc_whsec_example")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(delivery.Event.Type)
		w.WriteHeader(http.StatusAccepted)
	}
	answer := httptest.NewRecorder()
	serve(answer, httptest.NewRequest(http.MethodPost, "https://receiver.example/webhooks", strings.NewReader("{}")))
	fmt.Println(answer.Code, strings.TrimSpace(answer.Body.String()))
	// Output:
	// 400 webhook: the signature header is missing or malformed
}

// An event of a type that is newer than this package has its data as it came.
func ExampleParseEvent() {
	event, err := webhook.ParseEvent([]byte(`{"id":"0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10","type":"order.moved",` +
		`"api_version":"v1","created_at":"2026-01-01T00:00:00.000Z","data":{"to":"Ibadan"}}`))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %s\n", event.Type, event.Data)
	// Output:
	// order.moved {"to":"Ibadan"}
}

// Equal events have equal bytes.
func ExampleEvent_Encode() {
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	body, err := webhook.NewEvent("0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10", at, webhook.TicketValidated{
		AdmissionID: "3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77", EventID: "9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718",
		OrderID: "5c6d7e8f-9012-4a3b-8c4d-5e6f70819203", ValidatedAt: "2026-01-01T00:00:00.000Z",
	}).Encode()
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(string(body), ",", ",\n"))
	// Output:
	// {"id":"0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10",
	// "type":"ticket.validated",
	// "api_version":"v1",
	// "created_at":"2026-01-01T00:00:00.000Z",
	// "data":{"admission_id":"3f0c2a52-4f3e-4f5e-8f43-1d1c0b9a8e77",
	// "event_id":"9a1f5f0e-2b7c-4d8e-a1b2-c3d4e5f60718",
	// "order_id":"5c6d7e8f-9012-4a3b-8c4d-5e6f70819203",
	// "validated_at":"2026-01-01T00:00:00.000Z"}}
}
