package main_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// The columns of a long list stay aligned where later rows are as wide as the first ones. They get wider for later rows
// where there is room on the terminal, and texts are shortened where there is none. Nothing else is ever shortened.
func TestTableOfManyRows(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const batch = 500 // rows that are aligned together
	row := func(n int, name, amount string) []string {
		return []string{fmt.Sprintf("%06d", n), name, "ACTIVE", amount}
	}
	var rows [][]string
	for n := range batch {
		rows = append(rows, row(n, "Lagos Live", "15,000.00"))
	}
	for n := range batch {
		rows = append(rows, row(batch+n, "Abuja", "5.00"))
	}
	long := strings.Repeat("a long name ", 6)
	for n := range batch {
		rows = append(rows, row(2*batch+n, long, "999,999,999,999.99"))
	}
	rows = append(rows, row(3*batch, "Lagos", "1.00"))
	for _, columns := range []int{0, 60, 200} {
		var out strings.Builder
		is.NoErr(program.PrintTable(&out, columns, rows))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		is.Equal(len(lines), 1+len(rows))
		places := func(line string) [2]int {
			before, _, _ := strings.Cut(line, "ACTIVE")
			return [2]int{utf8.RuneCountInString(before), utf8.RuneCountInString(line)}
		}
		for i, line := range lines {
			if columns > 0 && utf8.RuneCountInString(line) > columns {
				t.Errorf("%d columns do not hold %q", columns, line)
			}
			if i > 0 {
				is.True(strings.HasPrefix(line, rows[i-1][0]+"  "))
				is.True(strings.HasSuffix(line, " "+rows[i-1][3]))
			}
		}
		is.Equal(places(lines[1]), places(lines[2*batch]))           // Narrower rows leave the columns where they are.
		is.Equal(places(lines[2*batch+1]), places(lines[3*batch+1])) // and so after wider ones
		is.Equal(strings.Contains(lines[2*batch+1], strings.TrimSpace(long)), columns != 60)
		is.Equal(strings.Contains(lines[2*batch+1], "…"), columns == 60)
	}
}
