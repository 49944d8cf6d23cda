package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// mailLoadReport is the report of a bench of checkouts beside mails.
type mailLoadReport struct {
	Store       string  `json:"store"` // "postgres", "sqlite" or "memory"
	Clients     int     `json:"clients"`
	Companies   int     `json:"companies"`
	Qty         int     `json:"qty"`
	Connections int     `json:"connections"` // to PostgreSQL
	Seconds     float64 `json:"seconds"`     // of each side in each run
	MailRate    int     `json:"mailRate"`    // mails a second at most
	MailQueue   int     `json:"mailQueue"`   // mails that wait from the beginning
	Preload     preload `json:"preload"`

	mailLoadRun

	Runs     []mailLoadRun    `json:"runs"`
	Verified mailLoadVerified `json:"verified"`
	Books    booksVerified    `json:"books"`
}

// mailLoadRun is the result of one run, or the medians of all runs.
type mailLoadRun struct {
	Without mailLoadFigures `json:"without"` // no mail sender is set
	Sending mailLoadFigures `json:"sending"` // mails are sent
	Away    mailLoadFigures `json:"away"`    // the mail server cannot be used
}

// mailLoadFigures is the result of one side.
type mailLoadFigures struct {
	figures

	// Ratio is the operations a second divided by those without mails. It is null if there is nothing to compare.
	Ratio *float64 `json:"ratio"`
	// Behind is the longest time that the oldest sale had waited for its dispatch at the end of a slice, in
	// milliseconds. It is null if everything was dispatched.
	Behind *float64 `json:"dispatchBehindMs"`
}

func newMailLoadRun(tallies [mailLoadSides]*mailLoadTally) mailLoadRun {
	of := func(side int) mailLoadFigures {
		return mailLoadFigures{figures: tallies[side].side(), Behind: milliseconds(tallies[side].behind)}
	}
	r := mailLoadRun{Without: of(withoutMails), Sending: of(sendingMails), Away: of(serverAway)}
	for _, side := range r.sides() {
		side.Ratio = ratioOf(&side.OpsPerSecond, &r.Without.OpsPerSecond)
	}
	return r
}

// sides returns the three sides, in the order of the table.
func (r *mailLoadRun) sides() []*mailLoadFigures {
	return []*mailLoadFigures{&r.Without, &r.Sending, &r.Away}
}

// summarise computes the medians of the runs. Behind is the longest of all runs.
func (r *mailLoadReport) summarise() {
	for i, side := range r.sides() {
		side.figures = medianSide(r.Runs, func(run mailLoadRun) *figures { return &run.sides()[i].figures })
		side.Ratio = medianOf(r.Runs, func(run mailLoadRun) *float64 { return run.sides()[i].Ratio })
		for _, run := range r.Runs {
			if behind := run.sides()[i].Behind; behind != nil && (side.Behind == nil || *behind > *side.Behind) {
				side.Behind = behind
			}
		}
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *mailLoadReport) failure() error {
	for _, side := range r.sides() {
		if side.Calls == 0 {
			return &Error{Code: codeBenchFailed, Text: "no call succeeded: " + orNone(formatCounts(side.Errors))}
		}
	}
	switch {
	case !r.Verified.OK:
		return &Error{Code: codeMailsLost, Text: "the mails are not in order: " + strings.Join(r.Verified.Problems, "; ")}
	default:
		return r.Books.failure()
	}
}

// WriteTable writes what was measured, and the figures as a table.
func (r *mailLoadReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "checkouts beside mails, %s: clients %d, companies %d, quantity %d\n", r.Store, r.Clients,
		r.Companies, r.Qty)
	fmt.Fprintf(out, "runs %d, each %gs each way; %d mails/s at most, %d waiting before\n\n", len(r.Runs), r.Seconds,
		r.MailRate, r.MailQueue)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tOPS/S\tRATIO\tP50 MS\tP95 MS\tP99 MS\tBEHIND MS\tERRORS")
	for i, name := range []string{"without mails", "mails are sent", "mail server away"} {
		side := r.sides()[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, figure(side.OpsPerSecond, 0), figureOf(side.Ratio, 2),
			figureOf(side.P50, 2), figureOf(side.P95, 2), figureOf(side.P99, 2), figureOf(side.Behind, 0),
			orNone(formatCounts(side.Errors)))
	}
	return w.Flush()
}

// Summary returns the results of the two verifications.
func (r *mailLoadReport) Summary() []Line {
	verified := fmt.Sprintf("in order: %d notifications, %d sent", r.Verified.Notifications, r.Verified.Sent)
	if !r.Verified.OK {
		verified = "NOT in order: " + strings.Join(r.Verified.Problems, "; ")
	}
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return []Line{{"mails", verified}, {"books", books}}
}
