package ticketing

import (
	"context"
	"time"
)

// SaleTerms are what the sales of an event are made under. All of it is behind the company's gate.
type SaleTerms struct {
	SaleTermsRef

	Status   EventStatus    // of the event; empty where there is none
	Branding BrandingRecord // zero where there is no such version
	Rate     RateRecord     // the one that is effective; zero where none is
}

// SaleTermsRef names an event and a version of its company's branding.
type SaleTermsRef struct {
	EventRef

	BrandingVersion int64
}

// TermsReader finds what sales are made under. It tells nothing that other roles do not, and spares a sale their
// statements.
type TermsReader interface {
	// SaleTerms answers with the terms at a time, with the reference also where nothing is kept.
	SaleTerms(ctx context.Context, refs []SaleTermsRef, at time.Time) ([]SaleTerms, error)
}
