// Package mail renders the ticket mails of the service and sends them. Its types implement [ticketing.MailRenderer] and
// [ticketing.Mailer].
//
// [SMTP] and [Folder] implement both, so a service needs only one of them:
//
//	server, err := mail.NewSMTP(os.Getenv("TICKETING_SMTP"), nil)
//	// …
//	svc, err := ticketing.New(store, &ticketing.Config{Mailer: server})
//
// A host that has a Mailer of its own, such as for a provider's HTTP API, takes a [Renderer] as its MailRenderer.
//
// [Format] writes a mail as a message of RFC 5322. [NewSMTP] sends mails to an SMTP server, and [NewFolder] writes them
// to a folder, for development.
//
// All fields of a mail are untrusted, since they hold texts of companies and buyers. A message has one recipient and
// only the headers that Format gives it, whatever the fields hold. Errors do not quote the mail server: they have the
// code of its reply and one of the texts of this package.
package mail
