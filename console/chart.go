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
	Width     int      // of the picture, in its own units
	Grid      string   // the lines of the axis above zero
	Values    []string // those of the axis, the highest first; the last is zero
	Times     []string // of the first interval, the one in the middle and the last, as far as they differ
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

// The measures of a chart. A picture is stretched to the available width.
const (
	maxPoints   = 400
	chartHeight = 400
	slotWidth   = 10 // of an interval
	barWidth    = 8
	maxLines    = 5 // in one chart; more are drawn as one
	maxSteps    = 5 // of the axis
)

// chartUnit formats the values of a chart.
type chartUnit struct {
	value func(int64) string
	axis  func(int64) string
	least int64 // the shortest step of the axis
}

func moneyUnit() chartUnit {
	return chartUnit{func(v int64) string { return formatMoney(money.Amount(v)) }, formatShortMoney, 100}
}

func countUnit() chartUnit {
	count := func(v int64) string { return formatCount(v) }
	return chartUnit{count, count, 1}
}

// formatShortMoney returns a round amount in few characters, such as "₦500", "₦1.5k" or "₦20M".
func formatShortMoney(kobo int64) string {
	unit, suffix := int64(100), ""
	for _, next := range []string{"k", "M", "B", "T"} {
		if kobo/unit < 1000 {
			break
		}
		unit, suffix = unit*1000, next
	}
	text := "₦" + strconv.FormatInt(kobo/unit, 10)
	if tenth := kobo % unit * 10 / unit; tenth > 0 {
		text += "." + strconv.FormatInt(tenth, 10)
	}
	return text + suffix
}

// draw draws the lines as stacked bars, one for each interval of the period. Without a value above zero it draws
// nothing.
func (c *chart) draw(unit chartUnit, p period, lines []chartLine) {
	lines, labels := withoutMany(lines), p.labels()
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
	step := axisStep(highest, unit.least)
	steps := stepsOf(highest, step)
	top := step * steps
	c.Width, c.Times = slotWidth*len(labels), p.times()
	for i := steps; i >= 0; i-- {
		c.Values = append(c.Values, unit.axis(step*i))
		if i > 0 {
			y := chartHeight * (steps - i) / steps
			c.Grid += "M0 " + strconv.FormatInt(y, 10) + "h" + strconv.Itoa(c.Width)
		}
	}
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

// withoutMany returns the lines so that each has a colour of its own: those beyond the last colour become one line.
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

// axisStep returns the distance between two lines of an axis. It is the shortest of 1, 2, 5, 10, 20, 50 and so on,
// times the least, of which maxSteps reach a value.
func axisStep(value, least int64) int64 {
	for step := least; ; step *= 10 {
		for _, factor := range []int64{1, 2, 5} {
			// Amounts end before int64 overflows.
			if stepsOf(value, step*factor) <= maxSteps || step > 1<<57 {
				return step * factor
			}
		}
	}
}

// stepsOf returns how many steps reach a value above zero.
func stepsOf(value, step int64) int64 { return (value-1)/step + 1 }

// Few reports whether there are so few intervals that each of the times is shown below the middle of its own.
func (c chart) Few() bool { return len(c.Points) <= len(c.Times) }

// Drawn reports whether there is a picture.
func (c chart) Drawn() bool { return len(c.Points) > 0 }

// Legend reports whether the series need their names beside the picture.
func (c chart) Legend() bool { return len(c.Series) > 1 }
