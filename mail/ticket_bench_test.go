package mail_test

import (
	"testing"

	"github.com/floatgate/ticketing/mail"
)

// BenchmarkRender1 renders the mail of one admission.
func BenchmarkRender1(b *testing.B) { benchmarkRender(b, 1) }

// BenchmarkRender50 renders the largest mail, which may take 30 ms.
func BenchmarkRender50(b *testing.B) { benchmarkRender(b, 50) }

func benchmarkRender(b *testing.B, admissions int) {
	b.Helper()
	renderer := mail.NewRenderer()
	tickets := lagosMail(seats(admissions, "Lagos Jazz Night", "VIP", 25_000_00)...)
	for b.Loop() {
		if _, err := renderer.RenderTickets(b.Context(), tickets); err != nil {
			b.Fatal(err)
		}
	}
}
