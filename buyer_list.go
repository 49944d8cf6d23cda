package ticketing

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// BuyerFilter selects a page of a company's buyers.
type BuyerFilter struct {
	PageParams

	// Prefix selects emails that begin with it, in any case. It has at most 320 characters without surrounding white
	// space. Empty: any.
	Prefix string
}

// emailSize is the length of an email in a cursor, in bytes. Emails are ASCII, see isEmail.
const emailSize = maxBuyerEmail

// byEmail is the order of buyers. A cursor holds the email, filled up with zero bytes, which no email has.
func byEmail() listOrder[driver.Buyer, string] {
	return listOrder[driver.Buyer, string]{
		position: func(b driver.Buyer) string { return b.Email }, size: emailSize,
		encode: func(email string) []byte { return append([]byte(email), make([]byte, emailSize-len(email))...) },
		decode: func(b []byte) (string, error) {
			email := string(bytes.TrimRight(b, "\x00"))
			// A store could not keep it.
			if !utf8.ValidString(email) || strings.ContainsRune(email, 0) {
				return "", errInvalidCursor
			}
			return email, nil
		},
	}
}

// ListBuyers returns a page of a company's buyers by email, byte by byte. An erased buyer is listed under the
// made-up email, without name and phone. A prefix that is too long or has control characters is INVALID_REQUEST, a
// cursor of another listing or prefix INVALID_CURSOR. It needs COMPANY:buyer:read.
func (o Operator) ListBuyers(
	ctx context.Context, companyID uuid.UUID, filter BuyerFilter,
) (Page[CompanyBuyer], error) {
	if err := o.allow(PermissionBuyerRead, companyID); err != nil {
		return Page[CompanyBuyer]{}, err
	}
	var v violations
	prefix := strings.ToLower(trimmedText(&v, "prefix", filter.Prefix, maxBuyerEmail, false))
	list, err := openListing(byEmail(), filter.PageParams, v, "buyers", companyID.String(), prefix)
	if err != nil {
		return Page[CompanyBuyer]{}, err
	}
	var page Page[CompanyBuyer]
	err = o.view(ctx, PermissionBuyerRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			buyers, err := tx.ListBuyers(ctx, driver.BuyerQuery{
				CompanyID: companyID, Prefix: prefix, After: list.after, Limit: list.limit,
			})
			if err != nil {
				return err
			}
			buyers, page.HasMore, page.NextCursor = list.cut(buyers)
			page.Items, err = showBuyers(ctx, tx, buyers)
			return err
		})
	if err != nil {
		return Page[CompanyBuyer]{}, err
	}
	return page, nil
}

// showBuyers renders buyers as an operator sees them, with the users of their emails (section 1, item 7).
func showBuyers(ctx context.Context, tx driver.PeopleReader, buyers []driver.Buyer) ([]CompanyBuyer, error) {
	emails := make([]string, len(buyers))
	for i, buyer := range buyers {
		emails[i] = buyer.Email
	}
	users, err := tx.FindUsers(ctx, emails)
	if err != nil {
		return nil, err
	}
	shown := make([]CompanyBuyer, len(buyers))
	for i, buyer := range buyers {
		shown[i] = CompanyBuyer{
			Email: buyer.Email, Fullname: optional(buyer.Fullname), Phone: optional(buyer.Phone),
			CreatedAt: Time{Time: buyer.CreatedAt}, UpdatedAt: Time{Time: buyer.UpdatedAt},
		}
		if users[i].ID != uuid.Nil {
			shown[i].UserID = &users[i].ID
		}
	}
	return shown, nil
}
