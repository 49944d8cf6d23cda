package mail_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/mail"
)

// zone is a resolver that has the records of a map. A name whose only record is "SERVFAIL" cannot be looked up.
type zone map[string][]string

var _ mail.Resolver = (*net.Resolver)(nil)

func (z zone) LookupTXT(_ context.Context, name string) ([]string, error) {
	records, ok := z[strings.TrimSuffix(name, ".")]
	if !ok || !strings.HasSuffix(name, ".") {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	if records[0] == "SERVFAIL" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: name, IsTemporary: true}
	}
	return records, nil
}

// A domain's records are found, also the DMARC record of a domain above. A missing record is reported as missing, and a
// failed look-up is an error.
func TestRecordsOfADomain(t *testing.T) {
	t.Parallel()
	const spf, dmarc = "v=spf1 include:_spf.example.net -all", "v=DMARC1; p=reject"
	for _, test := range []struct {
		name, domain string
		zone         zone
		want         mail.DomainReport
		fails        bool
	}{
		{
			name: "both", domain: "Example.com.",
			zone: zone{"example.com": {"google-site=1", spf}, "_dmarc.example.com": {dmarc}},
			want: mail.DomainReport{SPF: []string{spf}, DMARC: []string{dmarc}, DMARCDomain: "example.com"},
		},
		{name: "none", domain: "example.com"},
		{name: "others", domain: "example.com", zone: zone{
			"example.com": {"v=spf10 -all", "spf", "V=SPF"}, "_dmarc.example.com": {"v=DMARC11", "x v=DMARC1"},
		}},
		{
			name: "two", domain: "example.com", zone: zone{"example.com": {spf, "v=spf1"}},
			want: mail.DomainReport{SPF: []string{spf, "v=spf1"}},
		},
		{
			name: "DMARC above", domain: "tickets.mail.example.com",
			zone: zone{"tickets.mail.example.com": {spf}, "_dmarc.example.com": {dmarc}},
			want: mail.DomainReport{SPF: []string{spf}, DMARC: []string{dmarc}, DMARCDomain: "example.com"},
		},
		{name: "DMARC at the top", domain: "example.com", zone: zone{"_dmarc.com": {dmarc}}},
		{
			name: "DMARC of its own", domain: "mail.example.com",
			zone: zone{"_dmarc.mail.example.com": {"v=DMARC1;p=none"}, "_dmarc.example.com": {dmarc}},
			want: mail.DomainReport{DMARC: []string{"v=DMARC1;p=none"}, DMARCDomain: "mail.example.com"},
		},
		{name: "SPF fails", domain: "example.com", zone: zone{"example.com": {"SERVFAIL"}}, fails: true},
		{name: "DMARC fails", domain: "a.example.com", zone: zone{"_dmarc.a.example.com": {"SERVFAIL"}}, fails: true},
		{name: "DMARC above fails", domain: "a.example.com", zone: zone{"_dmarc.example.com": {"SERVFAIL"}}, fails: true},
		{name: "empty", domain: "", fails: true},
		{name: "malformed", domain: "a..b", fails: true},
		{name: "not ASCII", domain: "bücher.example", fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got, err := mail.CheckDomain(t.Context(), test.domain, test.zone)
			is.Equal(err != nil, test.fails)
			is.Equal(got, test.want)
		})
	}
}
