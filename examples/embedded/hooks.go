package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

// newSender returns a sender that posts webhooks to public HTTPS addresses only. For development, a file of root
// certificates also allows a receiver on this machine or its network. Then anyone who may register an endpoint reaches
// those addresses.
func newSender(developmentCA string) (*delivery.Sender, error) {
	if developmentCA == "" {
		return delivery.New(nil)
	}
	pem, err := os.ReadFile(developmentCA) //nolint:gosec // The host names its own file.
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", developmentCA)
	}
	return delivery.New(&delivery.Config{AllowPrivate: true, RootCAs: roots})
}

// register creates a webhook endpoint for the company. It writes the signing secret, which is shown only once, to a
// file that only its owner may read; the receiver's operator needs it. At the next start the endpoint exists already.
// It stands for a page of the host on which a company manages its endpoints.
func register(ctx context.Context, svc *ticketing.Service, companyID uuid.UUID, url, secretFile string) (err error) {
	op := svc.As(ticketing.Staff("set-up"))
	endpoints, err := op.ListWebhookEndpoints(ctx, companyID)
	if err != nil || len(endpoints) > 0 {
		return err
	}
	file, err := os.OpenFile(secretFile, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // The host's own file.
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(secretFile))
		}
	}()
	issued, err := op.CreateWebhookEndpoint(ctx, companyID, ticketing.WebhookEndpointParams{
		URL: url, Events: ticketing.WebhookEventTypes(),
	})
	if err != nil {
		return err
	}
	if _, err = file.WriteString(string(issued.Secret) + "\n"); err == nil {
		err = file.Sync()
	}
	// An endpoint whose secret is lost is of no use.
	if err != nil {
		return errors.Join(err, op.DeleteWebhookEndpoint(ctx, issued.ID))
	}
	return nil
}
