package mail_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// part is a part of a message as a reader sees it.
type part struct {
	contentType string
	params      map[string]string
	header      map[string][]string
	body        []byte
	parts       []part
}

// parse parses a message with the standard library, which did not write it.
func parse(tb testing.TB, data []byte) (netmail.Header, part) {
	tb.Helper()
	message, err := netmail.ReadMessage(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("%v in\n%q", err, data)
	}
	return message.Header, parsePart(tb, message.Header, message.Body)
}

func parsePart(tb testing.TB, header map[string][]string, body io.Reader) part {
	tb.Helper()
	get := netmail.Header(header).Get
	p := part{header: header}
	var err error
	if p.contentType, p.params, err = mime.ParseMediaType(get("Content-Type")); err != nil {
		tb.Fatal(err)
	}
	if strings.HasPrefix(p.contentType, "multipart/") {
		reader := multipart.NewReader(body, p.params["boundary"])
		for {
			next, err := reader.NextRawPart()
			if err == io.EOF {
				return p
			}
			if err != nil {
				tb.Fatal(err)
			}
			p.parts = append(p.parts, parsePart(tb, next.Header, next))
		}
	}
	switch get("Content-Transfer-Encoding") {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	default:
		tb.Fatalf("encoding %q", get("Content-Transfer-Encoding"))
	}
	if p.body, err = io.ReadAll(body); err != nil {
		tb.Fatal(err)
	}
	return p
}

// wanted are the headers that a message has, in order, without those that depend on the mail.
var wanted = []string{
	"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To",
}

// checkMessage checks that the message holds what the mail does, and nothing else.
func checkMessage(tb testing.TB, data []byte, m ticketing.Mail) {
	tb.Helper()
	is := is.New(tb)
	checkLines(tb, data)
	header, top := parse(tb, data)
	names := slices.Clone(wanted)
	if m.References != "" {
		names = append(names, "In-Reply-To", "References")
		is.Equal(header["In-Reply-To"], []string{m.References})
		is.Equal(header["References"], []string{m.References})
	}
	if m.HTML == "" && len(m.Inline)+len(m.Attached) == 0 {
		names = append(names, "Content-Transfer-Encoding")
	}
	if reply, ok := header["Reply-To"]; ok {
		names = append(names, "Reply-To")
		addresses, err := netmail.ParseAddressList(reply[0])
		is.NoErr(err)
		is.Equal(len(addresses), 1)
		is.Equal(addresses[0].Name, "")
	}
	slices.Sort(names)
	var got []string
	for name, values := range header {
		if name == "Dkim-Signature" {
			continue
		}
		got = append(got, name)
		is.Equal(len(values), 1) // each header once
	}
	slices.Sort(got)
	is.Equal(got, names)

	from, err := netmail.ParseAddressList(header.Get("From"))
	is.NoErr(err)
	is.Equal(len(from), 1)
	is.Equal(from[0].Address, m.FromAddress)
	is.Equal(squeezed(from[0].Name), squeezed(m.FromName))
	// Some readers also decode encoded words in quotes.
	is.True(header.Get("From")[0] != '"' || !strings.Contains(header.Get("From"), "=?"))
	is.True(!strings.ContainsFunc(from[0].Name, turns) && !strings.ContainsFunc(from[0].Name, unicode.IsControl))
	to, err := netmail.ParseAddressList(header.Get("To"))
	is.NoErr(err)
	is.Equal(len(to), 1)
	is.Equal(to[0].Name, "")
	if !strings.HasPrefix(m.To, `"`) {
		is.Equal(to[0].Address, m.To)
	}
	is.Equal(header.Get("Message-ID"), m.MessageID)
	is.Equal(header.Get("Auto-Submitted"), "auto-generated")
	date, err := header.Date()
	is.NoErr(err)
	is.True(date.Equal(m.Date.Truncate(time.Second)))
	subject, err := new(mime.WordDecoder).DecodeHeader(header.Get("Subject"))
	is.NoErr(err)
	is.Equal(squeezed(subject), squeezed(m.Subject))
	is.True(!strings.ContainsFunc(subject, turns) && !strings.ContainsFunc(subject, unicode.IsControl))

	// mixed(related(alternative(text, html), pictures), files), without the levels that have nothing to hold.
	content := top
	if len(m.Attached) > 0 {
		is.Equal(content.contentType, "multipart/mixed")
		is.Equal(len(content.parts), 1+len(m.Attached))
		for i, file := range content.parts[1:] {
			checkFile(tb, file, m.Attached[i], "attachment")
		}
		content = content.parts[0]
	}
	if len(m.Inline) > 0 {
		is.Equal(content.contentType, "multipart/related")
		is.Equal(len(content.parts), 1+len(m.Inline))
		for i, file := range content.parts[1:] {
			checkFile(tb, file, m.Inline[i], "inline")
			is.Equal(netmail.Header(file.header).Get("Content-ID"), "<"+m.Inline[i].ContentID+">")
		}
		content = content.parts[0]
	}
	alternatives := []part{content}
	want := []string{m.Text}
	if m.HTML != "" {
		is.Equal(content.contentType, "multipart/alternative")
		alternatives, want = content.parts, append(want, m.HTML)
	}
	is.Equal(len(alternatives), len(want))
	for i, p := range alternatives {
		is.Equal(p.contentType, []string{"text/plain", "text/html"}[i])
		is.Equal(p.params["charset"], "UTF-8")
		is.Equal(unified(string(p.body)), unified(strings.ToValidUTF8(want[i], "\uFFFD")))
	}
}

func checkFile(tb testing.TB, p part, file ticketing.MailFile, disposition string) {
	tb.Helper()
	is := is.New(tb)
	want, _, err := mime.ParseMediaType(file.ContentType)
	is.NoErr(err)
	is.Equal(p.contentType, want)
	got, params, err := mime.ParseMediaType(netmail.Header(p.header).Get("Content-Disposition"))
	is.NoErr(err)
	is.Equal(got, disposition)
	is.True(!strings.ContainsAny(params["filename"], "/\\\r\n\"<>"))
	is.Equal(params["filename"], p.params["name"])
	is.True(bytes.Equal(p.body, file.Data))
}

// checkLines checks that all lines end with CR LF and are short, and that no header line is only white space.
func checkLines(tb testing.TB, data []byte) {
	tb.Helper()
	is := is.New(tb)
	is.True(bytes.HasSuffix(data, []byte("\r\n")))
	header, _, _ := bytes.Cut(data, []byte("\r\n\r\n"))
	is.True(len(header) < len(data))
	for line := range bytes.SplitSeq(bytes.TrimSuffix(data, []byte("\r\n")), []byte("\r\n")) {
		is.True(!bytes.ContainsAny(line, "\r\n\x00"))
		// Only an address or an id is so long that it cannot be folded.
		is.True(len(line) <= 78 || len(line) <= 998 && bytes.ContainsAny(line, "@\""))
		is.True(isASCII(line) || bytes.Contains(line, []byte("@")))
	}
	for line := range bytes.SplitSeq(header, []byte("\r\n")) {
		is.True(len(bytes.TrimSpace(line)) > 0)
	}
}

func isASCII(b []byte) bool { return !bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x80 }) }

// squeezed returns what must arrive of a text in a header: everything except white space, control characters, and
// characters that change the direction. A backslash may be a full-width one. Longer texts are cut.
func squeezed(s string) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f && r <= 0xa0 || turns(r) ||
			strings.ContainsRune("\u1680\u2028\u2029\u202f\u205f\u3000", r) || r >= 0x2000 && r <= 0x200a {
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\uFF3C", `\`))
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100])
	}
	return s
}

// turns reports whether the character changes or embeds a direction.
func turns(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// unified returns the text with line breaks of one kind, as a mail has them.
func unified(s string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// hostile are texts that a company or a buyer may have given.
var hostile = []string{
	"", " ", "\r\nBcc: eve@example.com", "a\nb: c", "a\rb: c", "a\x00b", "\x1b[31mred", "\t\ttabs\t",
	"=?utf-8?q?=0D=0ABcc:_eve@example.com?=", "=?utf-8?b?DQpCY2M6IGV2ZUBleGFtcGxlLmNvbQ==?=", "a =?UTF-8?Q?x?= b",
	`"`, `\`, `\"`, `" <eve@example.com>, "`, "eve@example.com", "<eve@example.com>", "a, b; c: d", "(comment", "a@b@c",
	"\u202egnp.exe", "\u2066x\u2069 \u200f\u200e", "\u2028line\u2029", "\ufeffbom", "a\u00a0b\u3000c", "\u0085next",
	strings.Repeat("🎟️", 60), strings.Repeat("😀", 120), strings.Repeat("x", 1200), strings.Repeat("é", 1200),
	strings.Repeat("word ", 300), strings.Repeat(" ", 300) + "x", strings.Repeat("=?", 100), strings.Repeat("\"", 249),
	"\xff\xfe", "a\xc3", "ẹ̀kọ́ Yorùbá", "تذكرة ليلة", "--boundary\r\n\r\n.\r\n",
	"{{.Secret}} ${x} %s %0d%0a", "<script>alert(1)</script>",
	strings.Repeat("long ", 20) + "\r\xfb\f\nb", `é\`, `é\" <eve@example.com>`, "From here\n>From there\n.\n..\r\n",
	strings.Repeat("=", 80), "x" + strings.Repeat(" ", 77) + "y",
}

// Whatever the texts of a mail hold, no header gains a line, no header and no address is added, and the texts arrive.
func TestTextsStayTexts(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for field := range 3 {
				m := ticketMail(2)
				switch field {
				case 0:
					m.FromName = text
				case 1:
					m.Subject = text
				case 2:
					m.Text, m.HTML = text, text
				}
				checkHostile(t, m)
			}
		})
	}
}

// checkHostile checks the message of a mail that may hold anything.
func checkHostile(tb testing.TB, m ticketing.Mail) {
	tb.Helper()
	data, err := mail.Format(m)
	is.New(tb).NoErr(err)
	// A name that looks like an encoded word gets a space, which squeezed leaves out on both sides.
	checkMessage(tb, data, m)
}

// What is written to a header unchanged must be well formed, or the mail is not made.
func TestMalformedFieldsAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		change  func(m *ticketing.Mail)
		refused error
	}{
		{"no recipient", func(m *ticketing.Mail) { m.To = "" }, ticketing.ErrMailRefused},
		{"two recipients", func(m *ticketing.Mail) { m.To = "a@example.com,b@example.com" }, ticketing.ErrMailRefused},
		{"no sender", func(m *ticketing.Mail) { m.FromAddress = "" }, nil},
		{"sender with a line", func(m *ticketing.Mail) { m.FromAddress = "a@example.com\r\nX: y" }, nil},
		{"bounces", func(m *ticketing.Mail) { m.Bounces = "a b@example.com" }, nil},
		{"no message id", func(m *ticketing.Mail) { m.MessageID = "" }, nil},
		{"message id without brackets", func(m *ticketing.Mail) { m.MessageID = "a@example.com" }, nil},
		{"message id with a line", func(m *ticketing.Mail) { m.MessageID = "<a\r\nX: y@example.com>" }, nil},
		{"two message ids", func(m *ticketing.Mail) { m.MessageID = "<a@example.com> <b@example.com>" }, nil},
		{"reference with a line", func(m *ticketing.Mail) { m.References = "<a@example.com>\r\nX: y" }, nil},
		{"no date", func(m *ticketing.Mail) { m.Date = time.Time{} }, nil},
		{"content id with a line", func(m *ticketing.Mail) { m.Inline[0].ContentID = "a\r\nX: y" }, nil},
		{"content id in brackets", func(m *ticketing.Mail) { m.Inline[0].ContentID = "<a@b>" }, nil},
		{"no content id", func(m *ticketing.Mail) { m.Inline[0].ContentID = "" }, nil},
		{"content type with a line", func(m *ticketing.Mail) { m.Inline[0].ContentType = "image/png\r\nX: y" }, nil},
		{"parameter with a line", func(m *ticketing.Mail) { m.Attached[0].ContentType = "a/b; c=\"d\r\nX: y\"" }, nil},
		{"no content type", func(m *ticketing.Mail) { m.Attached[0].ContentType = "" }, nil},
		{"half a content type", func(m *ticketing.Mail) { m.Attached[0].ContentType = "text" }, nil},
		{"multipart", func(m *ticketing.Mail) { m.Attached[0].ContentType = "multipart/mixed; boundary=x" }, nil},
		{"mail within", func(m *ticketing.Mail) { m.Attached[0].ContentType = "message/rfc822" }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := ticketMail(1)
			test.change(&m)
			_, err := mail.Format(m)
			checkError(t, err, test.refused, "")
		})
	}
}

// The name of a file cannot lead a mail program out of its folder. A malformed address for replies does not stop the
// mail.
func TestHarmlessFieldsAreCleaned(t *testing.T) {
	t.Parallel()
	for _, name := range append(hostile, "../../etc/passwd", `C:\x.png`, ".hidden", "con.png") {
		m := ticketMail(1)
		m.Inline[0].Name, m.Attached[0].Name, m.ReplyTo = name, name, name
		m.Inline[0].ContentType = `image/png; name="other.png"`
		checkHostile(t, m)
	}
}

// Levels without content are left out.
func TestMessageHasNoEmptyLevels(t *testing.T) {
	t.Parallel()
	m := ticketMail(0)
	checkHostile(t, m)
	m.Attached = nil
	checkHostile(t, m)
	m.HTML = ""
	checkHostile(t, m)
	m = ticketMail(3)
	m.Attached, m.References, m.ReplyTo, m.Bounces = nil, "", "", ""
	checkHostile(t, m)
}

func FuzzFormat(f *testing.F) {
	for i, text := range hostile {
		f.Add(text, hostile[len(hostile)-1-i], text, buyer, "help@example.com", "a", "image/png", text)
	}
	f.Fuzz(func(t *testing.T, name, subject, text, to, reply, id, contentType, file string) {
		m := ticketMail(1)
		m.FromName, m.Subject, m.Text, m.HTML, m.To, m.ReplyTo = name, subject, text, "<p>"+text, to, reply
		m.Inline[0].ContentID, m.Inline[0].ContentType, m.Inline[0].Name = id, contentType, file
		m.MessageID = "<" + id + "@example.com>"
		data, err := mail.Format(m)
		if err == nil {
			checkMessage(t, data, m)
		}
	})
}
