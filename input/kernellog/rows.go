package kernellog

import (
	"strconv"
	"strings"
)

// Mail programs begin a new line behind a word where a line is long, and reports of processors of 64 bits have long
// lines. What a line lacks stands in the next then, and nothing else:
//
//	$ 0   : 0000000000000000 ffffffff804c7710 0000000000000000
//	0000000000000000
//	[   10.382561]  gp : ffffffe00106d950 tp : ffffffe3ef752f80 t0 :
//	ffffffe0010836e8
//	Stack : ffffffff81700000 ffffffff81751158
//	0000000000000000 ffffffff8175f2f8
//	[<ffffffff02fbc038>] toy_driver_init+0x30/0xff8
//	[toy]
//	WARNING: CPU: 2 PID: 35 at drivers/toy.c:349
//	toy_get_direction+0x48/0x66

// row is a line of registers that goes on in the next line: the register whose value is next there, "" for none, and
// the digits of values, 0 unknown.
type row struct {
	next   string
	digits int
}

// rowOf tells where a line of registers goes on.
func rowOf(text string, regs []register) row {
	digits := 0
	if n := len(regs); n > 0 {
		digits = regs[n-1].digits
	}
	text = strings.TrimSpace(text)
	if head, ok := strings.CutSuffix(text, ":"); ok {
		if i := strings.LastIndexByte(strings.TrimRight(head, " "), ' '); i >= 0 {
			head = head[i+1:]
		}
		if name := cpuName(strings.TrimSpace(head)); isRegister(name) {
			return row{name, digits}
		}
	}
	if digits == 0 || !strings.HasPrefix(text, "$") || len(regs) >= 4 {
		return row{}
	}
	last, _ := strconv.Atoi(regs[len(regs)-1].name[1:])
	first, _ := strconv.Atoi(regs[0].name[1:])
	if last-first+1 != len(regs) || last%4 == 3 || last == 25 { // the kernel's own registers, $26 and $27, are never printed
		return row{}
	}
	return row{"$" + strconv.Itoa(last+1), digits}
}

// takeWrapped reads a line that has only what the line before lacks. entry: that was an entry of the chain.
func takeWrapped(r *record, text string, entry bool) bool {
	next := r.row
	if r.row = (row{}); holdsLock(text) {
		r.row.next = text
		return true
	}
	if holdsLock(next.next) {
		return isEntry(text)
	}
	if next.next == "" {
		return entry && r.trace.takeModule(text) || takeWarned(r, text)
	}
	word, _ := cutWord(text)
	if d := digitsOf(word); d != 8 && d != 16 || next.digits != 0 && d != next.digits {
		return false
	}
	if !strings.HasPrefix(next.next, "$") {
		text = next.next + " : " + text
		return addRegisters(r, text, parseRegisters(text))
	}
	for _, s := range strings.Fields(text) {
		if digitsOf(s) != next.digits {
			return false
		}
	}
	regs := numbered(next.next, text)
	first, _ := strconv.Atoi(next.next[1:])
	if first%4+len(regs) > 4 {
		return false
	}
	return addRegisters(r, "", regs)
}

// takeModule reads the module of the entry before, which stands alone.
func (t *trace) takeModule(text string) bool {
	name, rest := cutModule(text)
	n := len(t.listed)
	if name == "" || rest != "" || n == 0 || t.listed[n-1].Module != "" || t.listed[n-1].Symbol == "" || !isSymbol(name) {
		return false
	}
	t.listed[n-1].Module = name
	return true
}

// takeWarned reads the place of a warning that stands alone behind its beginning.
func takeWarned(r *record, text string) bool {
	if r.what != "warning" || r.at.symbol != "" || r.process || r.silent > 0 || !r.empty() {
		return false
	}
	if p, _, ok := parsePlace(text); !ok || p.symbol == "" || p.hasAddr {
		return false
	}
	h, _, ok := heads(r.says + " " + text)
	if ok && h.at.symbol != "" {
		r.add(&h)
	}
	return ok && h.at.symbol != ""
}
