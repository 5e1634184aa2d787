package dataflow

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// StateAt replays the function up to the instruction at a place. false: control from the
// entry does not come there.
func (f *Function) StateAt(at disasm.Addr, st *absint.State) bool {
	b, _ := f.blocks.at(at.PC)
	if b == nil || b.mode != at.Mode {
		return false
	}
	b.in.Decode(st)
	cur := disasm.NewCursor(f.an.Code)
	cur.Seek(b.addr())
	for pc := b.start; pc < b.end; {
		in := cur.Next(pc)
		switch {
		case in == nil || pc > at.PC:
			return false
		case pc == at.PC:
			return true
		case disasm.Transfers(in, f.an.Arch):
			return f.inSlot(cur.Step(in, pc), pc, at.PC, st)
		}
		f.interp.Exec(st, in, pc)
		pc += uint64(in.Len)
	}
	return false
}

// inSlot: the place is the delay slot of the transfer at pc, which itself changed nothing
// but that a call has written the link register before the slot runs.
func (f *Function) inSlot(t stepping.Step, pc, at uint64, st *absint.State) bool {
	if t.Slot == nil || pc+uint64(t.In.Len) != at {
		return false
	}
	if t.In.Op == cpu.OpCall {
		st.Set(t.In.Dst, absint.Value{}, f.an.Arch)
	}
	return true
}

// StateAtCall replays the function up to where the call at a site takes effect: its delay slot has run.
func StateAtCall(f *Function, site disasm.Addr, st *absint.State) bool {
	_, ok := atCall(f, site, st)
	return ok
}

// atCall is StateAtCall, and the call.
func atCall(f *Function, site disasm.Addr, st *absint.State) (call *cpu.Insn, ok bool) {
	if !f.StateAt(site, st) {
		return nil, false
	}
	var buf [2]cpu.Insn
	step, ok := disasm.CallAt(f.an.Code, site, &buf)
	if call = step.In; !ok || call.Op != cpu.OpCall && !disasm.Transfers(call, f.an.Arch) {
		return nil, false
	}
	if step.Slot != nil {
		f.interp.Exec(st, step.Slot, site.PC+uint64(call.Len))
	}
	return call, true
}

// StateAfterCall replays the function up to the return of the call at a site.
func (f *Function) StateAfterCall(site disasm.Addr, st *absint.State) bool {
	call, ok := atCall(f, site, st)
	if !ok {
		return false
	}
	f.interp.Exec(st, call, site.PC)
	if call.Op == cpu.OpCall && call.Target != 0 {
		if r, ok := disasm.PCThunk(f.an.Code, disasm.Target(call)); ok {
			st.Set(r, absint.Value{}, f.an.Arch) // perhaps written when the capture was taken
		}
	}
	return true
}

// StateInBlock replays the block that ends in the call at a site, up to the call, from what
// registers and memory hold at the block's beginning: its start values.
func StateInBlock(f *Function, site disasm.Addr, st *absint.State) bool {
	b, _ := f.blocks.at(site.PC)
	if b == nil || b.mode != site.Mode {
		return false
	}
	st.Start(f.an.Arch)
	transfer, _, ok := straight(f, b, func(in *cpu.Insn, pc uint64) {
		f.interp.Exec(st, in, pc)
	})
	return ok && transfer == site.PC
}

// straight calls each for the instructions of a block that run before the transfer at its end takes
// effect, the transfer's delay slot last. ok: there is a transfer, at an address that is returned with
// the one behind it.
func straight(f *Function, b *block, each func(in *cpu.Insn, pc uint64)) (transfer, next uint64, ok bool) {
	cur := disasm.NewCursor(f.an.Code)
	cur.Seek(b.addr())
	for pc := b.start; pc < b.end; {
		in := cur.Next(pc)
		if in == nil {
			break
		}
		if disasm.Transfers(in, f.an.Arch) {
			step := cur.Step(in, pc)
			if step.Slot != nil {
				each(step.Slot, pc+uint64(step.In.Len))
			}
			return pc, step.Next, true
		}
		each(in, pc)
		pc += uint64(in.Len)
	}
	return 0, 0, false
}

// EachBehindTransfer calls each for the places behind the transfers of control in f, delay slots included,
// until each returns false: where calls return to are among them.
func EachBehindTransfer(f *Function, each func(ra disasm.Addr) bool) {
	for _, b := range f.blocks {
		_, next, ok := straight(f, b, func(*cpu.Insn, uint64) {})
		if ok && !each(disasm.Addr{PC: next, Mode: b.mode}) {
			return
		}
	}
}
