package console_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

// TestQueuesAndHistoriesAreExported downloads queues of the platform, the versions of a branding and the attempts of
// a delivery.
func TestQueuesAndHistoriesAreExported(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newShop(t)
	_, deliveryID, _ := s.fillShop(t)
	_, err := s.staff.UpdateBranding(t.Context(), s.company, ticketing.UpdateBrandingParams{
		BrandName: new("=Adire"), SupportEmail: new("help@adire.ng"),
	})
	ok.NoErr(err)
	_, err = s.staff.UpdateVerification(t.Context(), s.other, ticketing.UpdateVerificationParams{
		LegalName: new("=Legal"), RegistrationNumber: new("RC 1"), Country: new("NG"), Address: new("1 Marina"),
		ContactName: new("Ada"), ContactEmail: new("ada@example.com"), ContactPhone: new("+234"),
	})
	ok.NoErr(err)
	_, err = s.staff.SubmitVerification(t.Context(), s.other)
	ok.NoErr(err)

	delivery := webhooks + "/deliveries/" + deliveryID
	for _, tt := range []struct {
		who, page, path string // the page with the button, and what it posts to
		rows            int
		cells           string // of the first row
		action, kept    string // as the log has it
		refused         string // a person who may not download it
	}{
		{
			who: viewer, page: "/business/{companyId}/branding", rows: 2, cells: "|'=Adire||#", action: "branding.export",
			refused: stranger,
		},
		{
			who: viewer, page: delivery, rows: 8, cells: "Z|500|", action: "attempt.export", kept: deliveryID,
			refused: stranger,
		},
		{
			who: chief, page: "/platform/cases", rows: 1, cells: s.other.String() + "|", action: "case.export", refused: owner,
		},
		{
			who: chief, page: "/platform", rows: 1, cells: "Z|" + s.company.String() + "|Adire Concerts|",
			action: "dead_letter.export", refused: owner,
		},
	} {
		path := tt.page + "/export"
		ok.True(s.get(t, tt.who, tt.page).has(`action="` + strings.ReplaceAll(path, "{companyId}", s.company.String()) + `"`))
		got := s.postJSON(t, tt.who, path, "{}")
		rows := readCSV(t, got)
		if len(rows) != 1+tt.rows || !strings.Contains(strings.Join(rows[1], "|"), tt.cells) {
			t.Errorf("%s has the rows %q", path, rows)
		}
		ok.Equal(s.post(t, tt.who, path).text, got.text) // the same by the form of the page
		var log []struct{ Changes json.RawMessage }
		s.get(t, chief, "/api/v2/platform/audit?action="+tt.action).data(t, &log)
		ok.Equal(len(log), 2) // path
		ok.True(strings.Contains(string(log[0].Changes), tt.kept))
		ok.True(s.postJSON(t, tt.refused, path, "{}").StatusCode >= http.StatusForbidden) // path
	}
	cases := readCSV(t, s.postJSON(t, chief, "/platform/cases/export", "{}"))
	ok.Equal(cases[0], []string{"companyId", "company", "number", "legalName", "submittedAt"})
	ok.Equal(cases[1][3], "'=Legal")
	// A delivery of another company is not found.
	foreign := "/business/" + s.other.String() + "/webhooks/deliveries/" + deliveryID + "/export"
	ok.Equal(s.postJSON(t, chief, foreign, "{}").StatusCode, http.StatusNotFound)
	ok.Equal(s.postJSON(t, chief, webhooks+"/deliveries/"+uuid.NewString()+"/export", "{}").StatusCode,
		http.StatusNotFound)
}

// TestPersonExportsTheirOwnLists downloads the sessions and passkeys of a person: theirs alone, and never a secret.
func TestPersonExportsTheirOwnLists(t *testing.T) {
	t.Parallel()
	ok, s := is.New(t), newSite(t)
	s.signIn(t, owner)
	var shown struct {
		Sessions []struct {
			ID      string
			Current bool
		}
	}
	s.get(t, owner, "/api/v2/account").data(t, &shown)
	rows := readCSV(t, s.postJSON(t, owner, "/account/sessions/export", "{}"))
	ok.Equal(rows[0], strings.Fields("id current method browser address createdAt confirmedAt seenAt expiresAt"))
	ok.Equal(len(rows), 1+len(shown.Sessions))
	ok.True(len(shown.Sessions) > 0)
	for i, session := range shown.Sessions {
		ok.Equal(rows[1+i][0], session.ID)
		ok.Equal(rows[1+i][1] == "true", session.Current)
	}
	ok.True(s.get(t, owner, "/account").has(`action="/account/sessions/export"`))
	ok.Equal(readCSV(t, s.postJSON(t, owner, "/account/passkeys/export", "{}")),
		[][]string{{"id", "name", "createdAt", "lastUsedAt"}})
	for _, action := range []string{"session.export", "passkey.export"} {
		var log []struct{ Actor, Subject string }
		s.get(t, chief, "/api/v2/platform/audit?action="+action).data(t, &log)
		ok.Equal(len(log), 1)
		ok.Equal(log[0].Actor, "user "+s.users[owner].String())
		ok.Equal(log[0].Subject, log[0].Actor)
	}
	err := s.Accounts().RecordExport(t.Context(), s.users[owner], ticketing.ExportedBuyers)
	ok.True(errors.Is(err, ticketing.CodeInvalidRequest))
}
