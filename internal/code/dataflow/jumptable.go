package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// maxElements bounds a table whose size no comparison tells.
const maxElements = 1024

// tableJump is a jump through a table of halves or bytes relative to the PC (tbb, tbh), or
// into a run of branches. An index that is constant so far is so on one of several paths, or
// on one that the comparison in front keeps away, and may lie outside of the table; as after
// movs r7,#0 in a loop in groff's pic for armhf, where the byte before the table would lead
// into another function:
//
//	3f01       subs r7,#1
//	2f05       cmp  r7,#5
//	d80d       bhi  …
//	e8df f007  tbb  [pc,r7]
func (e *explorer) tableJump(st *absint.State, in *cpu.Insn) {
	if in.Size == 0 {
		e.branchTable(st, in)
		return
	}
	table := *in
	if st.Get(in.Index).Kind == absint.Constant {
		table.Index = cpu.NoReg
	}
	at := st.Operand(&table)
	if at.Kind != absint.TableAddress && at.Kind != absint.Constant {
		e.unresolved(st)
		return
	}
	v := e.m.JumpTables.Element(absint.JumpTable{At: uint64(at.Off) & e.an.Arch.AddrMask(), Size: in.Size, Shift: 1,
		Rel: int64(in.Target), HasRel: true, Limit: st.Limit, Slack: st.Slack})
	if v.Kind == absint.TableElement {
		e.followTable(st, e.m.JumpTables.Table(v))
	}
}

// branchTable is a jump into a run of branches (ARM: add pc,pc,r3,lsl #2): the elements
// are places in the code, a power of two apart; or the jump to an element of a table that was
// loaded, and is added last. Without a power of two (memcpy: add pc,pc,r3) only every fourth place holds an instruction:
//
//	e28f0004  add r0,pc,#4
//	e7901107  ldr r1,[r0,r7,lsl #2]
//	e080f001  add pc,r0,r1
func (e *explorer) branchTable(st *absint.State, in *cpu.Insn) {
	at := absint.Const(int64(in.Target))
	if in.Base != cpu.NoReg {
		at = st.Get(in.Base).Plus(at.Off)
	}
	if v := e.m.JumpTables.Sum(at, st.Get(in.Index), in.Scale); v.Kind == absint.TableElement {
		e.followTable(st, e.m.JumpTables.Table(v))
		return
	}
	if at.Kind != absint.Constant || st.Limit <= 0 || st.Limit > maxElements {
		e.unresolved(st)
		return
	}
	for i := range st.Limit {
		a := uint64(at.Off+i<<in.Scale) & e.an.Arch.AddrMask()
		if e.an.Has(a) && a&(e.an.Arch.InsnAlignIn(e.block.mode)-1) == 0 {
			e.graph.propagate(disasm.Addr{PC: a, Mode: e.block.mode}, st, edgeTable, 0)
		}
	}
}

// followTable continues at every element's target. Without a bound it stops at the first
// element that leads out of the function's neighbourhood. A bound of one element is none: the
// comparison was of something else.
func (e *explorer) followTable(st *absint.State, t absint.JumpTable) {
	n, sized := t.Limit, t.Limit > 1
	if !sized || n > maxElements {
		n = maxElements
	}
	own, within := e.graph.jumpTables.note(&t)
	e.graph.again = e.graph.again || within
	lo, hi := e.Entry.PC, e.an.Entries.Next(max(e.Entry.PC, e.block.end), e.Entry.PC)
	count := uint64(0)
	for i := range n {
		to, ok := elementTarget(e.an.Code, &t, uint64(i), e.block.mode)
		inside := ok && to.PC >= lo && to.PC < hi
		if !ok || !sized && !inside {
			break
		}
		if !inside {
			continue
		}
		how := edgeTable
		if !sized || i >= t.Limit-t.Slack || i >= own {
			how = edgeUnsizedTable
		} else {
			e.graph.jumpTables.follow(&t, i)
		}
		e.graph.propagate(to, st, how, 0)
		if !sized {
			e.gaps.labels = append(e.gaps.labels, to.PC)
		}
		count++
	}
	if e.an.Has(t.At) {
		e.data[t.At] = count * uint64(t.Size)
	}
	if count == 0 {
		e.leaveByUnknown(st)
	} else if !sized {
		e.Complete = false
		e.gaps.jumps++
	}
}

// elementTarget is where the element number i of a table leads; false where the element is
// no place in the code.
func elementTarget(c disasm.Code, t *absint.JumpTable, i uint64, mode cpu.Mode) (disasm.Addr, bool) {
	v, ok := c.Img.Uint(t.At+i*uint64(t.Size), int(t.Size))
	if !ok {
		return disasm.Addr{}, false
	}
	arch := c.Arch
	x := int64(v)
	if shift := 64 - 8*uint(t.Size); t.Signed || t.Size == 4 && arch.AddrSize == 4 {
		x = x << shift >> shift
	}
	if t.Size < uint8(arch.AddrSize) && !t.HasRel && !(t.Size == 4 && arch.AddrSize == 8) {
		return disasm.Addr{}, false
	}
	a := uint64(x<<t.Shift+t.Rel) & arch.AddrMask()
	if arch.ISABit {
		a &^= 1
	}
	return disasm.Addr{PC: a, Mode: mode}, a&(arch.InsnAlign-1) == 0 && c.Has(a)
}
