package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Consoles lose lines, and two processors print into each other's reports. What is missing cannot
// be had again, but a report of which something is missing shows that: then its chain may lack
// frames, too, and what code does not prove of the chain is a guess.
//
//	x11: ffff8000090f1d78 x10: 0000000000000000 x9 : ffffffffffffffff
//	x5 : ffff00003fd8c858 x4 : 0000000000000000 x3 : 0000000000000000     x8, x7, x6 are missing

// isLoss tells whether a message says that messages before it were lost. The console and the journal
// write such messages; syslog counts equal messages instead of writing them.
func isLoss(text string) bool {
	return strings.HasPrefix(text, "** ") && strings.HasSuffix(text, " printk messages dropped **") ||
		strings.HasPrefix(text, "Lost ") && strings.HasSuffix(text, " message(s)!") || // in an NMI, Linux 4.7 to 5.14
		strings.Contains(text, ": Missed ") && strings.HasSuffix(text, " kernel messages") ||
		strings.Contains(text, "last message repeated ") && strings.HasSuffix(text, " times") || strings.HasPrefix(text, "message repeated ")
}

// isUnwinders tells whether a message is of the kernel's unwinder, which complains within the chain that it prints
// (arch/x86/kernel/unwind_frame.c, unwind_orc.c, since Linux 4.9), and shows the stack then:
//
//	WARNING: kernel stack regs at 00000000a91f745d in toyd:4321 has bad 'bp' value 00000000f6e9d8e9
//	unwind stack type:0 next_sp:          (null) mask:0x2 graph_idx:0
//	00000000a91f745d: ffffffffc483ad99 (toy_remove+0x39/0x50 [toy])
func isUnwinders(text string) bool {
	rest, ok := strings.CutPrefix(text, "WARNING: ")
	for _, says := range [...]string{"kernel stack ", "stack recursion ", "stack going in the wrong direction", "can't access registers", "can't dereference ", "unrecognized unwind ", "unknown unwind ", "unsupported unwind ", "missing R"} {
		if ok && strings.HasPrefix(rest, says) {
			return true
		}
	}
	return false
}

// isSnip tells whether a line stands for lines that were left out by whoever passes the log on: "[...]", "<snip>",
// "[snip]", "…".
func isSnip(text string) bool {
	inner := strings.Trim(text, "[]()<>-. …")
	return text != "" && (inner == "" && strings.ContainsAny(text, ".…") || strings.EqualFold(inner, "snip") || strings.EqualFold(inner, "snipped") || strings.EqualFold(inner, "cut"))
}

// loses marks where messages of the record were lost: entries that follow may have others before
// them, and it is not known where further words of the stack belong.
func (r *record) loses() {
	r.trace.missing, r.trace.lost, r.stack.short, r.stack.lacks = true, true, true, 0
}

// printedTogether are registers of which a processor's reports print all or none: those with the names, and those
// numbered lo to hi behind a prefix.
var printedTogether = [...]struct {
	machine, names, prefix string
	lo, hi                 int
}{
	{"aarch64", "pc lr sp", "", 1, 0}, {"aarch64", "", "x", 0, 29},
	{"arm", "pc lr sp", "", 1, 0}, {"arm", "", "r", 0, 10},
	{"x86_64", "rip rsp rax rbx rcx rdx rsi rdi rbp", "", 1, 0}, {"x86_64", "", "r", 10, 15},
	{"mips", "$28 $29 $30 $31 epc ra", "$", 0, 25}, {"mips64", "$28 $29 $30 $31 epc ra", "$", 0, 25},
	{"riscv64", "epc ra sp gp tp", "", 1, 0}, {"riscv64", "", "a", 0, 7}, {"riscv64", "", "s", 2, 11},
	{"riscv32", "epc ra sp gp tp", "", 1, 0}, {"riscv32", "", "a", 0, 7}, {"riscv32", "", "s", 2, 11},
}

// lacksRegister names a register that is missing from the record although the kernel prints its value
// together with values that the record has.
func (r *record) lacksRegister() (name string, ok bool) {
	m, _ := machineOf(r)
	for _, t := range printedTogether {
		if t.machine != m.name {
			continue
		}
		names := strings.Fields(t.names)
		for i := t.lo; i <= t.hi; i++ {
			names = append(names, t.prefix+strconv.Itoa(i))
		}
		lacking, n := "", 0
		for _, s := range names {
			switch {
			case r.reg(s) != nil:
				n++
			case s != "ra" || !r.stack.old: // Linux 2.4 for MIPS prints $31 alone
				lacking = s
			}
		}
		if n > 0 && lacking != "" {
			return lacking, true
		}
	}
	return "", false
}

// lacksStack tells whether lines of the stack are missing: MIPS prints 40 words and an ellipsis, or all up to the
// end of the page (arch/mips/kernel/traps.c, show_stacktrace).
func lacksStack(r *record) bool {
	m, _ := machineOf(r)
	if m.name != "mips" && m.name != "mips64" || !r.trace.headed {
		return false
	}
	const printed, page = 40, 4096
	sp, words := r.reg("$29"), uint64(len(r.stack.words))
	switch {
	case r.stack.more || words == 0:
		return words != printed
	case sp == nil || words > printed:
		return true
	}
	return (sp.value+words*uint64(sp.digits/2))%page != 0
}

// lacks names what is missing from the record.
func lacks(r *record) (what string, ok bool) {
	if name, ok := r.lacksRegister(); ok {
		return "the one with register " + name, true
	}
	return "those of the stack", lacksStack(r)
}

// doubt marks the entries of a chain out of a report that lacks lines, or has another report's.
func (r *record) doubt(listed []target.Listed, b *binaries) {
	_, lacking := lacks(r)
	mixed, elsewhere := r.isMixed(), lacksPC(r)
	if len(listed) > 0 && (r.lacksBeginning(&listed[0], b.arch) || b.doubtPC(r)) {
		markFirst(listed)
	}
	for i := range listed {
		l := &listed[i]
		l.Gap = l.Gap || lacking || mixed || elsewhere
		l.Searched = l.Searched || mixed || elsewhere
	}
}

// markFirst marks where a chain begins as a gap, stale entries in front among that.
func markFirst(listed []target.Listed) {
	for i := range listed {
		if listed[i].Gap = true; !listed[i].Doubtful {
			return
		}
	}
}

// lacksBeginning tells whether the chain has neither the header that the processor's reports have, nor a PC to begin
// at: it is the rest of a chain into which another report was printed, or with which the log begins. Where a header stands, but
// nothing in front that says whose chain follows, the PC was there. What a checker kept has no header. Where a report
// of MIPS names the process that runs and no PC, show_stack takes its own registers.
func (r *record) lacksBeginning(first *target.Listed, arch *cpu.Arch) bool {
	if r.of != nil || pcOf(r) != nil || samePlace(first, &r.at) || r.what == "KFENCE" && !r.within.begins { // its own stack has no header
		return false
	}
	if r.within.begins {
		return true
	}
	headed := arch.Name != "arm" && !strings.HasPrefix(arch.Name, "riscv")
	return headed && (!r.trace.headed || r.what == "" && !r.process) || r.trace.nowhere || isMIPS(arch) && r.process && first.Symbol != "" && !startsItself(first, arch)
}

// isMixed tells whether lines of another report stand in the record: registers have two values,
// an entry of a chain stands before the chain's heading or behind its outermost entry, registers
// stand within the chain.
// MIPS lists all words of a stack that may be return addresses where it cannot unwind, and what was
// left there of other tasks with them.
func (r *record) isMixed() bool {
	return r.mixed || r.trace.foreign || r.trace.beyond && r.listsFrames() || r.stack.twice || hasTwoLinks(r) || hasOtherStack(r) || isOfOtherFault(r)
}

// isOfOtherFault tells whether registers are not those that the first line of the report has, which MIPS and RISC-V print
// there, too (arch/mips/mm/fault.c, arch/riscv/mm/fault.c):
//
//	CPU 0 Unable to handle kernel paging request at virtual address 00000010, epc == c00a5020, ra == c00a506c
//	epc   : c00a5020 leaf+0x20/0x2c [toy]
//	BadVA : 00000010
func isOfOtherFault(r *record) bool {
	if !strings.HasPrefix(r.says, "Unable to handle kernel") {
		return false
	}
	if bad := r.reg("badva", "badaddr"); bad != nil && bad.known && r.fault.known && bad.value != r.fault.addr {
		return true
	}
	_, word, ok := strings.Cut(r.says, ", epc == ")
	word, _, _ = strings.Cut(word, ",")
	v, hex := parseHex(word)
	pc := r.reg("epc")
	return ok && hex && pc != nil && pc.known && len(word) == pc.digits && v != pc.value
}

// hasOtherStack tells whether the stack, of which ARM says where it begins, is not where the stack pointer is.
func hasOtherStack(r *record) bool {
	sp := r.reg("sp")
	return sp != nil && sp.known && r.stack.sp != 0 && r.stack.sp != sp.value
}

// hasTwoLinks tells whether the link register, which MIPS prints twice, has two values.
func hasTwoLinks(r *record) bool {
	one, other := r.reg("$31"), r.reg("ra")
	return one != nil && other != nil && one.known && other.known && one.value != other.value
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

// listsFrames tells whether the record is not of MIPS.
func (r *record) listsFrames() bool {
	m, _ := machineOf(r)
	return m.name != "mips" && m.name != "mips64"
}

// ended tells whether the last entry is the outermost frame, goesOn whether it is a frame that has a
// caller.
func (t *trace) ended() bool {
	n := len(t.listed)
	return n > 0 && t.listed[n-1].Outermost
}

func (t *trace) goesOn() bool {
	n := len(t.listed)
	return n > 0 && !t.listed[n-1].Outermost && !t.listed[n-1].Doubtful && !t.mayEnd()
}

// mayEnd tells whether the last entry is where chains may end although others go on there: where a processor starts,
// at code that no symbol names, as that which runs before the kernel's addresses do, and where arm64 before Linux 5.6 enters
// the kernel, which are functions in C since.
//
//	[<c014c650>] (cpu_startup_entry) from [<40101650>] (0x40101650)
//	secondary_start_kernel+0x15c/0x190
//	el0_svc+0x8/0xc
func (t *trace) mayEnd() bool {
	n := len(t.listed)
	if n == 0 {
		return false
	}
	switch t.listed[n-1].Symbol {
	case "", "start_kernel", "secondary_start_kernel", "el0_svc", "el0_svc_compat", "el0_da", "el0_ia", "el0_dbg", "el0_undef":
		return true
	}
	return false
}

// printsHeader tells whether the record is of a processor whose reports of registers have a header
// in front of their chain. ARM's and RISC-V's had none before Linux 5.14 and 6.2.
func (r *record) printsHeader() bool {
	m, ok := machineOf(r)
	return ok && m.name != "arm" && m.name != "riscv64" && m.name != "riscv32"
}

// printsRegistersFirst tells whether the record is of a processor whose reports have all registers in
// front of the chain. x86 has those of interrupted code in the chain.
func (r *record) printsRegistersFirst() bool {
	m, ok := machineOf(r)
	return ok && m.name != "x86_64" && m.name != "i386"
}

// unmixed drops all but one line's content from a report in which lines of another report stand: the
// place where the processor stood.
func (r *record) unmixed() {
	if !r.isMixed() {
		return
	}
	pc := pcOf(r)
	r.stack, r.hasCode, r.mixed = stack{}, false, true
	if pc == nil {
		r.regs = nil
		return
	}
	r.regs = []register{*pc}
}

// lossIssue says that a report lacks lines, or has another's; ok is false where it is whole.
func (r *record) lossIssue() (issue target.Issue, ok bool) {
	what, lacking := lacks(r)
	switch {
	case r.isMixed():
		return target.Issue{Kind: target.IssueCapture, Text: "two reports are printed into one another, " + r.title()}, true
	case r.trace.lost:
		return target.Issue{Kind: target.IssueCapture, Text: "messages within a report were lost, " + r.title()}, true
	case lacking:
		return target.Issue{Kind: target.IssueCapture, Text: "lines of a report are missing, " + r.title() + ": " + what}, true
	}
	return issue, false
}
