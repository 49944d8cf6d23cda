package mail_test

import (
	"testing"

	"github.com/floatgate/ticketing/mail"
)

// BenchmarkSMTP measures mails of two admissions, formatted and sent to a server on this machine over four encrypted
// connections. The goal is 300 a second.
func BenchmarkSMTP(b *testing.B) {
	r := receive(b, false, "PLAIN")
	s := r.mailer(b, rawURL, mail.SMTPConfig{})
	b.ReportAllocs()
	b.SetParallelism(4)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.Mail(b.Context(), ticketMail(2)); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "mails/s")
}

// BenchmarkFormat measures the message of a mail with two and with 50 admissions.
func BenchmarkFormat(b *testing.B) {
	for _, size := range []struct {
		name       string
		admissions int
	}{{"2", 2}, {"50", 50}} {
		b.Run(size.name, func(b *testing.B) {
			m := ticketMail(size.admissions)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := mail.Format(m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
