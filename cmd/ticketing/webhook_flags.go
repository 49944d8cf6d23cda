package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

// webhookFlags holds the flags about the delivery of webhooks.
type webhookFlags struct {
	NoWebhooks          bool      `help:"Deliver no webhooks from this server; another server does." name:"no-webhooks"`
	WebhookAllowPrivate bool      `help:"Let webhooks go to private addresses. For development only."`
	WebhookCAFile       roots     `help:"PEM file of additional CA certificates for webhook receivers." name:"webhook-ca-file" placeholder:"FILE"`
	WebhookRetention    retention `default:"30d" help:"How long finished deliveries are kept, such as 30d or 12h; 0 keeps them forever." placeholder:"TIME"`
	FactRetention       retention `default:"0" help:"How long published facts are kept, such as 365d; 0 keeps them forever." placeholder:"TIME"`
}

// configure configures a service to deliver webhooks and to count them. The returned function closes the sender.
func (s *webhookFlags) configure(cfg *ticketing.Config, m *webhookMetrics) (func(), error) {
	cfg.AllowPrivateWebhooks = s.WebhookAllowPrivate
	cfg.WebhookRetention, cfg.FactRetention = cmp.Or(s.WebhookRetention.Duration, longestRetention),
		s.FactRetention.Duration
	if s.NoWebhooks {
		return func() {}, nil
	}
	sender, err := delivery.New(&delivery.Config{AllowPrivate: s.WebhookAllowPrivate, RootCAs: s.WebhookCAFile.pool})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	cfg.Sender = countedSender{Sender: sender, metrics: m}
	m.delivers()
	return func() { _ = sender.Close() }, nil
}

// retention is how long something is kept; zero means for ever.
type retention struct{ time.Duration }

const (
	day              = 24 * time.Hour
	longestRetention = 100 * 365 * day
)

func (v *retention) UnmarshalText(text []byte) error {
	given := string(text)
	parsed, err := time.ParseDuration(given)
	if number, ok := strings.CutSuffix(given, "d"); ok {
		var days uint64
		days, err = strconv.ParseUint(number, 10, 16)
		parsed = time.Duration(days) * day
	}
	if err != nil || parsed > longestRetention || (parsed != 0 && parsed < time.Hour) {
		return badValue("must be a time such as 30d or 12h, at least 1h, or 0 for no limit")
	}
	v.Duration = parsed
	return nil
}
