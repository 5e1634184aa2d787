package stackuse

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
)

// transfer notes where control goes that leaves the block, with SP at low.
func (w *walk) transfer(s *dataflow.Step, low int64) {
	switch in := s.In; {
	case in.Op == cpu.OpCall && in.Flags&cpu.FlagGetPC != 0:
	case in.Op == cpu.OpCall && in.Dst != w.code.Arch.LR && in.Dst != cpu.NoReg:
		// Millicode runs as a part of the function (dataflow).
	case in.Op == cpu.OpCall:
		w.called(s, low)
	case in.Op == cpu.OpJump && in.Flags&cpu.FlagTable == 0:
		w.jumped(s, low)
	case in.Op == cpu.OpLoad && in.Flags&cpu.FlagReturn == 0:
		w.loaded(s, low)
	}
}

// called notes a call.
func (w *walk) called(s *dataflow.Step, low int64) {
	c := Call{Site: s.Addr, Depth: w.code.Arch.EntryCFA - low}
	if s.Guess && !w.pads.known && s.In.Target != 0 && !w.callable(disasm.Target(s.In)) {
		w.doubt(s.PC, Unfollowed)
		return // perhaps data that was taken for code
	}
	if w.lost {
		w.dynamic = true
		w.doubt(s.PC, OtherStack)
	}
	to := disasm.Target(s.In)
	if !disasm.IndirectCall(s.In) && !disasm.Thunk(w.code.Code, to) {
		if disasm.WithinThunk(w.code.Code, s.PC, to) {
			return
		}
		w.add(c, to)
		return
	}
	c.Indirect = true
	w.through(c, s)
}

// callable tells whether a function certainly begins at a place, or a stub of one.
func (w *walk) callable(to disasm.Addr) bool {
	_, stub := w.code.Callees.StubSlot(to)
	return stub || w.code.Entries.IsEntry(to)
}

// add notes a transfer to a place of the image.
func (w *walk) add(c Call, to disasm.Addr) {
	if slot, ok := w.code.Callees.StubSlot(to); ok && w.filled(slot) {
		w.addSlot(c, slot)
		return
	}
	if name, ok := w.code.Img.Import(to.PC); ok && w.code.Callees.BindsLazily(to) {
		c.Import = name
	} else {
		c.To = []disasm.Addr{to}
	}
	c.Sure = true
	w.calls = append(w.calls, c)
}

// addSlot notes a transfer through a word that the dynamic linker fills: with the address of an import, or of what a resolver of the
// image's own chooses.
func (w *walk) addSlot(c Call, slot uint64) {
	name, imported := w.code.Img.Import(slot)
	if sym, ok := w.code.Img.Symbols.Named(name); imported && ok && w.code.Has(sym.Addr) && !sym.Resolver {
		c.To, c.Sure = []disasm.Addr{{PC: sym.Addr, Mode: sym.Mode}}, true // its own export, unless another image has that too
	} else if own, ok := w.code.Callees.Bound(slot, w.code.Img); ok && len(own.Choices) > 0 {
		c.To, c.Sure = own.Choices, true
	} else if imported {
		c.Import, c.Sure = name, true
	} else if v, ok := w.code.Img.LoadedWord(slot); ok && v != 0 {
		if to, ok := w.code.Pointer(v); ok {
			c.To, c.Sure = []disasm.Addr{to}, true
		}
	}
	w.calls = append(w.calls, c)
}

// linked notes a transfer through a word that the dynamic linker fills; false where the word is another, or not known.
func (w *walk) linked(c Call, s *dataflow.Step) bool {
	slot, ok := w.slots.At(s.Addr)
	if !ok || !w.filled(slot) {
		return false
	}
	w.addSlot(c, slot)
	return true
}

// filled tells whether the linkers alone decide what a word holds: not the program, as of a pointer that it sets.
func (w *walk) filled(slot uint64) bool {
	img := w.code.Img
	if _, imported := img.Import(slot); imported || img.Linked(slot) || img.Constant(slot) {
		return true
	}
	_, chosen := w.code.Callees.Bound(slot, img)
	return chosen
}

// through notes a call through a register or a word.
func (w *walk) through(c Call, s *dataflow.Step) {
	if w.linked(c, s) {
		return
	}
	target := dataflow.Through(w.f, s.Before, s.In)
	set := target.Kind == absint.Constant && target.Base == absint.FromWritable // by the program, or, of a lazy stub, by the linker
	if to, sure := w.f.CallTarget(s.PC); sure && w.code.Has(to.PC) && (!set || w.code.Callees.BindsLazily(to)) {
		w.add(c, to)
		return
	}
	if c.To = w.byWays(s); len(c.To) > 0 {
		c.Sure = true
	} else {
		c.To, c.Sure = w.ofTable(target, s.Mode)
	}
	w.calls = append(w.calls, c)
}

// Bounds of what one function's calls through pointers may cost: calls of which the ways are followed, and targets in tables.
const (
	maxFollowed = 64
	maxListed   = 4096
)

// byWays are the targets of a call, way by way.
func (w *walk) byWays(s *dataflow.Step) []disasm.Addr {
	if s.In.Flags&cpu.FlagMemory != 0 || w.followed >= maxFollowed {
		return nil
	}
	w.followed++
	return dataflow.CallTargets(w.f, s.Addr)
}

// ofTable are the targets in a table. The calls of one table share them.
func (w *walk) ofTable(v absint.Value, mode cpu.Mode) (to []disasm.Addr, bounded bool) {
	if v.Kind != absint.TableElement {
		return nil, false
	}
	t, met := w.tables[v]
	if !met {
		t.to, t.bounded = dataflow.TableTargets(w.f, v, mode, w.code.Img.Constant)
		w.tables[v] = t
	}
	if w.listed += len(t.to); w.listed > maxListed {
		return nil, false
	}
	return t.to, t.bounded
}

// tableTargets are the functions in a table.
type tableTargets struct {
	to      []disasm.Addr
	bounded bool
}

// jumped notes a jump out of the function.
func (w *walk) jumped(s *dataflow.Step, low int64) {
	c := Call{Site: s.Addr, Depth: -low, Jump: true}
	if !disasm.IndirectJump(s.In) {
		if to := disasm.Target(s.In); !w.within(to) {
			w.add(c, to)
		}
		return
	}
	c.Indirect = true
	w.leaves(c, s, dataflow.Through(w.f, s.Before, s.In))
}

// loaded notes a load of the PC that is no return.
func (w *walk) loaded(s *dataflow.Step, low int64) {
	v := s.After.LoadedPC(s.In, w.code.Arch)
	if v == absint.CallerPC(w.code.Arch) {
		return
	}
	w.leaves(Call{Site: s.Addr, Depth: -low, Jump: true, Indirect: true}, s, v)
}

// leaves notes a jump to a value: a return, a label of the function, the tail call of what a constant tells, or of what nobody
// knows.
func (w *walk) leaves(c Call, s *dataflow.Step, v absint.Value) {
	arch := w.code.Arch
	switch to, ok := dataflow.Resolve(w.f, v); {
	case v == absint.CallerPC(arch):
		return
	case ok && w.within(to):
		return
	case ok:
		w.add(c, to)
		return
	case v.Kind == absint.TableElement:
		if list, _ := w.ofTable(v, s.Mode); len(list) > 0 && w.within(list[0]) {
			return
		}
	}
	if w.linked(c, s) {
		return
	}
	if s.Before.FrameGone(arch) {
		w.calls = append(w.calls, c)
		return
	}
	if v.Kind == absint.StartMemory && v.RelativeTo(w.sp) {
		return // popped from the frame: a return
	}
	w.doubt(s.PC, Unfollowed)
}
