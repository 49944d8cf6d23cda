package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
)

// counting is a store that counts its transactions that read.
type counting struct {
	driver.Store

	views *atomic.Int64
}

func (c counting) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	c.views.Add(1)
	return c.Store.View(ctx, fn)
}

// reject lets a company sell and request a settlement, which is rejected.
func (s *site) reject(t *testing.T, company uuid.UUID) {
	t.Helper()
	ok := is.New(t)
	own := *s
	own.company = company
	own.sell(t, own.openShop(t, 1_000_00), 1_000_00)
	_, err := s.staff.SetBankAccount(t.Context(), company, ticketing.BankAccountParams{
		Bank: "Zenith Bank", AccountNumber: "0123456789", AccountName: "Adire",
	})
	ok.NoErr(err)
	asked, err := s.staff.RequestSettlement(t.Context(), company)
	ok.NoErr(err)
	_, err = s.staff.RejectSettlement(t.Context(), asked.ID, "no such account")
	ok.NoErr(err)
}

// TestPageOfManyRowsTakesNoMoreReads counts the reads of lists before and after they got twenty rows more, each about
// somebody or something else.
func TestPageOfManyRowsTakesNoMoreReads(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	counted := counting{s.store, new(atomic.Int64)}
	svc, err := ticketing.New(counted, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: s.clock.now})
	ok.NoErr(err)
	s.server = httptest.NewServer(handler)
	t.Cleanup(s.server.Close)
	reads := func() map[string]int64 {
		counts := map[string]int64{}
		for _, path := range []string{platformAudit, members, "/platform/staff", "/platform/settlements"} {
			before := counted.views.Load()
			ok.Equal(s.get(t, chief, path).StatusCode, http.StatusOK) // path
			counts[path] = counted.views.Load() - before
		}
		before := counted.views.Load()
		ok.Equal(s.post(t, chief, platformAudit+"/export", "action", "settlement.reject").StatusCode, http.StatusOK)
		counts["export"] = counted.views.Load() - before
		return counts
	}
	// One row of each kind.
	settle := func(name string) { s.reject(t, s.newCompany(t, name)) }
	settle("First")
	few := reads()
	for i := range 9 {
		settle(fmt.Sprintf("Company %d", i))
		_, err := s.staff.AddMember(t.Context(), s.company, ticketing.AddMemberParams{
			Email: fmt.Sprintf("m%d@example.com", i), Name: "M", Role: ticketing.RoleViewer,
		})
		ok.NoErr(err)
		_, err = s.staff.AddStaff(t.Context(), ticketing.AddStaffParams{
			Email: fmt.Sprintf("s%d@example.com", i), Name: "S", Role: ticketing.StaffAuditor,
		})
		ok.NoErr(err)
	}
	ok.Equal(reads(), few)
}
