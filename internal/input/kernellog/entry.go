package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// take reads an entry of the chain, or what kernels print between entries.
func (t *trace) take(text string) bool {
	if marks, rest := cutMarks(text); marks != "" {
		t.marked = t.marked || t.open
		t.switched = t.switched || strings.Contains(marks, "<EOE>")
		if text = rest; text == "" {
			return t.open
		}
	}
	text = withoutEmpty(text)
	if s, ok := userPlace(text); ok && t.open {
		t.user(s)
		t.registers, t.marked = true, true
		t.narrow = t.narrow || text[0] == 'E'
		return true
	}
	if isPushed(text) {
		t.form.byFrames = t.form.byFrames || len(t.listed) > 0
		return len(t.listed) > 0
	}
	if t.open && len(t.listed) > 0 && isSnip(text) {
		t.missing = true
		return true
	}
	if callee, caller, ok := strings.Cut(text, " from "); ok {
		return t.takePair(callee, caller)
	}
	if t.takeAddresses(text) {
		return true
	}
	if t.open && isCut(text) {
		t.missing = true
		return true
	}
	if p, ok := inlinedIn(text); ok && t.open && len(t.inlined) < maxInlined {
		t.inlined = append(t.inlined, p)
		return true
	}
	return t.takeEntry(text)
}

// takeEntry reads an entry of the chain.
func (t *trace) takeEntry(text string) bool {
	doubtful := false
	s := text
	if addr, after, ok := cutBracketed(s); ok && strings.HasPrefix(after, "? ") {
		doubtful, s = true, "[<"+hexOf(addr)+">] "+after[2:]
	} else if after, ok := strings.CutPrefix(s, "? "); ok {
		doubtful, s = true, after
	}
	p, rest, ok := parsePlace(s)
	rest, more := cutNextEntry(rest)
	if !ok || strings.HasPrefix(s, "(") || !endsEntry(rest) || (p.symbol == "" || p.offset == 0 && p.size == 0) && !t.open {
		return false
	}
	t.marked = t.marked || doubtful
	switch {
	case p.symbol == "" && p.addr != 0 && p.addr < minPage && len(t.listed) > 0: // the size of a function, from a line that was broken
		t.missing = true
	case p.symbol != "" || p.addr != 0:
		t.add(&p, doubtful)
	case len(t.listed) == 0:
		t.nowhere = true
	default:
		t.zero = true
	}
	if more != "" {
		t.takeEntry(more)
	}
	return true
}

// takeAddresses reads several entries on a line, which are addresses alone. Linux 2.4, and 2.6 without the names of its
// functions, lists so whatever word of the stack points to code (arch/mips/kernel/traps.c, show_trace):
//
//	Call Trace:   [<800d6d64>] [<80028a78>] [<80021104>]
//	 [<80034158>] [<8015cccc>] ...
func (t *trace) takeAddresses(text string) bool {
	if !t.open || !strings.HasPrefix(text, "[<") {
		return false
	}
	var list []place
	for rest := text; rest != "" && rest != "..." && len(list) < maxListed; {
		addr, after, ok := cutBracketed(rest)
		if !ok {
			return false
		}
		list, rest = append(list, place{addr: addr, hasAddr: true}), after
	}
	if len(list) < 2 {
		return false
	}
	for i := range list {
		t.add(&list[i], true)
	}
	return true
}

// withoutEmpty is an entry without what pages make of addresses, which they take for HTML's elements:
//
//	[] (mid+0x10/0x20) from [] (top+0x10/0x20)
//	[] ? mid+0x10/0x20
func withoutEmpty(text string) string {
	if !strings.HasPrefix(text, "[]") {
		return text
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "[] ", ""))
}

// isPushed tells whether a message shows registers that the function of the entry before had pushed: ARM's unwinder
// over frame pointers prints them (arch/arm/lib/backtrace.S).
//
//	r7:c1af56c0 r6:00000000 r5:bf00071c r4:c1bfd380
func isPushed(text string) bool {
	if !strings.HasPrefix(text, "r") {
		return false
	}
	for _, s := range strings.Fields(text) {
		name, value, _ := strings.Cut(s, ":")
		if !isRegister(name) || digitsOf(value) != 8 {
			return false
		}
	}
	return true
}

// isEntry tells whether a message is an entry of a chain, and nothing else.
func isEntry(text string) bool {
	if strings.IndexByte(text, '+') < 0 && !strings.Contains(text, " from ") { // no offset: most lines of a log
		return false
	}
	var t trace
	return t.take(text) && len(t.listed) > 0
}

// userPlace reads where user space was: "RIP: 0033:0x47b7a0".
func userPlace(text string) (s string, ok bool) {
	for _, name := range [...]string{"RIP: ", "EIP: "} {
		if s, ok = strings.CutPrefix(text, name); ok {
			return s, true
		}
	}
	return "", false
}

// user reads the registers that x86 shows in the middle of a chain: those of user space,
// or of what an interrupt found running.
//
//	RIP: 0033:0x47b7a0
//	RIP: 0010:delay_tsc+0x31/0xa0
//	EIP: delay_tsc+0x2f/0x90            newer kernels for i386 show no segment
func (t *trace) user(s string) {
	t.shown = true
	selector, rest, ok := cutSelector(s)
	switch {
	case !ok && strings.Contains(s, ":"):
		return
	case selector&3 != 0: // the requested privilege level
		t.outermost()
		return
	}
	if p, _, is := parsePlace(rest); is && (ok || p.symbol != "") {
		t.interrupted, t.missing = true, t.missing || !t.endsInException()
		t.add(&p, false)
	}
}

// cutMarks takes off where x86 shows that the chain changes stacks (arch/x86/kernel/dumpstack.c). Before Linux 4.10
// the first entry on the other stack follows in the same line:
//
//	<IRQ>  [<ffffffff8171ed09>] dump_stack+0x45/0x56
//	<<EOE>>  <IRQ>  [<ffffffff81823ac4>] _raw_spin_unlock_irqrestore+0x24/0x70
//	<EOI>  [<ffffffff815d1862>] ? cpuidle_enter_state+0x52/0xc0
//	</TASK>
//
// What <<EOE>> stands in front of was interrupted.
func cutMarks(text string) (marks, rest string) {
	rest = text
	for {
		mark, after := cutWord(rest)
		if !isMark(mark) {
			return text[:len(text)-len(rest)], rest
		}
		rest = after
	}
}

// isMark tells whether a word is such a mark: <IRQ>, <SOFTIRQ>, <NMI>, <TASK>, </TASK>, <EOI>, <<EOE>>, <#DF>.
func isMark(word string) bool {
	inner, ok := strings.CutPrefix(word, "<")
	inner, closed := strings.CutSuffix(inner, ">")
	if !ok || !closed || inner == "" {
		return false
	}
	return inner[0] == '/' || inner[0] == '#' || inner[0] == '<' || inner[0] >= 'A' && inner[0] <= 'Z' && digitsOf(inner) == 0
}

// takePair reads an entry of ARM's unwinder, in each of the ways in which kernels have written it:
//
//	mid_c [crashy] from mid_b+0x50/0x7c [crashy]
//	[<c0012345>] (mid_c) from [<c0045678>] (mid_b+0x50/0x7c)          where mid_c begins, or its PC
//	[<c0012345>] (mid_c+0x10/0x20) from [<c0045678>] (mid_b+0x50/0x7c)
//	Function entered at [<c0012345>] from [<c0045678>]                without CONFIG_KALLSYMS
//
// Where no symbol is near, an address stands for it: 0xbf000010 from mid_b+0x50/0x7c.
func (t *trace) takePair(callee, caller string) bool {
	if _, inner, ok := strings.Cut(caller, "] ("); ok && len(t.inlined) < maxInlined { // (mid_c) from [<c0045678>] (mid_b toy.c:12 [inline])
		if p, ok := inlinedIn(strings.TrimSuffix(inner, ")")); ok {
			t.inlined = append(t.inlined, p)
			return true
		}
	}
	p, rest, ok := parsePlace(caller)
	if strings.HasPrefix(caller, "[<00000000>]") { // the outermost function that the unwinder knows, and where that returns to
		p, rest, ok = place{hasAddr: true}, "", true
	}
	if !ok || p.symbol == "" && !p.hasAddr || !endsEntry(rest) {
		return false
	}
	callee, unnamed := strings.CutPrefix(callee, "Function entered at ")
	entry, callee, bracketed := cutBracketed(callee)
	first, module := cutWord(strings.Trim(callee, "()"))
	first, _, _ = strings.Cut(first, "+0x")
	module, rest = cutModule(module)
	if v, hex := phrases.Hex(first); hex && strings.HasPrefix(first, "0x") {
		first, entry, unnamed = "", v, true
	}
	if !unnamed && !isSymbol(first) || rest != "" || p.symbol == "" && !bracketed && !t.open {
		return false
	}
	t.callee(first, module, entry)
	t.interrupted, t.headed, t.form.paired = savesRegisters(first), true, true
	if t.open = true; p.symbol != "" || p.addr != 0 {
		t.add(&p, false)
	}
	return true
}

// callee takes what an entry says of the function that was called: the last entry's.
func (t *trace) callee(name, module string, entry uint64) {
	if len(t.listed) == 0 {
		t.listed = append(t.listed, target.Listed{Symbol: name, Module: module, Exact: true})
		if name == "" {
			t.listed[0].PC = entry
		}
	}
	switch last := &t.listed[len(t.listed)-1]; {
	case last.Symbol == name && last.Module == module:
	case last.Offset == 0 && last.Size != 0 && !last.Exact && last.PC > entry && entry != 0 && last.PC-entry < maxFunction:
		// behind a call that never returns lies the next function, by which the kernel called the caller's place
		last.Symbol, last.Module, last.Offset, last.Size = name, module, last.PC-entry, 0
	case t.hooked && entry != 0: // over frame pointers, the caller is known though a tracer replaced the return address
		*last, t.hooked = target.Listed{Symbol: name, Module: module, Entry: entry}, false
	case last.Symbol == "" && last.PC >= entry && last.PC-entry < maxFunction: // the line that names the caller's place was lost
		if last.Symbol, last.Module = name, module; entry != last.PC {
			last.Offset = last.PC - entry
		}
	case slices.ContainsFunc(t.listed, func(l target.Listed) bool { return l.Symbol == name && l.Module == module }):
		t.foreign = true // the pairs of two chains, in turns
	default: // the line is missing that has name as the caller
		t.listed = append(t.listed, target.Listed{Symbol: name, Module: module, Gap: true})
	}
}

// maxFunction bounds the length of functions in bytes.
const maxFunction = 1 << 16
