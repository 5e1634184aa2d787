package tasks

import (
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// reader reads the kernel's memory. Addresses of tasks are those of their comm.
type reader struct {
	ctx context.Context // ends all searches
	*Kernel
	word uint64 // the size of one
	// info is how far behind struct thread_info the context lies, where that begins the stack (ARM until Linux 5.15); 0 where
	// task_struct has the context.
	info uint64
}

// comm is the name at an address: printable text that ends within 16 bytes
// (TASK_COMM_LEN); "" where there is none.
func (r reader) comm(addr uint64) string {
	var b [16]byte
	if r.Memory.Read(addr, b[:]) < len(b) {
		return ""
	}
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
		if c < ' ' || c == 0x7f {
			return ""
		}
	}
	return ""
}

// registers reads the context at a distance from a task's comm; false where its PC is not
// in the kernel's code, which is looked at first: few words are.
func (r reader) registers(comm uint64, d distance) (regs cpu.Registers, ok bool) {
	layout := r.Arch.Layouts[cpu.LinuxSwitch]
	_, hasSP := slotOf(layout, r.Arch.SP)
	block, ok := r.block(comm, d, hasSP)
	if !ok {
		return regs, false
	}
	pc, _ := slotOf(layout, r.Arch.PC)
	var buf [128]byte
	if v, ok := r.Memory.Word(block + uint64(pc.Offset)); !ok || !r.Text.Contains(v) || r.Memory.Read(block, buf[:layout.Size]) < layout.Size {
		return regs, false
	}
	regs = r.Arch.Read(layout, buf[:])
	if !hasSP {
		regs.Set(r.Arch.SP, block+uint64(layout.Size))
	}
	sp := regs.Val[r.Arch.SP]
	return regs, sp%r.word == 0 && (r.info == 0 || sp-block < maxStack)
}

// block is where the context at a distance from a task's comm lies: there; or where it points to, to the stack
// that holds the context, below the stack pointer, or behind thread_info.
func (r reader) block(comm uint64, d distance, hasSP bool) (block uint64, ok bool) {
	block = at(comm, d)
	if hasSP && r.info == 0 {
		return block, true
	}
	align := r.word
	if r.info > 0 {
		align = pageSize
	}
	block, ok = r.Memory.Word(block)
	return block + r.info, ok && block%align == 0
}

// slotOf is where a block keeps a register.
func slotOf(l cpu.Layout, reg cpu.Reg) (slot cpu.Slot, ok bool) {
	for _, s := range l.Slots {
		if s.Reg == reg {
			return s, true
		}
	}
	return slot, false
}

// behindCall tells whether an address follows a call.
func (r reader) behindCall(pc uint64) bool {
	_, ok := r.callBefore(pc)
	return ok
}

// callBefore is the call that an address follows.
func (r reader) callBefore(pc uint64) (site cpu.CallSite, ok bool) {
	if r.Arch.Decoder == nil {
		return site, false
	}
	const enough = 16
	var before [enough]byte
	pc, mode := r.Arch.SplitCode(pc)
	if r.Memory.Read(pc-enough, before[:]) < enough {
		return site, false
	}
	return r.Arch.Decoder.CallBefore(before[:], pc, mode)
}

// onStack tells whether a stack pointer points to a stack: three of the next words, at
// least, are addresses of the kernel's code.
func (r reader) onStack(sp uint64) bool {
	const words, least = 96, 3
	n := 0
	for i := range uint64(words) {
		v, ok := r.Memory.Word(sp + i*r.word)
		if !ok {
			return false
		}
		if v != 0 && r.Text.Contains(v) {
			if n++; n == least {
				return true
			}
		}
	}
	return false
}

// next is the list head that the head at an address points to, if that head points back.
func (r reader) next(node uint64) (uint64, bool) {
	next, ok := r.Memory.Word(node)
	if !ok || next%r.word != 0 {
		return 0, false
	}
	prev, ok := r.Memory.Word(next + r.word)
	return next, ok && prev == node
}

// calls tells whether the call before a return address goes to a function: to its beginning, or
// through instructions of a few bytes before the one that traces.
func (r reader) calls(ra, function uint64) bool {
	const least = 16
	site, ok := r.callBefore(ra)
	return ok && site.Direct && function-site.Target <= least
}

// words reads size bytes of memory, fewer where it ends.
func (r reader) words(p, size uint64) []uint64 {
	var words []uint64
	for at := range target.RangeOf(p, size).Words(r.word) {
		v, ok := r.Memory.Word(at)
		if !ok {
			break
		}
		words = append(words, v)
	}
	return words
}

// isReturn tells whether a word is the return address of a call, or a tracer's.
func (r reader) isReturn(v uint64) bool {
	return slices.Contains(r.Hooks, v) || r.isCode(v) && r.behindCall(v)
}

// isCode tells whether code may run at an address.
func (r reader) isCode(v uint64) bool {
	perm, ok := r.Memory.PermAt(v)
	return r.Text.Contains(v) || ok && perm&target.PermExec != 0
}

// isPlace tells whether an address is one of data, as those of words on stacks are. Where MIPS's
// memory is not mapped by tables, all can be executed and written.
func (r reader) isPlace(v uint64) bool {
	perm, mapped := r.Memory.PermAt(v)
	return mapped && v%r.word == 0 && !r.Text.Contains(v) && perm&(target.PermWrite|target.PermExec) != target.PermExec
}
