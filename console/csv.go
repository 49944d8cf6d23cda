package console

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// csvFile returns a download of rows. A cell that a program of tables would take for a formula is quoted as text.
func csvFile(name string, rows [][]string) *file {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = csvCell(cell)
		}
		_ = w.Write(cells) // A buffer accepts everything.
	}
	w.Flush()
	return &file{name: name, contentType: "text/csv; charset=utf-8", text: b.Bytes()}
}

// csvCell returns a cell that no program of tables takes for a formula.
func csvCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
