package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/browsertest"
)

// partly is a store that does not know of memberships in a company, as while the node of that company is away.
type partly struct {
	driver.Store

	absent uuid.UUID
}

func (p partly) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	return p.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		return fn(ctx, partOf{tx, p.absent})
	})
}

type partOf struct {
	driver.ReadTx

	absent uuid.UUID
}

func (p partOf) ListMemberships(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Member, error) {
	members, err := p.ReadTx.ListMemberships(ctx, userID, limit)
	if err != nil {
		return nil, err
	}
	present := slices.DeleteFunc(members, func(m driver.Member) bool { return m.CompanyID == p.absent })
	return present, driver.ErrIncomplete
}

// TestCompaniesWhileANodeIsAway checks that the list of a person's companies says that some may be missing, and that
// somebody without any other gets the page about a database that is away, and not an empty list.
func TestCompaniesWhileANodeIsAway(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.addMember(t, s.other, owner, ticketing.RoleOwner)
	svc, err := ticketing.New(partly{s.store, s.other}, &ticketing.Config{Clock: s.clock.now})
	ok.NoErr(err)
	handler, err := console.New(svc, &console.Config{Clock: s.clock.now})
	ok.NoErr(err)
	s.server = httptest.NewServer(handler)
	t.Cleanup(s.server.Close)
	const note, none = "Some of your companies may be missing here", "No companies yet"

	page := s.get(t, owner, "/business")
	ok.Equal(page.StatusCode, http.StatusOK)
	ok.True(page.has(note) && page.has("Adire Concerts") && !page.has("Oja Nights"))
	page = s.get(t, owner, "/api/v2/business")
	ok.True(page.has(`"incomplete":true`))
	page = s.get(t, chief, "/business") // A member of the staff, and of no company.
	ok.Equal(page.StatusCode, http.StatusOK)
	ok.True(page.has(note) && page.has("Go to the platform") && !page.has(none))
	page = s.get(t, stranger, "/business")
	ok.Equal(page.StatusCode, http.StatusServiceUnavailable)
	ok.True(!page.has(none))

	if testing.Short() {
		return // -short leaves the browser out
	}
	p := s.open(t, browsertest.New(t), owner, "/business", browsertest.Desktop)
	look(t, p, "console-companies-missing")
	p.IsClean()
}
