package console

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// invitePatience limits how long the mail server may take to accept an invitation.
const invitePatience = 15 * time.Second

// invitation are the members of an invitation.
type invitation struct {
	ticketing.AddMemberParams

	by string // "link" or "mail"
}

func readInvitation(m *members) invitation {
	p := invitation{
		AddMemberParams: ticketing.AddMemberParams{
			Email: m.text("email"), Name: m.text("name"), Role: enum[ticketing.Role](m, "role"),
		},
		by: m.optionalText("by"),
	}
	if p.by != "" && p.by != "link" && p.by != "mail" {
		m.reader.Refuse("by", "must be link or mail")
	}
	return p
}

// invited is the result of an invitation. The link is shown only once.
type invited struct {
	Member    ticketing.Member `json:"member"`
	Link      string           `json:"link,omitempty"` // empty: it was mailed, or they have signed in before
	ExpiresAt *ticketing.Time  `json:"expiresAt,omitempty"`
	Mailed    bool             `json:"mailed"`

	SignIn   string `json:"-"` // the address of the sign-in page
	Withheld bool   `json:"-"` // the person who invites may not have a link
	Mails    bool   `json:"-"` // the service can mail a code to sign in with
	Failed   bool   `json:"-"` // the mail could not be sent
}

func inviteMember(ctx context.Context, c *call, p invitation) (outcome, error) {
	mails, err := c.console.canMail(ctx)
	if err != nil {
		return outcome{}, err
	}
	if p.by == "mail" && !mails {
		return outcome{}, conflicted("This service sends no mail." + c.otherwise())
	}
	if p.by != "mail" {
		return c.handInvitation(ctx, p, mails, false)
	}
	made, err := c.operator.InviteMemberByMail(ctx, c.companyID, p.AddMemberParams)
	if err != nil {
		return outcome{}, err
	}
	// An invitation that the service refuses sends no mail, so it must not count against the limits.
	if err := c.limitInvitation(ctx, made.Member.Email); err != nil {
		return outcome{}, err
	}
	address, once := c.invitationAddress(made.Link)
	if err := c.mailInvitation(ctx, made.Member.Email, address, once); err != nil {
		c.console.config.Logger.LogAttrs(ctx, slog.LevelError, "invitation not sent",
			slog.String("requestId", c.exchange.id), slog.String("error", safeText(err)))
		// The membership exists by now, so the person gets a link to send by another way. It is not the mailed one:
		// opening that proves that somebody has received the mail.
		return c.handInvitation(ctx, p, mails, true)
	}
	shown := invited{Member: made.Member, Mailed: true}
	return outcome{data: shown, done: "The invitation was sent to " + made.Member.Email + "."}, nil
}

// The limits of invitations by mail. Otherwise a company could send any number of mails to anybody.
const (
	invitesPerCompany = 30
	invitesPerAddress = 5 // of all companies together
	inviteWindow      = 24 * time.Hour
)

// limitInvitation counts a mail to an address, whose owner is already a member. It returns RATE_LIMITED over the limit
// of the company or of the address. The limit of the address reveals nothing of other companies: neither that they
// invited the same person nor when.
func (c *call) limitInvitation(ctx context.Context, email string) error {
	text := fmt.Sprintf("this company has mailed %d invitations within a day.", c.console.invites.Requests)
	wait, err := c.console.invites.Take(ctx, c.companyID.String(), "", c.now)
	if wait == 0 && err == nil {
		text = "no further invitation can be mailed to this address today."
		wait, err = c.console.invited.Take(ctx, strings.ToLower(email), "", c.now)
		if wait > 0 {
			wait = int(inviteWindow.Seconds())
		}
	}
	if err != nil || wait == 0 {
		return err
	}
	text = "The person is a member now, but got no mail: " + text + c.otherwise()
	return &limitError{&ticketing.Error{Code: ticketing.CodeRateLimited, Message: text}, wait}
}

// otherwise returns the advice to send a link, for those who may see one. See [ticketing.Operator.InviteMember]: of all
// who manage members these are owners, and administrators of the platform. Only they may also request settlements.
func (c *call) otherwise() string {
	if c.console.config.Identify != nil || !holds(c.actor, ticketing.PermissionSettlementRequest) {
		return ""
	}
	return " Create a link instead, and send it yourself."
}

// invitationAddress returns where a new member signs in, and whether the address works only once.
func (c *call) invitationAddress(link *ticketing.Link) (address string, once bool) {
	origin := c.console.originOf(c.r)
	// Where the host signs people in, a link of ours opens nothing.
	if link == nil || c.console.config.Identify != nil {
		return origin + "/sign-in", false
	}
	return LinkURL(origin, link.Token), true
}

// handInvitation invites somebody and shows the link to the person who invites.
func (c *call) handInvitation(ctx context.Context, p invitation, mails, failed bool) (outcome, error) {
	made, err := c.operator.InviteMember(ctx, c.companyID, p.AddMemberParams)
	if err != nil {
		return outcome{}, err
	}
	shown := invited{
		Member: made.Member, SignIn: c.console.originOf(c.r) + "/sign-in", Withheld: made.Withheld, Mails: mails,
		Failed: failed,
	}
	if address, once := c.invitationAddress(made.Link); once {
		shown.Link, shown.ExpiresAt = address, &made.Link.ExpiresAt
	}
	return outcome{data: shown, show: "invited.html"}, nil
}

// mailInvitation mails the address at which a new member signs in.
func (c *call) mailInvitation(ctx context.Context, to, address string, once bool) error {
	sender, err := c.console.staff().GetMailSender(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, invitePatience)
	defer cancel()
	company := c.company.Name
	if company == "" {
		company = "a company"
	}
	note := "Sign in there with this address."
	if once {
		note = "The link works once, within 30 minutes. After that, sign in with this address."
	}
	return c.console.config.Mailer.Mail(ctx, ticketing.Mail{
		FromName: sender.Name, FromAddress: sender.Address, To: to, Subject: "You can now work with " + company,
		MessageID: "<" + uuid.NewString() + "@" + hostName(c.console.originOf(c.r)) + ">", Date: c.now,
		Text: "You have been invited to work with " + company + ". Open\n\n" + address + "\n\n" + note + "\n",
		HTML: `<!doctype html><html lang="en"><body style="font:16px/1.5 system-ui,sans-serif;color:#1c1f26">` +
			`<p>You have been invited to work with <strong>` + html.EscapeString(company) + `</strong>.</p><p><a href="` +
			html.EscapeString(address) + `">Sign in</a></p><p>` + note + `</p></body></html>`,
	})
}
