package listing

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/target"
)

// thread is a list as a thread: its registers, memory and frames.
func (b *binaries) thread(r *record, t *thread) target.Thread {
	out := target.Thread{}
	for i := range t.regs {
		if reg, ok := b.arch.RegByName(t.regs[i].Name); ok {
			out.Regs.Set(reg, t.regs[i].Value)
		}
	}
	var memory target.Builder
	if b.arch.AddrSize == 8 || !b.madeUp { // a word could look like an address that is made up
		for i := range t.rows {
			memory.Add(t.rows[i].Addr&tagMask, t.rows[i].Bytes(b.arch.BigEndian), 0, target.PermUnknown)
		}
	}
	for _, d := range t.dumps {
		memory.Add(d.addr&tagMask, d.data, 0, target.PermUnknown)
	}
	out.Memory = memory.Memory(b.arch)
	if n := len(t.frames); n > 1 && t.frames[0].Number > t.frames[n-1].Number && t.frames[n-1].Number >= 0 {
		slices.Reverse(t.frames)
	}
	var inner []target.Place // functions that were inlined into that of the next line
	for i := range t.frames {
		f := &t.frames[i]
		if i+1 < len(t.frames) && inlinedInto(f, &t.frames[i+1]) {
			inner = append(inner, target.Place{Function: f.Function, File: f.File, Line: f.Line})
			if next := &t.frames[i+1]; next.Addr == 0 && !next.HasOffset {
				next.Addr, next.Number = f.Addr, f.Number
			}
			continue
		}
		if i == 0 && f.Offset == 0 && f.Module == "<unknown>" && len(t.regs) > 0 {
			continue // the PC is 0
		}
		if pc, ok := t.value(b.arch, b.arch.PC); i == 0 && ok && f.Addr == 0 && !f.HasOffset && f.how&returns == 0 {
			f.Addr = pc
		}
		l := b.listed(r, t, f)
		l.Inlined, inner = inner, nil
		l.Exact = len(out.Listed) == 0 && f.how&returns == 0
		l.Gap = i > 0 && f.Number > t.frames[i-1].Number+1 && t.frames[i-1].Number >= 0
		out.Listed = append(out.Listed, l)
	}
	if r.maker == "Linux" && len(t.frames) == 0 {
		out.Listed = b.registered(&out.Regs)
	}
	b.settle(t, out.Listed)
	b.start(&out)
	return out
}

// registered are the PC and, as what may be the caller, the link register: of a program that a kernel stopped no list is printed.
func (b *binaries) registered(regs *cpu.Registers) (list []target.Listed) {
	pc, mode, ok := b.arch.PCOf(regs)
	lr, has := regs.Lookup(b.arch.LR)
	if !ok || !has || lr == 0 {
		return nil
	}
	lr, _ = b.arch.SplitCode(lr)
	return []target.Listed{{PC: pc, Exact: true, Statement: target.Statement{Mode: mode, HasMode: b.arch.ISABit}}, {PC: lr, Doubtful: true}}
}

// tagMask leaves out the tag of an address of AArch64.
const tagMask = 1<<56 - 1

// inlinedInto tells whether the function of a line was inlined into that of the next: GDB writes no address then,
// sanitizers the same one, others say so.
func inlinedInto(f, next *Frame) bool {
	if f.Maker == "GDB" {
		return f.Addr != 0 && f.Function != "" && next.Addr == 0 && next.Function != "" && next.Line != 0
	}
	return f.how&inlined != 0 || f.Maker == "sanitizers" && f.Addr != 0 && f.Addr == next.Addr && f.Function != next.Function && f.Function != "" && f.Line != 0
}

// start makes an exact first frame the place where the thread stands, where there are no registers.
func (b *binaries) start(t *target.Thread) {
	if len(t.Listed) == 0 || !t.Listed[0].Exact || t.Listed[0].PC == 0 || b.madeUp || int(b.arch.PC) >= len(b.arch.Regs) {
		return
	}
	if _, ok := t.Regs.Lookup(b.arch.PC); ok {
		return
	}
	t.Regs.Set(b.arch.PC, t.Listed[0].PC|uint64(t.Listed[0].Mode))
	if b.arch.ISABit && int(b.arch.Status) < len(b.arch.Regs) {
		t.Regs.Set(b.arch.Status, uint64(t.Listed[0].Mode)<<b.arch.StatusModeBit)
	}
}

// listed is a line as an entry of a chain.
func (b *binaries) listed(r *record, t *thread, f *Frame) target.Listed {
	l := target.Listed{
		Symbol: f.Function, Module: f.Module, Offset: f.FuncOffset, Source: target.Source{File: f.File, Line: f.Line},
		Doubtful:  f.how&doubtful != 0,
		Outermost: outermost(f.Function), Statement: target.Statement{Within: f.Within(), NoOffset: !f.HasFuncOffset},
	}
	k := b.of(f)
	switch {
	case f.Addr != 0:
		l.PC = f.Addr
	case f.HasOffset && f.Module == "<unknown>":
		l.PC = b.nowhere(t, f)
	}
	if l.PC == 0 && k != nil && k.placed {
		switch {
		case f.HasOffset:
			l.PC = (k.bias + f.Offset) & b.arch.AddrMask()
		case k.img != nil && f.Function != "":
			if sym, ok := k.img.Symbols.Named(f.Function); ok {
				l.PC, l.ByName = k.module.ToTarget(sym.Addr)+f.FuncOffset, true
			}
		}
	}
	l.PC, l.Mode = b.arch.SplitCode(l.PC)
	l.HasMode = b.arch.ISABit && !b.arch.ModeOnly && l.PC != 0
	if l.Symbol == "" && k != nil && k.img != nil && k.module != nil {
		sym, _ := k.img.Symbols.At(k.module.ToImage(l.PC))
		l.Outermost = outermost(sym.Name)
	}
	return l
}

// nowhere is the address of a frame in no file: the PC or the link register, where that fits, or what the line says, where no
// offset is so large.
func (b *binaries) nowhere(t *thread, f *Frame) uint64 {
	reg := b.arch.PC
	if f.Number == 1 {
		reg = b.arch.LR
	}
	if int(reg) < len(b.arch.Regs) && f.Number <= 1 {
		if v, ok := t.value(b.arch, reg); ok && (v-f.Offset)%pageSize <= longestCall && (f.Number == 1 || v%pageSize == f.Offset%pageSize) {
			return v - (v-f.Offset)%pageSize
		}
	}
	if f.Offset >= largestOffset {
		return f.Offset
	}
	return 0
}

// largestOffset is where no file reaches.
const largestOffset = 1 << 28

// settle decides whether the addresses of a list lie within calls, as the form says, or are those to which calls return, by
// the code and the link register: writers of a form differ. The entries are then put behind the calls.
func (b *binaries) settle(t *thread, list []target.Listed) {
	var behind, in int
	if lr, ok := t.value(b.arch, b.arch.LR); ok && len(list) > 1 && list[1].PC == lr {
		behind = len(list)
	}
	for i := range list {
		if l := &list[i]; l.Within {
			if _, at := b.callAt(l.PC, l.PC, l.Mode); at {
				behind++
			} else if _, at := b.callAround(l); at {
				in++
			}
		}
	}
	for i := range list {
		l := &list[i]
		if !l.Within {
			continue
		}
		if behind > in {
			l.Within = false
		} else if ra, ok := b.callAround(l); ok {
			l.PC, l.Offset, l.Within = ra, l.Offset+ra-l.PC, false
		}
	}
}

// callAround is where the call returns to that an entry lies in.
func (b *binaries) callAround(l *target.Listed) (ra uint64, ok bool) {
	for _, n := range [...]uint64{1, 2, 4, 8} {
		if ra, ok = b.callAt(l.PC+n, l.PC, l.Mode); ok {
			return ra, ok
		}
	}
	return 0, false
}

// callAt tells whether a call that begins at from, or before, returns to ra.
func (b *binaries) callAt(ra, from uint64, mode cpu.Mode) (uint64, bool) {
	m, ok := b.space.ModuleAt(ra - 1)
	if !ok || m.Image == nil || m.Image.Arch.Decoder == nil {
		return 0, false
	}
	at := m.ToImage(ra) & m.Image.Arch.AddrMask()
	text, ok := m.Image.Segments.At(at - 1)
	if !ok || !text.Exec || at%m.Image.Arch.InsnAlignIn(mode) != 0 {
		return 0, false
	}
	site, ok := callsite.InSegment(m, text, at, mode)
	return ra, ok && site.Addr <= from
}

// outermost tells whether nothing calls a function.
func outermost(symbol string) bool {
	return slices.Contains([]string{"_start", "__start_thread", "clone", "__clone", "clone3", "__clone3", "runtime.goexit", "RtlUserThreadStart"}, symbol)
}

// codeMask has the address bits of code pointers where the record's mappings tell how many there are; 0: all. AArch64 may sign
// code pointers in the others.
func (r *record) codeMask(arch *cpu.Arch) uint64 {
	if len(r.maps) == 0 {
		return 0
	}
	highest := uint64(0)
	for i := range r.maps {
		highest |= r.maps[i].hi - 1
	}
	return target.AddressMask(arch, highest)
}
