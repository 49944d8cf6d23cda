package mail_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// hostileTexts are texts of companies and buyers that try to be more than text.
var hostileTexts = []string{
	"Jazz\r\nBcc: victim@example.org",
	"Jazz\nBcc: victim@example.org\n\n<p>body</p>",
	"Jazz\rX-Header: 1",
	"Jazz\x00Night",
	"\x00",
	"Jazz\u0085Night\u2028Night\u2029Night\v\f\x1b[31m\x7f",
	"=?utf-8?B?QmNjOiB2aWN0aW1AZXhhbXBsZS5vcmc=?=",
	"=?utf-8?q?=0D=0ABcc:_victim@example.org?=",
	"=\u202e?utf-8?q?=0ABcc:_victim@example.org?=",
	`"Jazz" <victim@example.org>, "Night`,
	`\" <victim@example.org>`,
	"\u202egpj.exe\u202c\u2066\u2067\u2068\u2069\u202a\u202b\u202d\ufeff",
	"\u202e",
	strings.Repeat("🎷", 120),
	strings.Repeat("👩🏽\u200d🎤", 30),
	strings.Repeat("\u0301", 120),
	"<script>alert(1)</script>",
	"</title></style></head><body onload=alert(1)><img src=x onerror=alert(1)>",
	`"><img src="https://tracker.example.org/1.png">`,
	`' onmouseover='alert(1)`,
	"<!-- --><![CDATA[ ]]>&lt;b&gt;&#0;&#x202E;&notit;",
	"</style><style>*{display:none}",
	"red;}*{background:url(https://tracker.example.org)}",
	"expression(alert(1))",
	"{{.Sender}}{{template \"detail\" .}}${7*7}<%= 7*7 %>#{7*7}",
	"javascript:alert(1)",
	"data:text/html,<script>alert(1)</script>",
	"\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:x\\n;,:",
	"\xff\xfe invalid \xc3\x28 UTF-8",
	"a.example\r\n.\r\nMAIL FROM:<victim@example.org>",
	"https://phish.example.org/?a=1&b=2",
	"----------------------------------------",
	"",
	" ",
}

// hostileMail returns a mail with the text in all places that take one.
func hostileMail(text string) ticketing.TicketMail {
	tickets := lagosMail(seat{text, text, 100}, seat{text, "VIP", 100})
	tickets.Event.Title = text
	tickets.Event.Location = ticketing.Location{Name: &text, Venue: &text}
	tickets.Event.OrganizerName = &text
	tickets.Order.Buyer = ticketing.Buyer{Email: text, Fullname: &text, Phone: &text}
	tickets.Order.Branding = ticketing.Branding{
		BrandName: text, LogoURL: &text, PrimaryColor: text, AccentColor: text, CheckoutFooter: &text,
		TicketFooter: &text, EmailFooter: &text, SupportEmail: &text,
	}
	if strings.HasPrefix(text, "https:") {
		tickets.Order.Branding.LogoURL = nil // That would be a logo, see TestALogoIsAnHTTPSURL.
	}
	tickets.Sender.Name = text
	tickets.Sender.Bounces = &text
	return tickets
}

// harmlessMail returns a mail that has the texts where the hostile one has one that shows.
func harmlessMail(hostile ticketing.TicketMail) ticketing.TicketMail {
	harmless := hostile
	plain := func(text *string) *string {
		if text == nil || visible(*text) == "" {
			return nil
		}
		return new("Plain")
	}
	harmless.Event.Title = "Plain"
	harmless.Event.Location = ticketing.Location{
		Name: plain(hostile.Event.Location.Name), Venue: plain(hostile.Event.Location.Venue),
	}
	harmless.Event.OrganizerName = plain(hostile.Event.OrganizerName)
	harmless.Order.Lines = nil
	for _, line := range hostile.Order.Lines {
		line.Title, line.Tier = "Plain", map[bool]string{true: "VIP", false: "Other"}[line.Tier == "VIP"]
		harmless.Order.Lines = append(harmless.Order.Lines, line)
	}
	brand := hostile.Order.Branding
	harmless.Order.Branding = ticketing.Branding{
		BrandName: "Plain", TicketFooter: plain(brand.TicketFooter), EmailFooter: plain(brand.EmailFooter),
	}
	harmless.Sender.Name = "Plain"
	harmless.Sender.Bounces = nil
	return harmless
}

// visible returns a text as it must be shown: control characters are spaces, and what changes the direction is gone.
func visible(text string) string {
	var shown strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsControl(r) || r == '\u2028' || r == '\u2029':
			shown.WriteByte(' ')
		case strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff", r):
		default:
			shown.WriteRune(r)
		}
	}
	return strings.TrimSpace(shown.String())
}

// checkNoMarkup renders a mail and fails if a text is more than text in any part of it.
func checkNoMarkup(is *is.I, renderer *mail.Renderer, tickets ticketing.TicketMail) {
	is.Helper()
	made := render(is, renderer, tickets)
	plain := render(is, renderer, harmlessMail(tickets))

	for _, header := range []string{
		made.FromName, made.FromAddress, made.To, made.ReplyTo, made.Bounces, made.Subject, made.MessageID,
		made.References,
	} {
		is.True(utf8.ValidString(header))
		is.Equal(visible(header), header)        // no control character, and none that changes the direction
		is.True(!strings.Contains(header, "=?")) // no encoded word
		is.True(utf8.RuneCountInString(header) <= 320)
	}
	is.Equal(made.ReplyTo, plain.ReplyTo)
	is.Equal(made.Bounces, plain.Bounces)
	is.Equal(made.MessageID, plain.MessageID)

	is.Equal(outline(parseHTML(is, made.HTML)), outline(parseHTML(is, plain.HTML))) // no text is markup
	for node := range parseHTML(is, made.HTML).Descendants() {
		if source := attribute(node, "src"); source != "" {
			is.True(strings.HasPrefix(source, "cid:"))
		}
		is.True(!strings.Contains(node.Data, "ZgotmplZ")) // html/template refused nothing
	}
	text := textOf(parseHTML(is, made.HTML))
	is.True(strings.Contains(text, strings.Join(strings.Fields(visible(tickets.Event.Title)), " ")))
	is.True(visible(strings.ReplaceAll(text, "\n", "")) == text)

	is.Equal(strings.Count(made.Text, "\n"), strings.Count(plain.Text, "\n")) // no text is a line
	is.Equal(visible(strings.ReplaceAll(made.Text, "\n", "")), strings.ReplaceAll(strings.TrimSpace(made.Text), "\n", ""))
	is.True(utf8.ValidString(made.Text) && utf8.ValidString(made.HTML))

	entry, other := calendarOf(is, made), calendarOf(is, plain)
	is.Equal(len(entry), len(other)) // no text is a property
	for i := range entry {
		name, _, _ := strings.Cut(entry[i], ":")
		is.True(strings.HasPrefix(other[i], name+":"))
	}
}

func TestNoTextIsMoreThanText(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, text := range hostileTexts {
		t.Logf("%.60q", text)
		checkNoMarkup(is.New(t), renderer, hostileMail(text))
	}
}

// FuzzRenderTickets renders a mail with a text in each place that takes one.
func FuzzRenderTickets(f *testing.F) {
	for _, text := range hostileTexts {
		f.Add(text, text, text)
	}
	renderer := mail.NewRenderer()
	f.Fuzz(func(t *testing.T, title, place, brand string) {
		for _, text := range []string{title, place, brand} {
			if utf8.RuneCountInString(text) > 60 {
				return // longer than a tier
			}
		}
		if strings.HasPrefix(brand, "#") || strings.Contains(brand, "@") {
			return // It may be a colour or an address, which change the outline.
		}
		tickets := hostileMail(brand)
		tickets.Event.Title = title
		tickets.Order.Lines[1].Title = title
		tickets.Event.Location = ticketing.Location{Name: &place, Venue: &title}
		checkNoMarkup(is.New(t), renderer, tickets)
	})
}

func TestALogoIsAnHTTPSURL(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, logo, want string }{
		{name: "https", logo: "https://cdn.example.com/l.png?a=1&b=2", want: "https://cdn.example.com/l.png?a=1&b=2"},
		{name: "quotes", logo: `https://cdn.example.com/"x"`, want: "https://cdn.example.com/%22x%22"},
		{name: "http", logo: "http://cdn.example.com/l.png"},
		{name: "script", logo: "javascript:alert(1)"},
		{name: "script in capitals", logo: "JaVaScRiPt:alert(1)"},
		{name: "data", logo: "data:image/png;base64,AAAA"},
		{name: "part of the mail", logo: "cid:1"},
		{name: "no scheme", logo: "//cdn.example.com/l.png"},
		{name: "no host", logo: "https:l.png"},
		{name: "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Order.Branding.LogoURL = &tt.logo
			var remote []string
			for node := range parseHTML(is, render(is, renderer, tickets).HTML).Descendants() {
				if source := attribute(node, "src"); source != "" && !strings.HasPrefix(source, "cid:") {
					remote = append(remote, source)
					is.Equal(attribute(node, "alt"), "Harmattan")
				}
			}
			is.Equal(strings.Join(remote, " "), tt.want)
		})
	}
}

func TestASupportAddressIsOneAddress(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct{ name, support, link string }{
		{name: "plain", support: "help@harmattan.example", link: "mailto:help@harmattan.example"},
		{name: "quoted", support: `"a b"@harmattan.example`, link: "mailto:%22a%20b%22@harmattan.example"},
		{
			name: "with what a mailto URL reads as headers", support: "a?bcc=victim@example.org",
			link: "mailto:a%3Fbcc=victim@example.org",
		},
		{name: "two", support: "help@harmattan.example, victim@example.org"},
		{name: "a name", support: "Help <help@harmattan.example>"},
		{name: "a line", support: "help@harmattan.example\r\nBcc: victim@example.org"},
		{name: "a line in quotes", support: "\"a\nb\"@harmattan.example"},
		{name: "an open quote", support: `"a" <victim@example.org>, "b"@harmattan.example`},
		{name: "a letter outside of ASCII", support: "hélp@harmattan.example"},
		{name: "a text", support: "Call us!"},
		{name: "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Order.Branding.SupportEmail = &tt.support
			made := render(is, renderer, tickets)
			want := ""
			if tt.link != "" {
				want = tt.support
			}
			is.Equal(made.ReplyTo, want)
			found := ""
			for node := range parseHTML(is, made.HTML).Descendants() {
				found += attribute(node, "href")
			}
			is.Equal(found, tt.link)
			is.Equal(strings.Contains(made.Text, "Questions? Please ask Harmattan Live."), tt.link == "")
		})
	}
}
