package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// CalledThrough implements unwind.Witnesses. Examples: pthread_once of glibc for ARM keeps what it calls in r6; Rust
// calls a method of an object behind a pointer to a table:
//
//	ldr r0,[sp,#8]; ldr r1,[r7,#12]; blx r1           the word at r7+12
func (w witnesses) CalledThrough(m *target.Module, site uint64, mode cpu.Mode) (o unwind.Operand) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return o
	}
	p, at := w.src.of(m.Image), disasm.Addr{PC: inImage(m, site), Mode: mode}
	if o, ok := p.memos.through.Find(at); ok {
		return o
	}
	var in cpu.Insn
	own := passed{arch: p.Arch}
	if fn := owner(p, at); fn != nil && p.One(at, &in) && in.Op == cpu.OpCall && in.Imm == 0 && in.Src != cpu.NoReg && own.at(fn, at) {
		c := computation{passed: &own, anywhere: true}
		o = c.before(len(own.steps), in.Src)
	}
	if o.Kind == unwind.Number || o.Kind == unwind.Computed && o.Of.Op != cpu.OpLoad {
		o = unwind.Operand{}
	}
	p.memos.through.Keep(at, o)
	return o
}

// pointedAt is the word that the step with index k loaded, wherever that lies: what a register points to that the
// caller still holds, or what such a word points to. The word may have changed since.
func (c *computation) pointedAt(k int) unwind.Operand {
	in := &c.steps[k]
	if int(in.Size) != c.arch.AddrSize || in.Base == cpu.NoReg || in.Index != cpu.NoReg || in.WB != 0 {
		return unwind.Operand{}
	}
	switch base := c.before(k, in.Base); {
	case base.Kind == unwind.InRegister:
		return unwind.Operand{Kind: unwind.InMemory, Reg: base.Reg, Off: base.Off + in.Imm}
	case base.Kind == unwind.InMemory, base.Kind == unwind.Computed && base.Of.Op == cpu.OpLoad:
		return unwind.Operand{Kind: unwind.Computed, Of: &unwind.Term{Op: cpu.OpLoad, A: base, Imm: in.Imm}}
	}
	return unwind.Operand{}
}
