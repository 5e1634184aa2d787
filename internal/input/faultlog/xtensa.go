package faultlog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// nameXtensa is the processor with register windows.
const nameXtensa = "xtensa"

// pairs is a list of the windows on Xtensa's stack, PC:SP: all places but the first, and since ESP-IDF 4 the first too, are where the
// call stands (esp_system/port/arch/xtensa/debug_helpers.c; Zephyr's arch/xtensa/core/xtensa_backtrace.c).
//
//	Backtrace: 0x400d018d:0x3ffb4e40 0x400d0130:0x3ffb4e60 0x400d0239:0x3ffb4e80
//	Backtrace:0x400d0190:0x3ffb4e40 0x400d0130:0x3ffb4e60  |<-CORRUPTED
type pairs struct {
	pc, sp []uint64
	// corrupted: the device took the last one for none.
	corrupted bool
}

// take takes a line, if a pair stands in it.
func (p *pairs) take(line string) bool {
	_, rest, ok := strings.Cut(line, "Backtrace:")
	if !ok {
		return false
	}
	some := len(p.pc)
	for word := range strings.FieldsSeq(rest) {
		before, after, pair := strings.Cut(word, ":")
		pc, err1 := strconv.ParseUint(strings.TrimPrefix(before, "0x"), 16, 32)
		sp, err2 := strconv.ParseUint(strings.TrimPrefix(after, "0x"), 16, 32)
		if pair && err1 == nil && err2 == nil && len(before) >= 8 && len(p.pc) < maxListed {
			p.pc, p.sp = append(p.pc, pc), append(p.sp, sp)
		}
	}
	p.corrupted = p.corrupted || strings.Contains(rest, "|<-CORRUPTED")
	return len(p.pc) > some
}

// another tells whether a line begins the list of another processor or task.
func (p *pairs) another(line string) bool { return len(p.pc) > 0 && new(pairs).take(line) }

// takeWindows makes the list of such pairs; false where there is none, and then registers tell the place alone. The ESP8266, whose
// functions have no windows, prints lists of that form too, after a search through the code: these are refused.
func (w *words) takeWindows(p *pairs) bool {
	if len(p.pc) == 0 {
		if _, ok := w.vals.of("exccause"); ok && w.form.os == "ESP-IDF" {
			w.form.cpus, w.foreign = nameXtensa, ""
		}
		return false
	}
	w.listed = p.frames(w.vals)
	w.form.cpus, w.foreign = nameXtensa, ""
	if !p.windowed(w.vals) {
		w.foreign = "Xtensa"
	}
	return true
}

// frames are those of the list, whose callers' places are made the return addresses again. The first is the PC, where a report has
// registers.
func (p *pairs) frames(vals values) []target.Listed {
	listed := make([]target.Listed, len(p.pc))
	for i, pc := range p.pc {
		listed[i].PC = pc + firmware.XtensaCall
	}
	if pc, ok := vals.of("pc"); ok && (pc == p.pc[0] || pc == listed[0].PC) {
		listed[0] = target.Listed{PC: pc, Exact: true}
	}
	if p.corrupted {
		listed[len(listed)-1].Doubtful = true
	}
	return listed
}

// windowed tells whether stacks and return addresses are those of functions with windows: each has some bytes of the stack, and A0
// has the size of the call beside the address.
func (p *pairs) windowed(vals values) bool {
	const align = 16
	sure := p.sp
	if p.corrupted {
		sure = sure[:len(sure)-1]
	}
	for i, sp := range sure {
		if sp%align != 0 || i > 0 && sp <= sure[i-1] {
			return false
		}
	}
	a0, ok := vals.of("a0")
	if !ok || len(p.pc) == 1 {
		return true
	}
	ra, called := firmware.XtensaReturn(a0, p.pc[1])
	return called && ra == p.pc[1]+firmware.XtensaCall
}

// xtensa says what EXCCAUSE and EXCVADDR say, where the device names the same cause. It has reasons of its own, with numbers of its own
// in the place of the register's: 5 is a watchdog, too.
func (w *words) xtensa() (text string, addr uint64, addressed bool) {
	number, ok := w.vals.of("exccause")
	var name string
	name, text, addressed = firmware.XtensaCause(number)
	if !ok || w.said.panic != name {
		return w.said.panic, 0, false
	}
	addr, has := w.vals.of("excvaddr")
	addressed = addressed && has
	return text + at(addr, addressed), addr, addressed
}
