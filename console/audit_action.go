package console

import (
	"cmp"
	"slices"
	"strings"
)

// auditAction is an action of the audit log in words.
type auditAction struct {
	name, words string
	platform    bool // only the log of the platform has it
}

// auditActions returns the actions of the audit log, without the exports.
func auditActions() []auditAction {
	return []auditAction{
		{name: "bank-account.set", words: "Set the bank account"},
		{name: "branding.set", words: "Changed the branding"},
		{name: "buyer.erase", words: "Erased a buyer"},
		{name: "category.create", words: "Created a category", platform: true},
		{name: "category.deactivate", words: "Deactivated a category", platform: true},
		{name: "code.request", words: "Asked for a sign-in code", platform: true},
		{name: "commission.schedule", words: "Scheduled a commission rate"},
		{name: "company.activate", words: "Activated the company"},
		{name: "company.create", words: "Created the company"},
		{name: "company.rename", words: "Renamed the company"},
		{name: "company.suspend", words: "Suspended the company"},
		{name: "event.end", words: "Ended an event"},
		{name: "float.credit", words: "Credited Float"},
		{name: "key.issue", words: "Issued an API key"},
		{name: "key.revoke", words: "Revoked an API key"},
		{name: "key.rotate", words: "Rotated an API key"},
		{name: "kyb.approve", words: "Approved the verification"},
		{name: "kyb.edit", words: "Edited the verification"},
		{name: "kyb.end-grace", words: "Ended the grace period"},
		{name: "kyb.grace", words: "Granted a grace period"},
		{name: "kyb.reject", words: "Rejected the verification"},
		{name: "kyb.revoke", words: "Revoked the verification"},
		{name: "kyb.submit", words: "Submitted the verification"},
		{name: "link.create", words: "Created a sign-in link"},
		{name: "mail_sender.remove", words: "Removed the mail sender", platform: true},
		{name: "mail_sender.set", words: "Set the mail sender", platform: true},
		{name: "member.add", words: "Added a member"},
		{name: "member.remove", words: "Removed a member"},
		{name: "member.update", words: "Changed a member's role"},
		{name: "notification.resend", words: "Sent ticket mail again"},
		{name: "order.cancel", words: "Cancelled an order"},
		{name: "order.refund", words: "Refunded an order"},
		{name: "passkey.add", words: "Added a passkey", platform: true},
		{name: "passkey.remove", words: "Removed a passkey", platform: true},
		{name: "passkey.rename", words: "Renamed a passkey", platform: true},
		{name: "sales.rebuild", words: "Rebuilt the sales totals"},
		{name: "settlement.approve", words: "Approved a settlement"},
		{name: "settlement.reject", words: "Rejected a settlement"},
		{name: "settlement.request", words: "Requested a settlement"},
		{name: "sign_in", words: "Signed in", platform: true},
		{name: "sign_in.confirm", words: "Confirmed a sign-in", platform: true},
		{name: "sign_out", words: "Signed out", platform: true},
		{name: "staff.add", words: "Added a member of staff", platform: true},
		{name: "staff.remove", words: "Removed a member of staff", platform: true},
		{name: "staff.update", words: "Changed the role of staff", platform: true},
		{name: "wallet.activate", words: "Activated a wallet"},
		{name: "wallet.suspend", words: "Suspended a wallet"},
		{name: "webhook.activate_secret", words: "Activated a webhook secret"},
		{name: "webhook.create", words: "Created a webhook endpoint"},
		{name: "webhook.delete", words: "Deleted a webhook endpoint"},
		{name: "webhook.disable", words: "Disabled a webhook endpoint"},
		{name: "webhook.enable", words: "Enabled a webhook endpoint"},
		{name: "webhook.prepare_secret", words: "Prepared a webhook secret"},
		{name: "webhook.replay", words: "Replayed webhooks"},
		{name: "webhook.trigger", words: "Sent a sample webhook"},
		{name: "webhook.update", words: "Changed a webhook endpoint"},
	}
}

// exportSuffix ends the name of the action of a file.
const exportSuffix = ".export"

// formatAction returns the words of an action, such as "Renamed the company". An action without words gets those of its
// name.
func formatAction(name string) string {
	if list, ok := strings.CutSuffix(name, exportSuffix); ok {
		return "Downloaded a file: " + strings.ToLower(formatWords(list))
	}
	for _, one := range auditActions() {
		if one.name == name {
			return one.words
		}
	}
	return formatWords(name)
}

// actionFilter returns the choice of an action. An action of the query that is missing from it is added.
func actionFilter(c *call, platform bool) field {
	chosen := strings.TrimSpace(c.query("action"))
	var options []option
	for _, one := range auditActions() {
		if platform || !one.platform {
			options = append(options, option{Value: one.name, Label: one.words})
		}
	}
	if chosen != "" && !slices.ContainsFunc(options, func(one option) bool { return one.Value == chosen }) {
		options = append(options, option{Value: chosen, Label: formatAction(chosen)})
	}
	slices.SortStableFunc(options, func(a, b option) int { return cmp.Compare(a.Label, b.Label) })
	shown := chosenFilter(c, "action", "What", append([]option{{Label: "Anything"}}, options...)...)
	for i, one := range shown.Options {
		shown.Options[i].Chosen = one.Value == chosen
	}
	shown.Value = chosen
	return shown
}
