package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// MaxEndpointCount is where each count of an [EndpointHealth] stops: 1000 means 1000 or more. So the work does not grow
// with the number of deliveries.
const MaxEndpointCount = 1000

// endpointHealthPeriod is the time whose failures are counted.
const endpointHealthPeriod = 24 * time.Hour

// EndpointHealth is how an endpoint has received its deliveries lately.
type EndpointHealth struct {
	EndpointID uuid.UUID `json:"endpointId"`
	// LastSuccessAt is when it last accepted a delivery; nil if it accepted none of those that are kept, see
	// [Config.WebhookRetention].
	LastSuccessAt *Time `json:"lastSuccessAt"`
	// Failures24h is how many deliveries became dead letters within the last 24 hours, replays included. At most
	// [MaxEndpointCount], as are the other two.
	Failures24h int `json:"failures24h"`
	// Pending is how many deliveries wait.
	Pending int `json:"pending"`
	// Retrying is how many of those that wait have failed at least once. If more than [MaxEndpointCount] wait, it is of
	// those that are due first.
	Retrying int `json:"retrying"`
}

// EndpointHealth returns the health of all endpoints of a company, in the order of [Operator.ListWebhookEndpoints]. A
// company that does not exist is NOT_FOUND. It needs COMPANY:webhook:read.
func (o Operator) EndpointHealth(ctx context.Context, companyID uuid.UUID) ([]EndpointHealth, error) {
	if err := o.allow(PermissionWebhookRead, companyID); err != nil {
		return nil, err
	}
	since := o.s.now().Add(-endpointHealthPeriod)
	var shown []EndpointHealth
	err := o.snapshot(ctx, PermissionWebhookRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			endpoints, err := tx.ListWebhookEndpoints(ctx, companyID)
			if err != nil {
				return err
			}
			records, err := tx.EndpointHealth(ctx, driver.EndpointHealthQuery{
				Companies: []uuid.UUID{companyID}, Since: since, Most: MaxEndpointCount,
			})
			if err != nil {
				return err
			}
			// The two reads may be of different moments on a store that is bound to a transaction.
			of := make(map[int64]driver.EndpointHealth, len(records))
			for _, record := range records {
				of[record.Endpoint] = record
			}
			shown = make([]EndpointHealth, len(endpoints))
			for i, endpoint := range endpoints {
				health := of[endpoint.Number]
				shown[i] = EndpointHealth{
					EndpointID: endpoint.ID, LastSuccessAt: optionalTime(health.LastSuccessAt), Failures24h: health.Failed,
					Pending: health.Pending, Retrying: health.Retrying,
				}
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return shown, nil
}
