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

// newSender posts webhooks to public HTTPS addresses alone. For development, a file of certificates that vouch for a
// receiver on this machine or its network opens those, too: whoever may register an endpoint reaches them then.
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

// register has the company's events go to an address, and writes the secret that they are signed with, which is shown this
// once, to a file of its owner's alone, for whoever runs the receiver. At the next start the endpoint is there already. It
// stands for a page of the host's on which a company runs its endpoints.
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
	if err != nil { // An endpoint whose secret nobody has is of no use.
		return errors.Join(err, op.DeleteWebhookEndpoint(ctx, issued.ID))
	}
	return nil
}
