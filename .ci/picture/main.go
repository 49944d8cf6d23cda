// Command picture makes an SVG of a terminal: the command that is its argument, and the output of it that it reads from
// standard input. Long lines and long pieces of JSON are shortened. The picture is light or dark as its reader prefers.
package main

import (
	"bufio"
	"fmt"
	"html"
	"log"
	"math"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	columns    = 92 // of the terminal; longer lines end with an ellipsis
	rows       = 30 // of the output; the rest is left out
	jsonLines  = 5  // of a piece of JSON, before the ellipsis
	lineHeight = 19
	margin     = 16
	top        = 44 // below the bar of the window
	charWidth  = 7.9
)

const style = `
    .window { fill: #f6f8fa; stroke: #d0d7de }
    .text { fill: #1f2328; font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre }
    .prompt { fill: #0550ae; font-weight: 600 }
    .dot { fill: #d0d7de }
    @media (prefers-color-scheme: dark) {
      .window { fill: #0d1117; stroke: #30363d }
      .text { fill: #e6edf3 }
      .prompt { fill: #79c0ff }
      .dot { fill: #30363d }
    }`

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: COMMAND | picture COMMAND > FILE.svg")
	}
	lines, err := shorten(bufio.NewScanner(os.Stdin))
	if err != nil {
		log.Fatal(err)
	}
	width := int(math.Ceil(columns*charWidth)) + 2*margin
	height := top + (len(lines)+1)*lineHeight + margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n",
		width, height, width, height)
	fmt.Printf("  <title>%s</title>\n  <style>%s\n  </style>\n", html.EscapeString(os.Args[1]), style)
	fmt.Printf(`  <rect class="window" x=".5" y=".5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	for i := range 3 {
		fmt.Printf(`  <circle class="dot" cx="%d" cy="20" r="6"/>`+"\n", 22+20*i)
	}
	fmt.Printf(`  <text class="text prompt" x="%d" y="%d">$ %s</text>`+"\n", margin, top+lineHeight/2, html.EscapeString(os.Args[1]))
	for i, line := range lines {
		if line != "" {
			fmt.Printf(`  <text class="text" xml:space="preserve" x="%d" y="%d">%s</text>`+"\n",
				margin, top+lineHeight/2+(i+1)*lineHeight, html.EscapeString(line))
		}
	}
	fmt.Println("</svg>")
}

// shorten returns the lines of a terminal, without most of what is in braces.
func shorten(scanner *bufio.Scanner) ([]string, error) {
	var lines []string
	inside := 0 // lines of the piece of JSON under way
	for scanner.Scan() {
		line := strings.ReplaceAll(scanner.Text(), "\t", "    ")
		switch {
		case inside > 0 && line == "}":
			if inside > jsonLines {
				lines = append(lines, "  …")
			}
			inside = 0
		case inside > 0:
			inside++
			if inside > jsonLines {
				continue
			}
		case line == "{":
			inside = 1
		}
		if utf8.RuneCountInString(line) > columns {
			line = string([]rune(line)[:columns-1]) + "…"
		}
		lines = append(lines, line)
	}
	if len(lines) > rows {
		lines = append(lines[:rows-1], "…")
	}
	return lines, scanner.Err()
}
