package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/target"
)

// takePair reads an entry of ARM's unwinder, in each of the ways in which kernels have written it:
//
//	mid_c [crashy] from mid_b+0x50/0x7c [crashy]
//	[<c0012345>] (mid_c) from [<c0045678>] (mid_b+0x50/0x7c)          where mid_c begins, or its PC
//	[<c0012345>] (mid_c+0x10/0x20) from [<c0045678>] (mid_b+0x50/0x7c)
//	Function entered at [<c0012345>] from [<c0045678>]                without CONFIG_KALLSYMS
//
// Where no symbol is near, an address stands for it: 0xbf000010 from mid_b+0x50/0x7c.
func (t *trace) takePair(callee, caller string) bool {
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
	if v, hex := parseHex(first); hex && strings.HasPrefix(first, "0x") {
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
