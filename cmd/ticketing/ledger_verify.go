package main

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
)

type ledgerVerify struct {
	Company   companyRef `arg:"" help:"Id or name of the company. Defaults to all." optional:"" placeholder:"COMPANY"`
	File      string     `help:"Verify this bundle instead, without a database." placeholder:"FILE"`
	PublicKey publicKeys `help:"Public key of the bundle, as \"ledger public-key\" prints it; several are separated by commas." placeholder:"KEY"`
	Against   string     `help:"Older bundle that this one must continue, or its signed heads." placeholder:"FILE"`
}

func (*ledgerVerify) Help() string {
	return `This recomputes every chain, compares it with the wallets, the orders and the stock, and reports what is ` +
		`wrong. The exit status is 1 if anything is. It may run while the server sells.

--file needs neither a database nor a secret:

    ticketing ledger verify --file books.bundle --public-key KEY --against last-year.bundle`
}

func (c *ledgerVerify) Run(ctx context.Context, p *program) error {
	ctx, stop := interruptible(ctx)
	defer stop()
	bar := newBar(p)
	defer bar.end()
	switch {
	case c.File != "" && c.Company.given():
		return &usageError{text: "--file verifies a bundle, which holds one company: leave out COMPANY"}
	case c.File != "" && len(c.PublicKey) == 0:
		return &usageError{
			text: "--file needs --public-key: anyone who can write the file can sign it with a key of their own",
		}
	case c.File != "":
		return c.verifyFile(ctx, p, bar)
	}
	// The flags for bundles may be set permanently in the environment. They do not concern a database.
	return p.operate(ctx, func(op ticketing.Operator) error {
		report, err := op.VerifyLedger(ctx, c.Company.UUID, func(done, total int64) {
			bar.bar("verifying the books", done, total)
		})
		bar.end()
		if err != nil {
			return interrupted(ctx, err)
		}
		return p.judge(report)
	})
}

// verifyFile verifies a bundle, after the older bundle that it continues.
func (c *ledgerVerify) verifyFile(ctx context.Context, p *program, bar *progress) error {
	check := ledger.BundleCheck{Keys: c.PublicKey}
	report := ticketing.LedgerReport{Problems: []string{}}
	if c.Against != "" {
		older := check
		older.HeadsAlone = true
		found, err := readBundle(ctx, c.Against, "reading the older one", bar, older)
		if err != nil {
			return err
		}
		for _, problem := range found.Problems {
			report.Problems = append(report.Problems, "the older one: "+problem)
		}
		check.Against = found.Signed
	}
	found, err := readBundle(ctx, c.File, "verifying the bundle", bar, check)
	bar.end()
	if err != nil {
		return err
	}
	report.Wallets, report.Entries = found.Wallets, found.Entries
	report.Problems = append(report.Problems, found.Problems...)
	report.OK = len(report.Problems) == 0
	return p.judge(report)
}

// readBundle verifies one file.
func readBundle(
	ctx context.Context, path, what string, bar *progress, check ledger.BundleCheck,
) (ledger.BundleReport, error) {
	file, err := os.Open(path) //nolint:gosec // The operator names the file.
	if err != nil {
		return ledger.BundleReport{}, unreadable(path, err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return ledger.BundleReport{}, unreadable(path, err)
	}
	reading := &watchedReader{ctx: ctx, in: file, onRead: func(done int64) { bar.bar(what, done, info.Size()) }}
	report, err := check.Verify(reading)
	if err != nil {
		return report, interrupted(ctx, unreadable(path, err))
	}
	return report, nil
}

func unreadable(path string, err error) error {
	return &failure{code: "INPUT", text: fmt.Sprintf("%s cannot be read: %v", path, reason(err))}
}

// watchedReader fails when its context ends, and calls onRead with the number of bytes read so far.
type watchedReader struct {
	ctx    context.Context //nolint:containedctx // It is that of the one call that reads.
	in     io.Reader
	done   int64
	onRead func(done int64)
}

// Read reads from the underlying reader.
func (r *watchedReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.in.Read(b)
	r.done += int64(n)
	r.onRead(r.done)
	return n, err
}

// judge prints the result of a verification, and fails if there are problems.
func (p *program) judge(report ticketing.LedgerReport) error {
	fields := []field{
		{"OK", yesNo(report.OK)},
		{"Wallets", strconv.Itoa(report.Wallets)},
		{"Entries", strconv.FormatInt(report.Entries, 10)},
	}
	for _, problem := range report.Problems {
		fields = append(fields, field{"Problem", problem})
	}
	for _, note := range report.Notes {
		fields = append(fields, field{"Note", note})
	}
	if err := p.show(report, fields...); err != nil {
		return err
	}
	if !report.OK {
		text := "the ledger has 1 problem"
		if count := problemCount(report.Problems); count != 1 {
			text = fmt.Sprintf("the ledger has %d problems", count)
		}
		return &failure{code: codeLedgerInvalid, text: text}
	}
	return nil
}

// problemCount returns how many problems were found. The last line may stand for several.
func problemCount(problems []string) int {
	if last := len(problems) - 1; last >= 0 {
		var more int
		if n, err := fmt.Sscanf(problems[last], "and %d more", &more); err == nil && n == 1 {
			return last + more
		}
	}
	return len(problems)
}

// publicKeys are the keys that a bundle may be signed with.
type publicKeys []ed25519.PublicKey

func (v *publicKeys) UnmarshalText(text []byte) error {
	*v = nil
	for part := range strings.SplitSeq(string(text), ",") {
		key, err := ledger.ParsePublicKey(strings.TrimSpace(part))
		if err != nil {
			return badValue("must be 64 lower-case hexadecimal digits, as \"ledger public-key\" prints them")
		}
		*v = append(*v, key)
	}
	return nil
}

type ledgerPublicKey struct{}

func (*ledgerPublicKey) Help() string {
	return `It belongs to the first master secret, and is not secret itself. Give it to those who verify bundles, but ` +
		`not together with a bundle.`
}

func (*ledgerPublicKey) Run(ctx context.Context, p *program) error {
	return p.operateOn(ctx, nil, func(svc *ticketing.Service, _ ticketing.Operator) error {
		keys := svc.LedgerKeys()
		shown := struct {
			PublicKey string   `json:"publicKey"`
			Others    []string `json:"others"`
		}{ledger.FormatPublicKey(keys[0]), []string{}}
		for _, key := range keys[1:] {
			shown.Others = append(shown.Others, ledger.FormatPublicKey(key))
		}
		if p.JSON {
			return encode(p.stdout, shown)
		}
		_, err := fmt.Fprintln(p.stdout, shown.PublicKey)
		return outputError(err)
	})
}
