package kernellog

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/console"
	"github.com/backsight/backsight/input/linux"
	"github.com/backsight/backsight/target"
)

// report makes a console's report of a record; nil where nobody knows the processor.
func (k *kernelLog) report(r *record, env *input.Env) *console.Report {
	b := k.binaries(r, env)
	if b.arch == nil {
		return nil
	}
	arch := b.arch
	out := &console.Report{Title: r.title(), Arch: arch, OS: "Linux", Modules: b.list(), Issues: b.takeIssues()}
	if r.within.begins {
		out.Issues = append(out.Issues, target.Issue{Kind: target.IssueCapture, Text: "the log begins within a report, " + out.Title})
	}
	if r.within.ends {
		out.Issues = append(out.Issues, target.Issue{Kind: target.IssueCapture, Text: "the log ends within a report, " + out.Title})
	}
	r.unmixed()
	for _, about := range [...]func() (target.Issue, bool){r.tracedIssue, r.lossIssue} {
		if issue, ok := about(); ok {
			out.Issues = append(out.Issues, issue)
		}
	}
	if b.kernel != nil {
		out.Hooks = linux.Hooks(b.kernel)
	}
	t := &out.Thread
	t.Crashed = r.crash
	if r.crash {
		out.Fault = faultOf(r)
	}
	t.Regs = registersOf(r, b)
	t.Listed = chain(r, k.further(r), b)
	t.Memory = memoryOf(r, arch, &t.Regs)
	if own, ok := ownRegisters(r, t.Listed, b); ok && !t.Regs.Known.Has(arch.PC) {
		t.Regs = own
	}
	if servesUser(r) {
		t.Entered = enteredAt(arch, &t.Regs)
	}
	if pc, ok := t.Regs.Lookup(arch.PC); ok && r.hasCode {
		out.Issues = append(out.Issues, b.compareCode(&r.code, pc)...)
	}
	return out
}

// binaries are those of a record's machine: as its registers tell, else as the log's other
// records do.
func (k *kernelLog) binaries(r *record, env *input.Env) *binaries {
	m, ok := machineOf(r)
	if !ok {
		m = k.machine
	}
	b := k.found[m]
	if b == nil {
		b = k.find(m, env)
		k.found[m] = b
	}
	return b
}

// registersOf are the registers whose values the record has, or a file.
func registersOf(r *record, b *binaries) (regs cpu.Registers) {
	noPC := b.doubtPC(r)
	for i := range r.regs {
		reg := &r.regs[i]
		n, ok := b.arch.RegByName(reg.name)
		if !ok || n == b.arch.PC && noPC || n != b.arch.PC && reg.known && !b.agrees(reg.value, &reg.at) {
			continue
		}
		if reg.known {
			regs.Set(n, reg.value&b.arch.AddrMask())
		} else if v, ok := b.addressOf(&reg.at); ok && !regs.Known.Has(n) {
			regs.Set(n, v)
		}
	}
	return regs
}

// memoryOf is the memory that the record shows: of the stack, and the code at the PC.
func memoryOf(r *record, arch *cpu.Arch, regs *cpu.Registers) *target.Memory {
	var b target.Builder
	if pc, ok := regs.Lookup(arch.PC); ok && r.hasCode {
		data, at := r.code.bytes(arch.BigEndian)
		b.Add(pc-uint64(at), data, 0, target.PermRead|target.PermExec)
	}
	sp, _ := regs.Lookup(arch.SP)
	r.stack.addTo(&b, arch, sp)
	return b.Memory(arch)
}

// chain is the call chain of a record, from where the PC is, with what other reports and the
// stack add to it, and the addresses that files give symbols.
func chain(r *record, further []target.Listed, b *binaries) []target.Listed {
	listed := slices.Clone(withoutHandlers(r.trace.listed, r))
	believeCaller(listed, r)
	if len(listed) == 0 {
		listed, further = slices.Clone(further), nil
	}
	listed = append(withFirstCaller(completed(r, listed, b.arch), r, b), further...)
	listed = withWarned(listed, r)
	doubtThreadStart(listed)
	doubtCallers(listed, &r.work, b.arch)
	b.settlePlaces(listed)
	for i := range listed {
		l := &listed[i]
		if l.PC != 0 || l.Symbol == "" {
			continue
		}
		p := place{symbol: l.Symbol, module: l.Module, offset: l.Offset, size: l.Size}
		if l.Size == 0 && l.Offset == 0 {
			continue // ARM's trace begins with a name alone
		}
		if addr, ok := b.addressOf(&p); ok && !p.isImpossible(b.instructions()) {
			l.PC, l.ByName = addr, true
		} else if ok || b.lacksName(&p) {
			l.Gap = true
		}
	}
	r.doubt(listed, b)
	doubtUnmarked(listed, r, b)
	doubtInterrupted(listed, b)
	dropNext(listed)
	listed = withStackWords(listed, r, b)
	return append(listed, around(r, listed, b)...)
}

// dropNext leaves out names that are those of the next function: behind a call that never
// returns, the return address is where the next function begins, and kernels print that one.
// BUG() at the end of bug_b is listed as "bug_c from kth_fn+0x0/0x14".
func dropNext(listed []target.Listed) {
	for i := range listed {
		if l := &listed[i]; l.Offset == 0 && l.Size != 0 && !l.Exact && !isReturnedTo(l.Symbol) {
			l.Symbol, l.Size = "", 0
		}
	}
}

// isReturnedTo tells whether handlers of exceptions return to where a function begins: MIPS and RISC-V set the link
// register to it and jump (arch/riscv/kernel/entry.S, la ra, ret_from_exception).
func isReturnedTo(symbol string) bool {
	switch symbol {
	case "ret_from_exception", "ret_from_irq", "resume_userspace_check", "ret_from_syscall":
		return true
	}
	return false
}

// completed is a record's chain, listed, with the PC, and the caller that only the link register has.
//
// The kernel's list begins at the PC on some processors, at its caller on others. Where the
// PC's function had saved no link register, the list lacks the function's caller, which is
// where the link register points to: on arm64, leaf_deref is listed with mid_b behind it
// while "lr : mid_c+0x2c/0x3c" says who called. A link register within the PC's own function
// is left over from a call that came back; one in a tracer's trampoline does not say who called.
//
// ARM's functions come back by loading the PC from the stack, so that the register may point to where a function called
// that has come back long since. Its unwinder by tables knows the callers of leaf functions, that by frame pointers does not:
//
//	PC is at mutex_lock_toy+0x54/0xb18
//	LR is at lock_is_held_toy+0x80/0x138
//	[<c0afc920>] (mutex_lock_toy) from [<c0afd400>] (toy_probe+0x1c/0x24)
func completed(r *record, listed []target.Listed, arch *cpu.Arch) []target.Listed {
	pc := pcOf(r)
	if len(listed) > 0 && pc == nil && startsItself(&listed[0], arch) {
		listed[0].Exact = true
	}
	if pc == nil && len(listed) > 0 && startsAtPC(r) {
		pc = &register{name: "pc", at: placeOf(&listed[0])}
	}
	if pc == nil && trapsToWarn(r) {
		pc = &register{name: "pc", at: r.at, value: r.at.addr, known: r.at.hasAddr}
	}
	if pc == nil && isMIPS(arch) && (r.reg("$31", "ra", "$29") != nil || hasBeginnings(listed)) {
		for i := range listed { // doubtSearched cannot tell
			listed[i].Searched = true
		}
	}
	if pc == nil {
		return listed
	}
	if len(listed) > 0 && listed[0].Exact && listed[0].Symbol != "" && pc.at.symbol == "" {
		if lr := r.reg("lr"); lr != nil && lr.at.symbol == listed[0].Symbol { // ARM names the function that called nowhere
			listed[0] = lr.at.listed()
			listed[0].PC = lr.value
		}
		return listed
	}
	if isMIPS(arch) {
		doubtSearched(listed, pc)
	}
	listed, at := withPC(listed, pc, arch)
	function := pc.at.function()
	if function == "" && at == 1 { // the line with the place was lost, the list has it
		first := placeOf(&listed[0])
		function = first.function()
	}
	lr := r.reg("lr", "ra")
	if lr != nil && at < len(listed) {
		listed[at].Gap = listed[at].Gap || isTrampoline(lr.at.symbol) && !isTrampoline(listed[at].Symbol)
		if samePlace(&listed[at], &lr.at) && listed[at].PC == 0 && lr.known {
			listed[at].PC = lr.value
		}
	}
	if lr == nil || arch.LR == cpu.NoReg || lr.at.symbol == "" || lr.at.function() == function || isTrampoline(lr.at.symbol) ||
		at < len(listed) && samePlace(&listed[at], &lr.at) {
		return listed
	}
	if at < len(listed) && completes(&lr.at, &listed[at]) {
		return listed
	}
	caller := lr.at.listed()
	if lr.known {
		caller.PC = lr.value
	}
	if arch.Name == "arm" && pc.at.symbol != "" && (pc.at.offset != 0 || pc.at.size == 0) {
		if caller.Gap = true; at < len(listed) && !r.trace.form.byFrames {
			return listed
		}
	}
	return slices.Insert(listed, at, caller)
}

// hasBeginnings tells whether a chain has functions' beginnings, as a search for words of the stack gives: MIPS lists what
// dump_stack finds so before Linux 2.6.19. A chain that begins with the function that lists it was not searched for: what
// never returns is called right before a function's beginning.
//
//	[<80300c00>] start_kernel+0x2e8/0x344
//	[<80300564>] unknown_bootoption+0x0/0x340
func hasBeginnings(listed []target.Listed) bool {
	for i := range listed {
		if s := listed[i].Symbol; i == 0 && (s == "show_stack" || s == "dump_stack") {
			return false
		}
		if l := &listed[i]; l.Offset == 0 && l.Size != 0 && (!l.Exact || l.Outermost) && !isReturnedTo(l.Symbol) {
			return true
		}
	}
	return false
}

// startsAtPC tells whether the kernel's list begins where the PC is, in a report that has lost the line with
// the PC: those of arm64 with registers do.
func startsAtPC(r *record) bool {
	m, _ := machineOf(r)
	return m.name == "aarch64" && r.reg("lr", "sp") != nil
}

// placeOf is the place of an entry of a chain.
func placeOf(l *target.Listed) place {
	return place{symbol: l.Symbol, module: l.Module, offset: l.Offset, size: l.Size}
}

func isMIPS(arch *cpu.Arch) bool { return arch.Name == "mips" || arch.Name == "mips64" }

// startsItself tells whether a chain begins where the function stood that lists it, and not
// where a call returns to: show_stack of MIPS takes its own registers
// (arch/mips/include/asm/stacktrace.h, prepare_frametrace), dump_backtrace of arm64 its own address, before Linux 5.7, and
// RISC-V's walk_stackframe begins at itself (arch/riscv/kernel/stacktrace.c, before Linux 5.12).
func startsItself(first *target.Listed, arch *cpu.Arch) bool {
	itself := first.Offset == 0 && (arch.Name == "aarch64" && first.Symbol == "dump_backtrace" || isRISCV(arch) && first.Symbol == "walk_stackframe")
	return isMIPS(arch) && first.Symbol == "show_stack" || itself
}

func isRISCV(arch *cpu.Arch) bool { return arch.Name == "riscv64" || arch.Name == "riscv32" }

// doubtSearched doubts a chain that does not begin at the PC, as those of MIPS do: where the PC
// is no code, the kernel lists every word on the stack that points to code
// (arch/mips/kernel/traps.c, show_raw_backtrace).
func doubtSearched(listed []target.Listed, pc *register) {
	if len(listed) == 0 || samePlace(&listed[0], &pc.at) || pc.isNowhere(&listed[0]) {
		return
	}
	for i := range listed {
		listed[i].Doubtful = true
	}
}

// withPC is a chain that begins where the PC is. at is the index of the PC's caller.
func withPC(listed []target.Listed, pc *register, arch *cpu.Arch) (all []target.Listed, at int) {
	switch {
	case len(listed) > 0 && (samePlace(&listed[0], &pc.at) || pc.isNowhere(&listed[0])):
		listed[0].Exact = true
		return listed, 1
	case pc.at.symbol == "" && (!pc.known || pc.value == 0):
		return listed, 0
	case len(listed) > 0 && listed[0].Exact: // ARM names the PC's function first
		listed = listed[1:]
	}
	first := pc.at.listed()
	first.PC, _ = arch.SplitCode(pc.value) // a call through a bad pointer chooses an instruction set, too
	first.Exact = true
	return slices.Insert(listed, 0, first), 1
}

// isNowhere tells whether an entry of a chain is the PC of a call through a bad pointer, which no
// symbol names: arm64's list begins with "0x12345678" where "pc : 0x12345678" says the same. Kernels
// without the names of their functions print all places so, and the line may be lost that has the place of RISC-V's PC.
func (r *register) isNowhere(l *target.Listed) bool {
	return l.PC != 0 && r.at.symbol == "" && r.known && r.value == l.PC
}

// completes tells whether p is a place in the function that an entry of a chain names alone, and makes the entry that place.
func completes(p *place, l *target.Listed) bool {
	if l.PC != 0 || l.Entry == 0 || l.Symbol != p.symbol || l.Module != p.module {
		return false
	}
	l.PC, l.Offset, l.Size = l.Entry+p.offset, p.offset, p.size
	return true
}

// samePlace tells whether an entry of a chain is the place p.
func samePlace(l *target.Listed, p *place) bool {
	return l.Symbol == p.symbol && l.Offset == p.offset && l.Module == p.module && p.symbol != ""
}
