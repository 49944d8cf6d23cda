package httpapi

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// validateAdmission implements section 4.9.
func validateAdmission(ctx context.Context, svc *ticketing.Service, q *request) (result, error) {
	eventID, admissionID := q.pathID("eventId"), q.pathID("admissionId")
	body := q.optionalBody()
	params := ticketing.ValidateParams{Location: strictjson.Optional(body, "location", strictjson.Text)}
	if err := q.valid(); err != nil {
		return result{}, err
	}
	return one(svc.ValidateAdmission(ctx, q.caller, eventID, admissionID, q.key, params))
}
