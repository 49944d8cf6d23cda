package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

type ledgerExport struct {
	companyArg

	Out string `help:"File to write. On a failure no file is left." placeholder:"FILE" required:""`
}

func (*ledgerExport) Help() string {
	return `The bundle has every movement up to now, and is signed. Verify it anywhere with

    ticketing ledger verify --file FILE --public-key "$(ticketing ledger public-key)"

and keep it: a later bundle can be verified against it.`
}

func (c *ledgerExport) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := newBar(p)
	defer bar.end()
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, op ticketing.Operator) error {
		var signed ledger.SignedHeads
		err := writeFile(c.Out, func(w io.Writer) (err error) {
			signed, err = op.ExportLedger(ctx, c.Company.UUID, w, func(done, total int64) {
				bar.bar("exporting the ledger", done, total)
			})
			return err
		})
		bar.end()
		if err != nil {
			return interrupted(ctx, err)
		}
		shown := exported{
			Entries: signed.Entries, Heads: []exportedHead{}, File: c.Out,
			PublicKey: ledger.FormatPublicKey(svc.LedgerKeys()[0]),
		}
		fields := []field{{"File", c.Out}, {"Entries", strconv.FormatInt(signed.Entries, 10)}}
		for _, head := range signed.Heads {
			shown.Heads = append(shown.Heads, exportedHead{head.Wallet, head.Sequence, head.Balance, head.Hash})
			fields = append(fields, field{"Head of " + string(head.Wallet), strconv.FormatInt(head.Sequence, 10) + "  " +
				naira(head.Balance) + "  " + head.Hash.String()})
		}
		err = p.show(shown, append(fields, field{"Public key", shown.PublicKey})...)
		return outputErrorAfter(err, "the bundle was written to "+c.Out)
	})
}

// exported is the output of an export.
type exported struct {
	Entries   int64          `json:"entries"`
	Heads     []exportedHead `json:"heads"`
	File      string         `json:"file"`
	PublicKey string         `json:"publicKey"`
}

type exportedHead struct {
	Wallet   ledger.Wallet `json:"wallet"`
	Sequence int64         `json:"seq"`
	Balance  money.Amount  `json:"balance"`
	Hash     ledger.Hash   `json:"hash"`
}

type ledgerStatement struct {
	companyArg

	From   moment          `help:"Start of the period. Defaults to the company's creation." placeholder:"TIME"`
	To     moment          `help:"End of the period, exclusive. Defaults to now." placeholder:"TIME"`
	Format statementFormat `default:"csv" help:"csv, or jsonl: a JSON value on each line."`
	Out    string          `help:"File to write. Defaults to standard output." placeholder:"FILE"`
}

func (*ledgerStatement) Help() string {
	return `For each wallet: the opening balance, the movements, and the closing balance.

    ticketing ledger statement COMPANY --from 2026-11-01 --to 2026-12-01 --format csv --out november.csv`
}

func (c *ledgerStatement) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	period := ticketing.Period{From: c.From.Time, To: c.To.Time}
	return p.operate(ctx, func(op ticketing.Operator) error {
		if c.Out == "" && p.JSON {
			err := p.list(listFlags{}, nil, func(list *list) error {
				return op.Statement(ctx, c.Company.UUID, period, func(line ticketing.StatementLine) error {
					return list.add(line)
				})
			})
			if err != nil {
				return interrupted(ctx, err)
			}
			return nil
		}
		movements := 0
		write := func(w io.Writer) error {
			out := c.Format.writer(w)
			err := op.Statement(ctx, c.Company.UUID, period, func(line ticketing.StatementLine) error {
				if line.Type == ticketing.StatementMovement {
					movements++
				}
				return out.add(line)
			})
			if err != nil {
				return err
			}
			return out.end()
		}
		if c.Out == "" {
			return interrupted(ctx, write(p.stdout))
		}
		if err := writeFile(c.Out, write); err != nil {
			return interrupted(ctx, err)
		}
		shown := struct {
			File      string `json:"file"`
			Movements int    `json:"movements"`
		}{c.Out, movements}
		return outputErrorAfter(p.show(shown, field{"File", c.Out}, field{"Movements", strconv.Itoa(movements)}),
			"the statement was written to "+c.Out)
	})
}

// statementFormat is the file format of a statement.
type statementFormat string

const (
	formatCSV   statementFormat = "csv"
	formatJSONL statementFormat = "jsonl"
)

func (v *statementFormat) UnmarshalText(text []byte) error {
	switch format := statementFormat(text); format {
	case formatCSV, formatJSONL:
		*v = format
		return nil
	default:
		return badValue("must be csv or jsonl")
	}
}

// statementWriter writes the lines of a statement.
type statementWriter interface {
	add(line ticketing.StatementLine) error
	end() error
}

func (v statementFormat) writer(w io.Writer) statementWriter {
	if v == formatJSONL {
		out := bufio.NewWriter(w)
		return &jsonStatement{out, json.NewEncoder(out)}
	}
	out := &csvStatement{csv.NewWriter(w)}
	_ = out.csv.Write([]string{ // A later Write or Flush reports its error.
		"type", "wallet", "at", "seq", "kind", "amount", "balanceBefore", "balance", "currency", "reference",
	})
	return out
}

type jsonStatement struct {
	out     *bufio.Writer
	encoder *json.Encoder
}

func (s *jsonStatement) add(line ticketing.StatementLine) error {
	return outputError(s.encoder.Encode(line))
}
func (s *jsonStatement) end() error { return outputError(s.out.Flush()) }

type csvStatement struct{ csv *csv.Writer }

func (s *csvStatement) add(line ticketing.StatementLine) error {
	cells := []string{
		string(line.Type), string(line.Wallet), line.At.String(), "", "", "", "", line.Balance.String(), money.Currency, "",
	}
	if line.Type == ticketing.StatementMovement {
		cells[3], cells[4] = strconv.FormatInt(*line.Sequence, 10), noFormula(string(*line.Kind))
		cells[5], cells[6], cells[9] = line.Amount.String(), line.BalanceBefore.String(), noFormula(*line.Reference)
	}
	return outputError(s.csv.Write(cells))
}

func (s *csvStatement) end() error {
	s.csv.Flush()
	return outputError(s.csv.Error())
}

// noFormula returns a text that no spreadsheet treats as a formula.
func noFormula(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(text[0])) {
		return "'" + text
	}
	return text
}

// writeFile writes a file that only its owner may read. The file gets its name only after it is complete and synced to
// disk. On a failure nothing is left, and an existing file of that name is unchanged.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return badValue("--out: %s is not a file", path)
	}
	target, err := filepath.EvalSymlinks(path) // A link remains a link.
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if target, err = os.Readlink(path); err != nil {
			target = path
		} else if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
	case err != nil:
		return unwritable(path, err)
	}
	directory := filepath.Dir(target)
	file, err := os.CreateTemp(directory, ".ticketing-*") // with mode 0600
	if err != nil {
		return unwritable(path, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	defer func() { _ = file.Close() }()
	if err := write(outputFile{file}); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return unwritable(path, err)
	}
	if err := file.Close(); err != nil {
		return unwritable(path, err)
	}
	if err := os.Rename(file.Name(), target); err != nil {
		return unwritable(path, err)
	}
	if err := syncDirectory(directory); err != nil {
		return unwritable(path, err)
	}
	return nil
}

func unwritable(path string, err error) error {
	return &failure{code: codeOutput, text: path + " could not be written: " + reason(err).Error()}
}

// outputFile wraps its errors as output that could not be written.
type outputFile struct{ *os.File }

// Write writes b to the file.
func (f outputFile) Write(b []byte) (int, error) {
	n, err := f.File.Write(b)
	return n, outputError(err)
}

// reason returns an error without the path that it repeats.
func reason(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*os.LinkError](err); ok {
		return of.Err
	}
	return err
}
