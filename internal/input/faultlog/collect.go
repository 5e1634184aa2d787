package faultlog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/input/regtext"
	"github.com/backsight/backsight/internal/phrases"
)

// Bounds of a report in lines. maxGap is how many lines without a word of it may stand
// inside: RT-Thread lists its threads between the registers and the stack. maxHead is where
// the place in code must have been told: what is only rows of memory is no report.
const (
	maxGap   = 24
	maxHead  = 128
	maxLines = 20_000
	// maxValues is how many registers a report has: processors have some hundred, and a
	// report may print them once more for each of a few frames.
	maxValues = 1 << 11
)

// collector takes the words of a report together, line by line.
type collector struct {
	vocabulary *regtext.Vocabulary
	found      words
	scratch    []regtext.Value
	lists      lister
	repeated   bool // the last line began another report
	lines      int  // that were looked at
	bytes      int  // of these lines
}

// interesting tells in little time that most lines of a console begin no report: such a
// line has a number of four hexadecimal digits, or words that a form has, or a cause, whose number is short ("mcause: 3, Breakpoint").
func interesting(line string) bool {
	run := 0
	for i := range len(line) {
		c := line[i]
		if phrases.IsHex(c) {
			if run++; run == 4 {
				return true
			}
		} else if c != 'x' {
			run = 0
		}
	}
	_, ok := formOf(line)
	return ok || strings.Contains(line, backtraceFollows) || strings.Contains(line, "mcause")
}

// begins tells whether a report may begin at a line: a form's first words, a register, or
// a frame of a list.
func (c *collector) begins(line string) bool {
	if f, ok := formOf(line); ok {
		return f.begins
	}
	c.scratch = c.vocabulary.Line(c.scratch[:0], line)
	return len(c.scratch) >= 2 || len(c.scratch) == 1 && (isPC(c.scratch[0].Name) || isFirst(c.scratch[0].Name)) || c.lists.begins(line)
}

// mayBegin tells whether a line has one register, whose name is its first word: debuggers print one a line.
//
//	r7             0xa5a5a5a5          2779096485
func (c *collector) mayBegin(line string) bool {
	if len(c.scratch) != 1 {
		return false
	}
	name := c.scratch[0].Name
	return len(line) >= len(name) && strings.EqualFold(line[:len(name)], name)
}

// isFirst tells whether reports begin with a register.
func isFirst(name string) bool {
	return name == "r0" || name == "x1" || name == "ra" || name == "xpsr" || name == "psr" || name == "cpsr" || regtext.IsStatus(name)
}

// collect takes the words from line at on, and returns the line behind the report. ended: the log goes on, and what it says
// there does not belong to the report.
func (c *collector) collect(log *console.Log, at int) (next int, ended bool) {
	next = at
	i := at
	for ; i < min(log.Len(), at+maxLines) && i-next <= maxGap; i++ {
		if i-at > maxHead && c.found.record == nil && !c.found.isReport() {
			break
		}
		line := log.Line(i)
		c.lines, c.bytes = c.lines+1, c.bytes+len(line)
		took, done := c.take(line, i > at)
		if c.repeated {
			break
		}
		if took {
			next = i + 1
		}
		if done {
			break
		}
	}
	c.found.finish(&c.lists)
	return next, i < log.Len()
}

// take takes the words of a line. done: the report ends with it.
func (c *collector) take(line string, behindFirst bool) (took, done bool) {
	w := &c.found
	prose := false
	if f, ok := formOf(line); ok {
		if f.begins && behindFirst && ((w.isReport() || len(c.lists.pairs.pc) > 0) && (f.again || w.form.title == f.title && w.form.title != "") || w.cutBy(&f)) {
			c.repeated = true
			return false, true
		}
		w.form.merge(f)
		took, done, prose = true, f.ends, f.prose
	}
	if c.lists.pairs.another(line) {
		c.repeated = true
		return false, true
	}
	if name, ok := threadName(line); ok && w.thread == "" {
		w.thread = name
	}
	switch took, another, last := w.takeRecord(line); {
	case another:
		c.repeated = true
		return false, true
	case took:
		return true, last
	}
	if w.foreign == "" {
		w.foreign = console.Unsupported(line)
	}
	w.takeStack(line)
	w.said.takePanic(line)
	if w.form.os == "Zephyr" {
		w.said.take(line)
	}
	took = w.form.stackAtSP && w.said.takeCause(line) || took
	switch {
	case w.takeOwn(line, &c.lists):
		return true, done
	case c.lists.places.take(line):
		return true, done
	case w.takeContext(line):
		return true, done
	case w.takeDump(line):
		return true, w.dump.done
	case c.lists.take(line):
		return true, done
	case prose:
		return true, done
	}
	c.scratch = c.vocabulary.Line(c.scratch[:0], line)
	if w.form.os == "OpenTitan" && strings.Contains(line, "] FAULT: ") { // behind the frame, whose PC the handler has moved
		w.vals = slices.DeleteFunc(w.vals, func(v regtext.Value) bool { return isPC(v.Name) })
		w.vals = append(w.vals, c.scratch...)
		return true, done
	}
	if w.another(c.scratch, c.lists.some()) {
		c.repeated = true
		return false, true
	}
	if len(c.scratch) == 0 {
		if r, ok := regtext.Memory(line); ok {
			w.rows = append(w.rows, r)
			return true, done
		}
	}
	for _, v := range c.scratch[:min(len(c.scratch), maxValues-len(w.vals))] {
		w.vals = append(w.vals, decimal(v))
	}
	return took || len(c.scratch) > 0, done
}

// cutBy tells whether a form's first words are those of another report, so that this one ended
// in a reset before its program counter: registers were printed already, and these words stand
// before all registers, or are another system's.
func (w *words) cutBy(f *form) bool {
	other := f.os != "" && w.form.os != "" && f.os != w.form.os
	return (f.again || other) && slices.ContainsFunc(w.vals, func(v regtext.Value) bool { return !regtext.IsStatus(v.Name) })
}

// another tells whether a line's registers are the first of another report: the program
// counter is known, and stands here with another value, or again behind a list of frames:
// tasks that NuttX lists one after the other all wait in one function. Two reports may follow
// each other without a word in between.
func (w *words) another(vals []regtext.Value, behindList bool) bool {
	for _, v := range vals {
		if !isPC(v.Name) && v.Name != "r0" && v.Name != "x1" || !w.vals.hasPC() {
			continue
		}
		if old, ok := w.vals.of(v.Name); ok && (old != v.Value || behindList && isPC(v.Name)) {
			return true
		}
	}
	return false
}

// decimal mends a value that is printed in decimal: Zephyr writes "mcause: 13, Load page
// fault", with the cause in words.
func decimal(v regtext.Value) regtext.Value {
	if v.Name == "mcause" && v.Digits == 2 && strings.HasPrefix(v.After, ",") && v.Value >= 0x10 && v.Value <= 0x19 {
		v.Value -= 6
	}
	return v
}
