package console

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/floatgate/ticketing"
)

// bundleType is the media type of a signed bundle, which is text.
const bundleType = "text/plain; charset=utf-8"

// ledgerActs returns the downloads of the ledger: the list, the statement, and the signed bundle.
func ledgerActs() []act {
	of := act{
		scope: scopeCompany, page: ledgerPath, permission: ticketing.PermissionWalletRead, recent: true, file: true,
	}
	statement, bundle := of, of
	statement.name, statement.path = "statement.export", ledgerPath+"/statement"
	bundle.name, bundle.path = "ledger.export", ledgerPath+"/bundle"
	return []act{
		export{
			name: "movement.export", scope: scopeCompany, page: ledgerPath, permission: ticketing.PermissionWalletRead,
			recent: true, file: "movements.csv",
			columns: []string{
				"at", "wallet", "seq", "kind", "amount", "balanceBefore", "balanceAfter", "subject", "reference",
			},
			filter: withZone(ledgerFilters()), open: exportMovements, record: recordMovementExport,
		}.act(),
		newAct(statement, readStatement, exportStatement),
		newAct(bundle, noMembers, exportBundle),
	}
}

func exportMovements(_ context.Context, c *call) (rowPages, error) {
	filter, err := movementFilter(c)
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		filter.PageParams = ticketing.PageParams{Cursor: cursor, Limit: exportPage}
		found, err := c.operator.ListMovements(ctx, c.companyID, filter)
		rows := make([][]string, len(found.Items))
		for i, one := range found.Items {
			rows[i] = []string{
				one.CreatedAt.UTC().Format(timeFormat), string(one.Wallet), strconv.FormatInt(one.Sequence, 10),
				string(one.Kind), one.Amount.String(), one.BalanceBefore.String(), one.BalanceAfter.String(),
				string(one.Subject), one.Reference,
			}
		}
		return rows, found.NextCursor, asPeriod(err)
	}, err
}

func recordMovementExport(ctx context.Context, c *call) error {
	filter, err := movementFilter(c)
	if err != nil {
		return err
	}
	return c.operator.RecordMovementExport(ctx, c.companyID, filter)
}

// readStatement reads the period of a statement, as the query of a page has it.
func readStatement(m *members) map[string]string {
	return map[string]string{
		"since": m.optionalText("since"), "until": m.optionalText("until"), zoneQuery: m.optionalText(zoneQuery),
	}
}

// errRead stops a statement after its first line.
var errRead = errors.New("console: the first line was read")

func exportStatement(ctx context.Context, c *call, period map[string]string) (outcome, error) {
	// A refusal shows the page with the list that it had.
	asked := *c
	asked.values = period
	from, to, err := asked.period()
	if err != nil {
		return outcome{}, err
	}
	// Errors of the period and the database show here, before the response has begun, and leave no entry in the audit
	// log.
	wanted := ticketing.Period{From: from, To: to}
	err = c.operator.Statement(ctx, c.companyID, wanted, func(ticketing.StatementLine) error { return errRead })
	if !errors.Is(err, errRead) {
		return outcome{}, asPeriod(err)
	}
	if err := c.operator.RecordStatementExport(ctx, c.companyID, wanted); err != nil {
		return outcome{}, asPeriod(err)
	}
	return outcome{download: &download{
		name: "statement.csv",
		body: func(ctx context.Context, w io.Writer) error { return c.writeStatement(ctx, w, wanted) },
	}}, nil
}

// writeStatement writes a statement as comma-separated values.
func (c *call) writeStatement(ctx context.Context, w io.Writer, period ticketing.Period) error {
	columns := []string{"type", "wallet", "at", "seq", "kind", "amount", "balanceBefore", "balance", "reference"}
	out := newCSVWriter(w, columns)
	out.write([][]string{columns})
	lines := 0
	err := c.operator.Statement(ctx, c.companyID, period, func(line ticketing.StatementLine) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		lines++
		row := []string{
			string(line.Type), string(line.Wallet), line.At.UTC().Format(timeFormat), "", "", "", "",
			line.Balance.String(), "",
		}
		if line.Type == ticketing.StatementMovement {
			row[3], row[4] = strconv.FormatInt(*line.Sequence, 10), string(*line.Kind)
			row[5], row[6], row[8] = line.Amount.String(), line.BalanceBefore.String(), *line.Reference
		}
		out.write([][]string{row})
		return out.out.Error()
	})
	if err != nil {
		out.write([][]string{cutOff(lines, len(columns))})
	}
	return errors.Join(err, out.flush())
}

func exportBundle(ctx context.Context, c *call, _ none) (outcome, error) {
	if err := c.operator.RecordLedgerExport(ctx, c.companyID); err != nil {
		return outcome{}, err
	}
	return outcome{download: &download{
		name: "ledger-" + c.companyID.String() + ".bundle", media: bundleType,
		cut: "\nCUT OFF: the file is not complete. Download it again.\n",
		body: func(ctx context.Context, w io.Writer) error {
			_, err := c.operator.ExportLedger(ctx, c.companyID, endingWriter{ctx, w})
			return err
		},
	}}, nil
}
