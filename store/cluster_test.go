package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
)

// TestClusterNodesHaveTheSettings checks that the time-outs and the planner's settings of a transaction, and of a read
// outside of one, apply on the node that holds the company.
func TestClusterNodesHaveTheSettings(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	s := testdb.Postgres(t)
	company := uuid.New()
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
			return err
		}
		return tx.CreateCompany(ctx, driver.Company{
			ID: company, Name: "Acme", Status: driver.CompanyActive,
			Verification: driver.Verification{Status: driver.VerificationUnverified},
			CreatedAt:    time.UnixMilli(1), UpdatedAt: time.UnixMilli(1),
		})
	}))
	names := []string{
		"lock_timeout", "statement_timeout", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "jit",
	}
	got, err := s.Settings(t.Context(), company, "Update", names...)
	is.NoErr(err)
	is.Equal(got, map[string]string{
		"lock_timeout": "7s", "statement_timeout": "8s", "enable_seqscan": "off", "enable_bitmapscan": "off",
		"enable_hashjoin": "off", "jit": "off",
	})
	got, err = s.Settings(t.Context(), company, "View", names...)
	is.NoErr(err)
	is.Equal(got, map[string]string{
		"lock_timeout": "0", "statement_timeout": "8s", "enable_seqscan": "off", "enable_bitmapscan": "off",
		"enable_hashjoin": "on", "jit": "off",
	})
}
