package console

import (
	"context"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

// accountExportActs returns the exports of a person's own lists. Both are on one page, so each has a path of its own.
func accountExportActs() []act {
	of := func(
		list ticketing.ExportedList, file, columns string, open func(context.Context, *call) (rowPages, error),
	) act {
		one := export{
			name: string(list) + ".export", scope: scopeSelf, page: accountPath, file: file + ".csv",
			columns: strings.Fields(columns), open: open,
			record: func(ctx context.Context, c *call) error {
				return c.console.accounts.RecordExport(ctx, c.visitor.userID, list)
			},
		}.act()
		one.path = accountPath + "/" + file + "/export"
		return one
	}
	return []act{
		of(ticketing.ExportedSessions, "sessions",
			"id current method browser address createdAt confirmedAt seenAt expiresAt", exportSessions),
		of(ticketing.ExportedPasskeys, "passkeys", "id name createdAt lastUsedAt", exportPasskeys),
	}
}

func exportSessions(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]ticketing.Session, error) {
		return c.console.accounts.ListSessions(ctx, c.visitor.userID)
	}, func(s ticketing.Session) []string {
		return []string{
			s.ID.String(), strconv.FormatBool(s.ID == c.visitor.sessionID), string(s.Method), s.Browser, s.Address,
			cellAt(&s.CreatedAt), cellAt(&s.ConfirmedAt), cellAt(&s.SeenAt), cellAt(&s.ExpiresAt),
		}
	}), nil
}

func exportPasskeys(_ context.Context, c *call) (rowPages, error) {
	return rowsOfWhole(func(ctx context.Context) ([]ticketing.Passkey, error) {
		return c.console.accounts.ListPasskeys(ctx, c.visitor.userID)
	}, func(p ticketing.Passkey) []string {
		return []string{p.ID, p.Name, cellAt(&p.CreatedAt), cellAt(p.LastUsedAt)}
	}), nil
}
