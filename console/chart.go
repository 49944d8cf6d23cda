package console

import (
	"strconv"
	"strings"

	"github.com/floatgate/ticketing/money"
)

// chart is a picture of values over time, and a table of them.
type chart struct {
	ID, Title string
	Summary   string // what the picture shows, in a sentence
	Empty     string // what will be there, instead of a picture without values
	Series    []chartSeries
	Points    []chartPoint
	Width     int    // of the picture, in its own units
	Top       string // the value of its highest line; the lowest is zero
	Columns   []string
	Names     int // how many of the first columns are no numbers
	Rows      [][]string
}

// chartSeries is one shape of a chart. The shapes are stacked.
type chartSeries struct{ Name, Class, Shape string }

// chartPoint is one interval of a chart. Its title is what hovering shows.
type chartPoint struct {
	X     int
	Label string
	Title string
}

// chartLine is a series to draw: its name, and a value for each interval.
type chartLine struct {
	name   string
	values []int64
}

// The measures of a chart. A picture is stretched to the place that it has.
const (
	maxPoints   = 400
	chartHeight = 400
	slotWidth   = 10 // of an interval
	barWidth    = 8
	maxLines    = 5 // in one chart; more are drawn as one
)

// chartUnit formats the values of a chart.
type chartUnit struct {
	value func(int64) string
	axis  func(int64) string
	least int64 // the lowest top of a chart
}

func moneyUnit() chartUnit {
	return chartUnit{func(v int64) string { return formatMoney(money.Amount(v)) }, formatShortMoney, 100}
}

func countUnit() chartUnit {
	count := func(v int64) string { return strconv.FormatInt(v, 10) }
	return chartUnit{count, count, 1}
}

// formatShortMoney returns a round amount without its fraction, such as "₦20k".
func formatShortMoney(kobo int64) string {
	naira, suffix := kobo/100, ""
	for _, next := range []string{"k", "M", "B", "T"} {
		if naira < 1000 || naira%1000 != 0 {
			break
		}
		naira, suffix = naira/1000, next
	}
	return "₦" + strconv.FormatInt(naira, 10) + suffix
}

// draw draws the lines as stacked bars, for intervals with the labels. Without a value above zero it draws nothing.
func (c *chart) draw(unit chartUnit, labels []string, lines []chartLine) {
	lines = withoutMany(lines)
	totals := make([]int64, len(labels))
	for _, line := range lines {
		for i, value := range line.values {
			totals[i] += max(value, 0)
		}
	}
	highest := int64(0)
	for _, total := range totals {
		highest = max(highest, total)
	}
	if highest == 0 {
		return
	}
	top := roundUp(highest, unit.least)
	c.Width, c.Top = slotWidth*len(labels), unit.axis(top)
	heightOf := func(value int64) int { return int(float64(value) / float64(top) * chartHeight) }
	below := make([]int64, len(labels))
	for number, line := range lines {
		var shape strings.Builder
		for i, value := range line.values {
			if value <= 0 {
				continue
			}
			y := chartHeight - heightOf(below[i]+value)
			below[i] += value
			height := max(heightOf(value), 1)
			x := strconv.Itoa(i*slotWidth + (slotWidth-barWidth)/2)
			shape.WriteString("M" + x + " " + strconv.Itoa(y) + "h" + strconv.Itoa(barWidth) + "v" + strconv.Itoa(height) +
				"h-" + strconv.Itoa(barWidth) + "z")
		}
		c.Series = append(c.Series, chartSeries{line.name, "s" + strconv.Itoa(number), shape.String()})
	}
	c.Points = make([]chartPoint, len(labels))
	for i, label := range labels {
		title := []string{label + ": " + unit.value(totals[i])}
		if len(lines) > 1 {
			for _, line := range lines {
				if line.values[i] > 0 {
					title = append(title, line.name+": "+unit.value(line.values[i]))
				}
			}
		}
		c.Points[i] = chartPoint{X: i * slotWidth, Label: label, Title: strings.Join(title, "\n")}
	}
}

// withoutMany returns the lines of which none is drawn in the colour of another: those beyond the last colour are one.
func withoutMany(lines []chartLine) []chartLine {
	if len(lines) <= maxLines {
		return lines
	}
	other := chartLine{"Others", make([]int64, len(lines[0].values))}
	for _, line := range lines[maxLines-1:] {
		for i, value := range line.values {
			other.values[i] += value
		}
	}
	return append(lines[:maxLines-1:maxLines-1], other)
}

// roundUp returns the next of 1, 2, 5, 10, 20, 50 and so on that is not below a value, times the least.
func roundUp(value, least int64) int64 {
	for top := least; ; top *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			// Amounts end before the largest number does.
			if top*factor >= value || top > 1<<59 {
				return top * factor
			}
		}
	}
}

// First returns the label of the first interval.
func (c chart) First() string { return c.Points[0].Label }

// Last returns the label of the last interval.
func (c chart) Last() string { return c.Points[len(c.Points)-1].Label }

// Drawn reports whether there is a picture.
func (c chart) Drawn() bool { return len(c.Points) > 0 }

// Legend reports whether the series need their names beside the picture.
func (c chart) Legend() bool { return len(c.Series) > 1 }
