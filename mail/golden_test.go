package mail_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// fillGolden writes the mails to testdata as they are rendered.
var fillGolden = flag.Bool("fill-golden", false, "write the mails in testdata as they are rendered")

// goldenMails are the mails in testdata.
func goldenMails() map[string]ticketing.TicketMail {
	english := lagosMail(append(
		seats(2, "Lagos Jazz Night", "VIP", 25_000_00), seat{"Lagos Jazz Night", "GENERAL_ADMISSION", 10_000_00},
	)...)
	english.Order.Branding.LogoURL = new("https://cdn.harmattan.example/logo.png")
	night := yoruba(1)
	night.Event.Schedule = schedule("2030-12-31", "22:00", "04:00", "Africa/Lagos")
	change := lagosMail(seats(1, "Clubnacht", "REGULAR", 0)...)
	change.Event.Title = "Clubnacht"
	change.Event.Schedule = schedule("2030-10-26", "22:00", "04:00", "Europe/Berlin")
	change.Sample = true
	bare := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 25_000_00)...)
	bare.Event.Schedule, bare.Event.Location, bare.Event.OrganizerName = ticketing.Schedule{}, ticketing.Location{}, nil
	bare.Event.Status = ticketing.EventCancelled
	brand := bare.Order.Branding
	bare.Order.Branding = ticketing.Branding{
		BrandName: brand.BrandName, PrimaryColor: brand.PrimaryColor, AccentColor: brand.AccentColor,
	}
	return map[string]ticketing.TicketMail{
		"english": english, "yoruba-overnight": night, "arabic": arabic(2), "clock-change-sample": change,
		"cancelled-bare": bare, "fifty": lagosMail(seats(50, "Lagos Jazz Night", "VIP", 25_000_00)...),
	}
}

// TestMailsAreThoseOfTestdata compares the parts of some mails with files that were reviewed in a browser. After a
// change of the templates review them again; "go test ./mail -run Testdata -fill-golden" writes them.
func TestMailsAreThoseOfTestdata(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for name, tickets := range goldenMails() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			made := render(is, renderer, tickets)
			parts := map[string]string{".html": made.HTML, ".txt": made.Text}
			for _, file := range made.Attached {
				parts[filepath.Ext(file.Name)] = string(file.Data)
			}
			for _, kind := range []string{".html", ".txt", ".ics"} {
				part, has := parts[kind]
				path := filepath.Join("testdata", name+kind)
				if *fillGolden && has {
					is.NoErr(os.WriteFile(path, []byte(part), 0o644))
				}
				want, err := os.ReadFile(path)
				is.Equal(err == nil, has) // A mail without a calendar entry has no file of one.
				if part != string(want) {
					t.Errorf("the mail is not that of %s", path)
				}
			}
		})
	}
}
