package examples_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
	"github.com/floatgate/ticketing/store/memory"
)

// hostUser is a user of a host, and hostUsers finds the one of a request.
type (
	hostUser struct {
		Email      string
		SignedInAt time.Time
	}
	hostUsers struct {
		user func(*http.Request) (hostUser, bool)
	}
)

// mountConsole holds the first Go block of docs/console.md.
func mountConsole(svc *ticketing.Service, host hostUsers, mux *http.ServeMux) error {
	pages, err := console.New(svc, &console.Config{
		WebOrigin: "https://tickets.example",
		Identify: func(r *http.Request) (console.Person, error) {
			user, ok := host.user(r) // your own session
			if !ok {
				return console.Person{}, console.ErrNobody
			}
			return console.Person{Email: user.Email, ProvedAt: user.SignedInAt}, nil
		},
	})
	if err != nil {
		return err
	}
	for _, path := range console.Paths() {
		mux.Handle(path, pages)
	}
	return nil
}

// redirectToConsole holds the second Go block of docs/console.md.
func redirectToConsole(
	ctx context.Context, svc *ticketing.Service, user hostUser, companyID uuid.UUID, w http.ResponseWriter,
	r *http.Request,
) error {
	link, err := svc.Accounts().CreateLink(ctx, ticketing.LinkParams{
		Email: user.Email, CompanyID: companyID, Actor: "host",
	})
	if err != nil {
		return err
	}
	http.Redirect(w, r, console.LinkURL("https://tickets.example", link.Token), http.StatusSeeOther)
	return nil
}

// Every Go block of docs/console.md is in a function above, line for line.
func TestConsoleDocumentShowsCodeThatCompiles(t *testing.T) {
	t.Parallel()
	source := read(t, "console_test.go")
	blocks := strings.Split(read(t, "../docs/console.md"), "\n```go\n")[1:]
	is.New(t).Equal(len(blocks), 2)
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		var indented strings.Builder
		for line := range strings.Lines(code) {
			indented.WriteString("\t" + line)
		}
		if !strings.Contains(source, " {\n"+indented.String()) {
			t.Errorf("this block of docs/console.md is in no function of examples/console_test.go:\n%s", code)
		}
	}
}

// The code of docs/console.md lets a host's user in, and nobody else.
func TestConsoleDocumentsCode(t *testing.T) {
	t.Parallel()
	ok := is.New(t)
	svc, err := ticketing.New(memory.New(), &ticketing.Config{SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}})
	ok.NoErr(err)
	staff := svc.As(ticketing.Staff("test"))
	company, err := staff.CreateCompany(t.Context(), "Lagos Live")
	ok.NoErr(err)
	user := hostUser{Email: "ada@example.com", SignedInAt: time.Now()}
	_, err = staff.AddMember(t.Context(), company.ID, ticketing.AddMemberParams{
		Email: user.Email, Name: "Ada Obi", Role: ticketing.RoleOwner,
	})
	ok.NoErr(err)
	mux := http.NewServeMux()
	ok.NoErr(mountConsole(svc, hostUsers{func(r *http.Request) (hostUser, bool) {
		return user, r.Header.Get("Cookie") == "host=ada"
	}}, mux))
	get := func(cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://tickets.example/business/"+company.ID.String(), http.NoBody)
		r.Header.Set("Cookie", cookie)
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, r)
		return answer
	}
	ok.Equal(get("host=ada").Code, http.StatusOK)
	ok.True(strings.Contains(get("host=ada").Body.String(), "Lagos Live"))
	ok.Equal(get("host=bisi").Code, http.StatusUnauthorized)

	answer := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://host.example/manage", http.NoBody)
	ok.NoErr(redirectToConsole(t.Context(), svc, user, company.ID, answer, r))
	ok.Equal(answer.Code, http.StatusSeeOther)
	page, token, _ := strings.Cut(answer.Header().Get("Location"), "#")
	ok.Equal(page, "https://tickets.example/sign-in/link")
	in, err := svc.Accounts().OpenLink(t.Context(), token, ticketing.Client{})
	ok.NoErr(err)
	ok.Equal(in.CompanyID, company.ID)
}
