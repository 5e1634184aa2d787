package kernellog

import (
	"strconv"
	"strings"
)

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
	if isAround(text) || r.access(text) {
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
		r.trace.foreign = r.trace.foreign || !r.trace.headed && !r.within.begins && processorOf(r).has(headed) || beginsAgain(r)
		return true
	}
	return r.takeRegisters(text)
}

// workIn reads which function a worker of a workqueue runs (kernel/workqueue.c, print_worker_info):
//
//	Workqueue: events work_fn [crashy]
//	Workqueue: writeback wb_workfn (flush-8:0)
func workIn(text string) (work place, ok bool) {
	rest, ok := strings.CutPrefix(text, "Workqueue: ")
	if !ok {
		return work, false
	}
	if rest, ok = strings.CutSuffix(rest, ")"); ok {
		rest, _, _ = cutLast(rest, '(')
		rest = strings.TrimRight(rest, " ")
	}
	name, module, _ := cutLast(rest, '[')
	module, _ = cutModule("[" + module)
	_, function, ok := cutLast(strings.TrimRight(name, " "), ' ')
	if ok && isSymbol(function) {
		work = place{symbol: function, module: module}
	}
	return work, true
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

// takeRegisters reads registers. Those that follow the first entry of the chain are of
// another moment: user space's, or of what an interrupt found running.
func (r *record) takeRegisters(text string) bool {
	if r.trace.registers && isUserStack(text) {
		r.trace.outermost()
	}
	if r.crash && !r.trace.headed && isUserPC(text) { // the kernel has not crashed there
		r.mixed = true
		return true
	}
	if release := releaseOfFlags(text); release != "" && r.release == "" {
		r.release = release
		return true
	}
	regs := parseRegisters(text)
	if len(regs) == 0 {
		return false
	}
	r.trace.foreign = r.trace.foreign || r.trace.headed && !r.trace.ended() && (printsRegistersFirst(r) || len(r.trace.listed) > 0 && !r.trace.registers)
	for i := range regs {
		if len(r.trace.listed) == 0 && len(r.regs) < maxRegisters {
			r.setRegister(&regs[i])
		}
	}
	return true
}

// beginsAgain tells whether another chain begins with the last entry: at show_stack for the second time, or on MIPS,
// where that takes its own registers, behind a chain that began at the PC. Where the PC is no code, show_stack may be left over on the stack.
//
//	[<ffffffffc000201c>] leaf_deref+0x1c/0x28 [crashy]
//	[<ffffffff8153c1b0>] show_stack+0x70/0x168
func beginsAgain(r *record) bool {
	n, pc := len(r.trace.listed), r.reg("epc")
	if n < 2 || r.trace.listed[n-1].Symbol != "show_stack" {
		return false
	}
	first := &r.trace.listed[0]
	return first.Symbol == "show_stack" || pc != nil && !r.listsFrames() && samePlace(first, &pc.at)
}

// printsRegistersFirst tells whether the record is of a processor whose reports have all registers in front of the chain.
func printsRegistersFirst(r *record) bool {
	m := processorOf(r)
	return m.known() && !m.has(registersWithin)
}
