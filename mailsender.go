package ticketing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

// MailSender is the platform's verified sender, from which all ticket mails come (section 1, item 7). A sender belongs
// to no company: Phase 1 has no sender domains of tenants.
type MailSender struct {
	Address string `json:"from"`
	Name    string `json:"name"`
	// Bounces is the address for reports of failed deliveries; nil: Address.
	Bounces *string `json:"bounces"`
	Since   Time    `json:"since"` // when it was set
}

// MailSenderParams are a new version of the mail sender. Texts are trimmed, and addresses are in lower case.
type MailSenderParams struct {
	Address string // one email address, at most 254 characters
	Name    string // on one line, 1 to 100 characters
	Bounces string // one email address, at most 254 characters; empty: Address
}

// Limits of a mail sender, in characters. No mail server accepts a longer address (RFC 5321).
const (
	maxMailAddress    = 254
	maxMailSenderName = 100
	maxMailDomain     = 200
)

// errNoMailSender is the error where the platform has no mail sender.
var errNoMailSender = notFound("The mail sender")

// showMailSender returns the version as operators see it.
func showMailSender(m driver.MailSender) MailSender {
	return MailSender{Address: m.Address, Name: m.Name, Bounces: optional(m.Bounces), Since: Time{Time: m.CreatedAt}}
}

// SetMailSender sets the platform's mail sender. From now on each sale gets a notification, and every process sends in
// the name of this sender. It is kept in the database and not in a configuration, so that all processes agree on who
// mails and on whether mails are made at all. Orders of before get no mail by themselves, see
// [Operator.ResendNotifications]. The same sender again changes nothing. It needs tenant:manage.
//
// The service cannot know whether mail servers accept mail from this address: its domain needs SPF, DKIM and DMARC.
func (o Operator) SetMailSender(ctx context.Context, params MailSenderParams) (MailSender, error) {
	var v violations
	next := driver.MailSender{
		Address: requiredEmail(&v, "from", params.Address, maxMailAddress),
		Name:    requiredText(&v, "name", params.Name, 1, maxMailSenderName),
		Bounces: email(&v, "bounces", params.Bounces, maxMailAddress),
	}
	// The ids of its mails have the domain, and a header is limited.
	if domain := next.Address[strings.LastIndexByte(next.Address, '@')+1:]; len(domain) > maxMailDomain {
		v.add("from", fmt.Sprintf("must have a domain of at most %d characters", maxMailDomain))
	}
	return o.changeMailSender(ctx, "mail_sender.set", v, func(current driver.MailSender) (driver.MailSender, error) {
		next.Version, next.CreatedAt = current.Version, current.CreatedAt
		return next, nil
	})
}

// GetMailSender returns the platform's mail sender. It is NOT_FOUND if none is set. It needs tenant:read.
func (o Operator) GetMailSender(ctx context.Context) (MailSender, error) {
	if err := o.allowPlatformRead(uuid.Nil); err != nil {
		return MailSender{}, err
	}
	var found driver.MailSender
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		found, err = tx.MailSender(ctx)
		return err
	})
	if err == nil && found.Address == "" {
		err = errNoMailSender
	}
	if err != nil {
		return MailSender{}, err
	}
	return showMailSender(found), nil
}

// RemoveMailSender removes the platform's mail sender and returns it. From now on no sale gets a notification. What is
// pending waits until a sender is set again, and fails 72 hours after it was made. It is NOT_FOUND if none is set. It
// needs tenant:manage.
func (o Operator) RemoveMailSender(ctx context.Context) (MailSender, error) {
	var removed MailSender
	_, err := o.changeMailSender(ctx, "mail_sender.remove", nil,
		func(current driver.MailSender) (driver.MailSender, error) {
			removed = showMailSender(current)
			if current.Address == "" {
				return driver.MailSender{}, errNoMailSender
			}
			return driver.MailSender{Version: current.Version, CreatedAt: current.CreatedAt}, nil
		})
	if err != nil {
		return MailSender{}, err
	}
	return removed, nil
}

// changeMailSender appends the version that change makes of the current one, unless they are equal. The gate of the
// zero company serialises the versions.
func (o Operator) changeMailSender(
	ctx context.Context, action string, v violations, change func(driver.MailSender) (driver.MailSender, error),
) (MailSender, error) {
	if err := o.allowWrite(PermissionManage, uuid.Nil); err != nil {
		return MailSender{}, err
	}
	if err := v.err(); err != nil {
		return MailSender{}, err
	}
	at := o.s.now()
	var next driver.MailSender
	err := o.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if err := o.begin(ctx, tx, platformAlone(), PermissionManage, uuid.Nil); err != nil {
			return err
		}
		current, err := tx.MailSender(ctx)
		if err != nil {
			return err
		}
		if next, err = change(current); err != nil || next == current {
			return err
		}
		next.Version, next.CreatedAt = current.Version+1, notBefore(at, current.CreatedAt)
		if err := tx.AppendMailSender(ctx, next); err != nil {
			return err
		}
		return o.audit(ctx, tx, at, action, uuid.Nil, "mail sender",
			changes{auditedMailSender(current), auditedMailSender(next)})
	})
	if err != nil {
		return MailSender{}, err
	}
	// What waited for a sender can be sent now.
	o.s.Wake()
	return showMailSender(next), nil
}

// auditedMailSender returns what the audit log keeps of a sender, and nothing of one that was removed.
func auditedMailSender(m driver.MailSender) any {
	if m.Address == "" {
		return nil
	}
	return map[string]any{"from": m.Address, "name": m.Name, "bounces": optional(m.Bounces)}
}

// SampleTicketMail returns what a sample mail is made of: an order of two admissions for an event in a month, in the
// current branding of a company, or in a default one for the zero id. Neither the order nor its admissions exist, so
// their codes validate nowhere. It needs tenant:read.
func (o Operator) SampleTicketMail(ctx context.Context, companyID uuid.UUID) (TicketMail, error) {
	if err := o.allowPlatformRead(companyID); err != nil {
		return TicketMail{}, err
	}
	tickets, sender, err := o.sampleMail(ctx, companyID)
	if err == nil && sender.Address == "" {
		err = errNoMailSender
	}
	if err != nil {
		return TicketMail{}, err
	}
	tickets.Sender = showMailSender(sender)
	return tickets, nil
}

// sampleMail returns what a sample mail is made of, without its sender, and the platform's sender, which is zero where
// none is set.
func (o Operator) sampleMail(ctx context.Context, companyID uuid.UUID) (TicketMail, driver.MailSender, error) {
	look := defaultBranding(driver.Company{Name: "Sample Company"})
	var sender driver.MailSender
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		if sender, err = tx.MailSender(ctx); err != nil || companyID == uuid.Nil {
			return err
		}
		company, err := findCompany(ctx, tx, companyID)
		if err != nil {
			return err
		}
		look, err = currentBranding(ctx, tx, company)
		return err
	})
	if err != nil {
		return TicketMail{}, driver.MailSender{}, err
	}
	return sampleTickets(o.s.now(), showBranding(look)), sender, nil
}

// PreviewTicketMail returns a sample of a company's ticket mail: that of SampleTicketMail in the current branding. It
// comes from the platform's sender, or from a made-up one where none is set, and goes to an address that does not
// exist. It needs COMPANY:branding:read, and is CONFLICT for a service without [Config.MailRenderer].
func (o Operator) PreviewTicketMail(ctx context.Context, companyID uuid.UUID) (Mail, error) {
	if err := o.allow(PermissionBrandingRead, companyID); err != nil {
		return Mail{}, err
	}
	tickets, sender, err := o.sampleMail(ctx, companyID)
	if err != nil {
		return Mail{}, err
	}
	tickets.To = "buyer@example.com"
	if sender.Address != "" {
		tickets.Sender = showMailSender(sender)
	}
	return o.s.renderPreview(ctx, tickets)
}

// sampleTickets returns a made-up order for a made-up event. The ids are random, so no sample can be taken for an
// admission.
func sampleTickets(at time.Time, look Branding) TicketMail {
	const price = money.Amount(2_500_00)
	event := showEventIn(driver.Event{
		ID: uuid.New(), Title: "Sample event", Status: EventPublished, Date: at.AddDate(0, 1, 0).Format(dateLayout),
		StartsAt: "19:00", EndsAt: "23:00", Timezone: "Africa/Lagos", Location: "Lagos", Venue: "Sample Hall",
		OrganizerName: look.BrandName,
	}, driver.Category{})
	order := Order{
		ID: uuid.New(), Object: "order", EventID: event.ID, Status: OrderConfirmed, Gross: 2 * price,
		FloatDebited: 2 * price, Branding: look, ConfirmedAt: Time{Time: at}, CreatedAt: Time{Time: at},
	}
	for range 2 {
		order.Lines = append(order.Lines, OrderLine{
			ID: uuid.New(), AdmissionID: uuid.New(), Title: "Sample ticket", Tier: "REGULAR", UnitPrice: price,
		})
	}
	return TicketMail{Order: order, Event: event, Copy: 1, At: at, Sample: true}
}
