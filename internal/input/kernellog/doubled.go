package kernellog

import (
	"github.com/backsight/backsight/internal/input/console"
)

// doubled leaves out every second line of a log whose console is registered twice, as an early console and as a real
// one: each line is printed by both, with the same time.
//
//	[  972.356088] Call Trace:
//	[  972.356088] Call Trace:
//	[  972.370822] [<ffffffe000693fd0>] toy_spin+0x10/0xa0
//	[  972.370822] [<ffffffe000693fd0>] toy_spin+0x10/0xa0
//
// That a function called itself looks alike, but no report begins twice at a time, with the same line behind, too.
type doubled struct {
	before string
	on     bool // the lines are printed twice
	left   bool // before is the second
}

// repeats tells whether line i is the second of the two; message is what the line says.
func (d *doubled) repeats(log *console.Log, i int, message string) bool {
	text := log.Line(i)
	if text != d.before || text == "" {
		d.on = d.on && (d.left || text == "")
		d.before, d.left = text, false
		return false
	}
	if !d.on && message != "" && message != text && beginsReport(message) {
		d.on = log.Line(i+1) == log.Line(i+2)
	}
	d.left = d.on && !d.left
	return d.left
}

// beginsReport tells whether a message begins a report or a chain.
func beginsReport(text string) bool {
	_, _, ok := headingOf(text)
	return ok || isTraceHeader(text)
}
