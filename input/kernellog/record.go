package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// record is a report as the lines of the log have it.
type record struct {
	heading
	lastLine
	from, to int // lines: the first, and the one behind the last
	fault    fault
	regs     []register
	stack    stack
	trace    trace
	work     place // the function that the task runs for a workqueue; no symbol: the report names none
	code     code
	hasCode  bool
	within   within
	// of is the report in which the record's stack, a kept one, was shown.
	of *record
	// mixed: a register has two values, two processes are named, or the record began within another.
	mixed bool
}

// lastLine is what the lines before tell of the next.
type lastLine struct {
	// silent counts the lines since the last that belonged to the report.
	silent int
	// entry: the line before was an entry of the chain.
	entry bool
}

// within tells that the log begins within a report's chain, or ends before the chain does.
type within struct{ begins, ends bool }

// fault is what a report says of a bad access.
type fault struct {
	addr  uint64
	known bool
}

// maxSilence is how many lines of something else may stand within a report.
const maxSilence = 48

// whole tells whether the chain goes down to the outermost frame.
func (r *record) whole() bool {
	for i := range r.trace.listed {
		if r.trace.listed[i].Outermost {
			return true
		}
	}
	return false
}

// empty tells whether the record has nothing to unwind.
func (r *record) empty() bool { return len(r.regs) == 0 && len(r.trace.listed) == 0 }

// walkable tells whether the record has a PC or a chain.
func walkable(r *record) bool {
	return len(r.trace.listed) > 0 || pcOf(r) != nil
}

// head takes what a message says of the report.
func (r *record) head(h *heading) {
	r.add(h)
	if !r.fault.known {
		r.fault = faultIn(h.says)
	}
}

// faultOf is why a report was made.
func faultOf(r *record) *target.Fault {
	return &target.Fault{Name: r.reason(), Address: r.fault.addr, HasAddress: r.fault.known}
}

// faultIn reads the address of a bad access: "at virtual address 00000010",
// "address: 0000000000000010", "fault for address: 0xffff…", "at 0x00000010".
func faultIn(says string) (f fault) {
	if strings.Contains(says, " NULL pointer ") && strings.HasSuffix(says, " (null)") { // before Linux 4.19
		return fault{known: true}
	}
	for _, before := range [...]string{"virtual address ", "address: ", "at address ", " at "} {
		if _, rest, ok := strings.Cut(says, before); ok {
			digits := rest
			if i := strings.IndexAny(rest, " ,"); i >= 0 {
				digits = rest[:i]
			}
			if n := digitsOf(strings.TrimPrefix(digits, "0x")); n == 8 || n == 16 {
				f.addr, f.known = parseHex(digits)
				return f
			}
		}
	}
	return f
}

// reason is the message without what changes from report to report.
func (r *record) reason() string {
	s := r.says
	for _, before := range [...]string{", epc ==", " at virtual address", ", address:", " for address", " at address", " (0x", " at 0x", "[#", " by CPU", " CPU:", " CPU#"} {
		if i := strings.Index(s, before); i > 0 {
			s = s[:i]
		}
	}
	if i := strings.Index(s, " at "); i > 0 {
		at, _ := cutWord(strings.TrimLeft(s[i+len(" at "):], " "))
		if n := digitsOf(at); n == 8 || n == 16 || at == "(null)" {
			s = s[:i]
		}
	}
	return strings.TrimRight(s, " :,")
}

// take reads a line of the report's body, and tells whether the line belongs to the report.
func (r *record) take(text string) bool {
	r.entry = false
	if strings.HasPrefix(text, "Hardware name: ") && strings.Contains(text, ", BIOS ") {
		r.trace.hasBIOS = true
		return true
	}
	if isTraceHeader(text) {
		r.trace.bios = r.trace.hasBIOS && strings.HasPrefix(text, "Call Trace:")
		r.trace.form.lower = r.trace.form.lower || strings.HasPrefix(text, "Call trace:")
		r.mixed = r.mixed || r.trace.headed
		r.stack.open, r.trace.open, r.trace.headed = false, true, true
		if _, entries, _ := strings.Cut(text, ":"); entries != "" { // before Linux 2.6.18
			r.trace.take(strings.TrimSpace(entries))
		}
		return true
	}
	if r.stack.take(text) {
		return true
	}
	if isAround(text) {
		return true
	}
	if work, ok := workIn(text); ok {
		r.work = work
		return true
	}
	if takeProcess(r, text) {
		return true
	}
	if at, ok := repeatedPC(text); ok && r.trace.headed && r.at.symbol == "" && pcOf(r) == nil {
		r.at, r.trace.repeated, r.trace.marked = at, true, true
		if r.what == "" {
			r.what, r.says, r.crash = "oops", "Oops", true // nothing else repeats the PC
		}
		return true
	}
	if rest, ok := strings.CutPrefix(text, "Code:"); ok {
		if c, ok := parseCode(rest); ok && !r.hasCode && !r.trace.shown {
			r.code, r.hasCode = c, true
		}
		return true
	}
	if ended := r.trace.ended(); r.trace.take(text) {
		r.stack.open, r.entry = false, true
		r.trace.beyond = r.trace.beyond || ended && r.silent == 0 && r.trace.goesOn()
		r.trace.foreign = r.trace.foreign || !r.trace.headed && !r.within.begins && r.printsHeader() || beginsAgain(r)
		return true
	}
	return r.takeRegisters(text)
}

// takeProcess reads which task ran, which kernels of MIPS and ARM say behind the registers, and before Linux 3.10 there
// alone: "Cpu 0" in front of the registers of MIPS (arch/mips/kernel/traps.c, show_regs), and
// "Process sh (pid: 95, threadinfo=8f066000, task=8fade098, tls=2aad6470)".
func takeProcess(r *record, text string) bool {
	if number, ok := strings.CutPrefix(text, "Cpu "); ok {
		n, err := strconv.Atoi(number)
		if r.cpu < 0 && err == nil {
			r.cpu = n
		}
		return err == nil
	}
	comm, pid, ok := processIn(text)
	if !ok {
		return false
	}
	if r.pid < 0 {
		r.comm, r.pid = comm, pid
	}
	r.mixed = r.mixed || r.pid != pid
	return true
}

// maxRegisters bounds the registers of a report: RISC-V and arm64 have some forty.
const maxRegisters = 80

// takeRegisters reads registers. Those that follow the first entry of the chain are of
// another moment: user space's, or of what an interrupt found running.
func (r *record) takeRegisters(text string) bool {
	if r.trace.registers && isUserStack(text) {
		r.trace.outermost()
	}
	if release := releaseOfFlags(text); release != "" && r.release == "" {
		r.release = release
		return true
	}
	regs := parseRegisters(text)
	if len(regs) == 0 {
		return false
	}
	r.trace.foreign = r.trace.foreign || r.trace.headed && !r.trace.ended() && (r.printsRegistersFirst() || len(r.trace.listed) > 0 && !r.trace.registers)
	for i := range regs {
		if len(r.trace.listed) == 0 && len(r.regs) < maxRegisters {
			r.setRegister(&regs[i])
		}
	}
	return true
}

// isUserStack tells whether i386's registers are user space's, of whose stack segment the privilege level says so:
//
//	DS: 007b ES: 007b FS: 0000 GS: 0000 SS: 007b EFLAGS: 00000202
func isUserStack(text string) bool {
	_, ss, ok := strings.Cut(text, " SS: ")
	ss, _ = cutWord(ss)
	v, hex := parseHex(ss)
	return ok && hex && len(ss) == 4 && v&3 == 3
}

// setRegister adds a register; of one that is printed twice, as "PC is at leaf+0x14/0x20" and
// "pc : [<bf000014>]", the value and the place.
func (r *record) setRegister(reg *register) {
	old := r.reg(reg.name)
	if old == nil {
		r.regs = append(r.regs, *reg)
		return
	}
	r.mixed = r.mixed || old.known && reg.known && old.value != reg.value || old.at.contradicts(&reg.at)
	if !old.known {
		old.value, old.known, old.digits = reg.value, reg.known, reg.digits
	}
	if old.at.symbol == "" {
		old.at = reg.at
	}
	old.said = old.said && reg.said
}

// reg is the register of a name, nil where the report has none.
func (r *record) reg(names ...string) *register {
	for i := range r.regs {
		for _, n := range names {
			if r.regs[i].name == n {
				return &r.regs[i]
			}
		}
	}
	return nil
}

// pcOf is the register that says where the processor stood, nil where the report has none.
func pcOf(r *record) *register { return r.reg("pc", "epc", "rip", "eip") }
