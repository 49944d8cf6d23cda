package mail_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// A URL names the server, and connects to its port or to that of its scheme.
func TestURLNamesTheServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ url, is, dials string }{
		{url: "smtp://mail.example.com", is: "smtp://mail.example.com:587", dials: "mail.example.com:587"},
		{url: "SMTP://mail.example.com/", is: "smtp://mail.example.com:587", dials: "mail.example.com:587"},
		{url: "smtps://mail.example.com", is: "smtps://mail.example.com:465", dials: "mail.example.com:465"},
		{url: "smtp://u:p@mail.example.com:25", is: "smtp://mail.example.com:25", dials: "mail.example.com:25"},
		{url: "smtps://u:p@[2001:db8::1]:1465", is: "smtps://[2001:db8::1]:1465", dials: "[2001:db8::1]:1465"},
		{url: "smtp://mailpit:1025", is: "smtp://mailpit:1025", dials: "mailpit:1025"},
		{url: rawURL, is: "smtp://mail.example.com:587", dials: "mail.example.com:587"},
	} {
		t.Run(test.url, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dialed := ""
			s, err := mail.NewSMTP(test.url, &mail.SMTPConfig{
				Dial: func(_ context.Context, _, address string) (net.Conn, error) {
					dialed = address
					return nil, errors.New(chatter)
				},
			})
			is.NoErr(err)
			is.Equal(s.String(), test.is)
			checkError(t, s.Check(t.Context()), ticketing.ErrMailServer, "")
			is.Equal(dialed, test.dials)
		})
	}
}

// A malformed URL is refused. The error repeats nothing of it: the password may be anywhere.
func TestMalformedURLIsRefused(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "hunter2", "hunter2:25", "mail.example.com:587", "http://u:hunter2@mail.example.com", "smtp:u:hunter2@host",
		"smtp://", "smtp://u:hunter2@", "smtp://u:hunter2@:25", "smtp://u:hunter2@host:0", "smtp://u:hunter2@host:65536",
		"smtp://u:hunter2@host:x", "smtp://u:hunter2@host/path", "smtp://u:hunter2@host?starttls=no",
		"smtp://u:hunter2@host?", "smtp://u:hunter2@host#", "smtp://u:hunter2@host#x", "smtp://u:12/hunter2@host",
		"smtp://u:12#hunter2@host", "smtp://u:12?hunter2@host", "smtp://u:%zzhunter2@host", "smtp://u:hunter2%00@host",
		"smtp://u:hunter2%0d%0aX@host", "smtp://hunter2@host", "smtp://:hunter2@host", "smtp://u:hunter2@ho st",
		"smtp://u:hunter2@host\r\n", "smtp://u:hunter2@hé", "smtp://u:hunter2@[fe80::1%25eth0]", "smtp://u:hunter2@a_",
		"smtp://u:hunter2@" + strings.Repeat("a", 254),
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			_, err := mail.NewSMTP(url, nil)
			is.True(err != nil)
			is.True(!strings.Contains(err.Error(), "hunter2"))
		})
	}
}

// No way to print a mailer prints its user or password.
func TestMailerKeepsItsPassword(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, err := mail.NewSMTP("smtp://someone:hunter2@mail.example.com", nil)
	is.NoErr(err)
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb, s)
	}
	slog.New(slog.NewTextHandler(&printed, nil)).Info("text", "mailer", s)
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("JSON", "mailer", s)
	is.NoErr(json.NewEncoder(&printed).Encode(map[string]any{"mailer": s}))
	for _, secret := range []string{"hunter2", "68756e74657232", "someone", "[104 117 110"} {
		is.True(!strings.Contains(printed.String(), secret))
	}
}

// A config that cannot work is refused at once.
func TestMalformedConfigIsRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []mail.SMTPConfig{
		{Rate: -1},
		{Connections: -1},
		{Hello: "a b"},
		{Hello: "a\r\nMAIL FROM:<x>"},
		{Hello: "-"},
		{Hello: strings.Repeat("a", 254)},
		{Hello: "[127.0.0.1"},
	} {
		_, err := mail.NewSMTP("smtp://"+host, &config)
		is.New(t).True(err != nil)
	}
	for _, hello := range []string{"mail.example.com", "localhost", "[127.0.0.1]", "[IPv6:2001:db8::1]"} {
		_, err := mail.NewSMTP("smtp://"+host, &mail.SMTPConfig{Hello: hello})
		is.New(t).NoErr(err)
	}
}
