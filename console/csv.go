package console

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
)

// csvWriter writes rows of comma-separated values. A cell that a program of tables would take for a formula is quoted
// as text.
type csvWriter struct{ out *csv.Writer }

func newCSVWriter(w io.Writer) *csvWriter { return &csvWriter{csv.NewWriter(w)} }

// write writes rows to a buffer. Its errors are those of flush.
func (w *csvWriter) write(rows [][]string) {
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = csvCell(cell)
		}
		_ = w.out.Write(cells)
	}
}

func (w *csvWriter) flush() error {
	w.out.Flush()
	return w.out.Error()
}

// csvCell returns a cell that no program of tables takes for a formula. A negative number is none.
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) && !isNegative(text) {
		return "'" + text
	}
	return text
}

// isNegative reports whether a text is a negative number: a minus sign and nothing but digits and a point.
func isNegative(text string) bool {
	digits, isMinus := strings.CutPrefix(text, "-")
	return isMinus && digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// cutOff returns the last row of a file that is not whole. It has as many cells as any other, so that programs read the
// file.
func cutOff(rows, columns int) []string {
	row := make([]string, columns)
	row[0] = fmt.Sprintf("CUT OFF after %d rows: the list goes on. Export it again, or a shorter time of it.", rows)
	return row
}
