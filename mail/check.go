package mail

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Resolver looks up records; a [net.Resolver] is one. A name that does not exist, or has no such record, is a
// [*net.DNSError] with IsNotFound.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// DomainReport is what a domain's DNS says about who may send mails from it.
type DomainReport struct {
	// SPF are the records that name the servers that may send from the domain (RFC 7208). There should be exactly one:
	// receivers treat none and several as an error.
	SPF []string
	// DMARC are the records that say what receivers do with mails from other servers (RFC 7489). There should be
	// exactly one, too.
	DMARC []string
	// DMARCDomain is the domain that has the DMARC records: the one asked for, or one above it, whose records apply to
	// all domains below it. It is empty if there are none.
	DMARCDomain string
}

// CheckDomain looks up the SPF and DMARC records of the domain of a sender's address. A missing record is not an error.
// A failed look-up is one: it says nothing about the records.
//
// Where the domain itself has no DMARC record, that of the nearest domain above it counts, of two labels at least.
// Receivers may stop earlier, at a suffix under which domains are registered: they do not count a record of "co.uk".
func CheckDomain(ctx context.Context, domain string, resolver Resolver) (DomainReport, error) {
	domain = strings.ToLower(strings.TrimSuffix(domain, "."))
	if !isDomain(domain) || !isASCII(domain) || len(domain) > 253 {
		return DomainReport{}, errors.New("mail: malformed domain")
	}
	var report DomainReport
	var err error
	if report.SPF, err = records(ctx, resolver, domain, "v=spf1"); err != nil {
		return DomainReport{}, err
	}
	for above := domain; ; _, above, _ = strings.Cut(above, ".") {
		if report.DMARC, err = records(ctx, resolver, "_dmarc."+above, "v=DMARC1"); err != nil {
			return DomainReport{}, err
		}
		if len(report.DMARC) > 0 {
			report.DMARCDomain = above
			return report, nil
		}
		if strings.Count(above, ".") < 2 {
			return report, nil
		}
	}
}

// records returns the TXT records of the name that are of the version.
func records(ctx context.Context, resolver Resolver, name, version string) ([]string, error) {
	// The dot at the end turns the search list of this machine off.
	texts, err := resolver.LookupTXT(ctx, name+".")
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mail: look up the TXT records of %s: %w", name, err)
	}
	var found []string
	for _, text := range texts {
		rest, ok := strings.CutPrefix(text, version)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], " \t;")) {
			found = append(found, text)
		}
	}
	return found, nil
}
