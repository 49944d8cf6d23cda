package console

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
)

// csvWriter writes rows of comma-separated values. A cell that a spreadsheet would read as a formula is quoted as text.
// The cells of the column "amount" are not: only the service writes them, and a negative one is a number.
type csvWriter struct {
	out    *csv.Writer
	amount int // the index of that column; -1: there is none
}

func newCSVWriter(w io.Writer, columns []string) *csvWriter {
	return &csvWriter{csv.NewWriter(w), slices.Index(columns, "amount")}
}

// write writes rows to a buffer. Its errors are those of flush.
func (w *csvWriter) write(rows [][]string) {
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			if cells[i] = cell; i != w.amount {
				cells[i] = csvCell(cell)
			}
		}
		_ = w.out.Write(cells)
	}
}

func (w *csvWriter) flush() error {
	w.out.Flush()
	return w.out.Error()
}

// csvCell returns a cell that no spreadsheet reads as a formula.
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// cutOff returns the last row of an incomplete file. It has as many cells as any other, so that programs can read the
// file.
func cutOff(rows, columns int) []string {
	row := make([]string, columns)
	row[0] = fmt.Sprintf("CUT OFF after %d rows: the list goes on. Export it again, or a shorter time of it.", rows)
	return row
}

// notComplete returns the last row of a report whose sums are still incomplete.
func notComplete(from string, columns []string) []string {
	return remark("NOT COMPLETE: orders before "+from+" are still being counted. Export it again later.", columns)
}

// remark returns a row with a remark about the file.
func remark(text string, columns []string) []string {
	row := make([]string, len(columns))
	row[0] = text
	return row
}
