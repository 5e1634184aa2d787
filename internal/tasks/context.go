package tasks

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
)

// pageSize is the smallest page.
const pageSize = 4096

const (
	// maxVoters bounds how many tasks vote on where a field lies.
	maxVoters = 48
	// maxStack bounds THREAD_SIZE: 64 KB with pages of 64 KB, or with KASAN.
	maxStack = 64 << 10
)

// voters are tasks that were switched out for the most part: the first of the list is the
// idle task of a processor, which may be running.
func (f *finder) voters() []uint64 {
	v := f.found
	if len(v) > 2 {
		v = v[1:]
	}
	return v[:min(len(v), maxVoters)]
}

// findContext finds where tasks keep the registers that they were switched out with: where
// most tasks have a PC behind a call in the kernel's code, and a stack pointer to a stack with
// further return addresses. Other pointers to code in a task, such as that of a function to
// be called later (numa_work), are not preceded by a call.
func (f *finder) findContext() {
	layout, ok := f.Arch.Layouts[cpu.LinuxSwitch]
	if !ok {
		return
	}
	paths := [][]string{{"thread", "cpu_context"}, {"thread", "ra"}, {"thread_info", "cpu_context"}} // arm64; RISC-V; ARM
	if !hasSP(layout, f.Arch.SP) {
		paths = [][]string{{"thread", "sp"}} // x86
	}
	voters, best := f.voters(), 0
	for d := range f.distances(f.whole(), paths...) {
		if n := f.contexts(voters, d); n > best {
			best, f.context.at = n, d
		}
	}
	f.context.known = best*2 > len(voters)
}

// contexts counts the tasks that may keep their context at a distance. Where the first few
// do not, no others are asked.
func (f *finder) contexts(voters []uint64, d distance) (n int) {
	stacks := make(map[uint64]bool)
	for i, t := range voters {
		if i == 4 && n == 0 {
			return 0
		}
		regs, ok := f.registers(t, d)
		if sp := regs.Val[f.Arch.SP]; ok && !stacks[sp] && f.behindCall(regs.Val[f.Arch.PC]) && f.onStack(sp) {
			stacks[sp] = true
			n++
		}
	}
	return n
}

// registers reads the context at a distance from a task's comm; false where its PC is not
// in the kernel's code.
func (f *finder) registers(comm uint64, d distance) (regs cpu.Registers, ok bool) {
	layout := f.Arch.Layouts[cpu.LinuxSwitch]
	block := at(comm, d)
	onStack := !hasSP(layout, f.Arch.SP)
	if onStack {
		if block, ok = f.Memory.Word(block); !ok || block%f.word != 0 {
			return regs, false
		}
	}
	var buf [128]byte
	if f.Memory.Read(block, buf[:layout.Size]) < layout.Size {
		return regs, false
	}
	regs = f.Arch.Read(layout, buf[:])
	if onStack {
		regs.Set(f.Arch.SP, block+uint64(layout.Size))
	}
	pc := regs.Val[f.Arch.PC]
	return regs, f.Text.Contains(pc) && regs.Val[f.Arch.SP]%f.word == 0
}

// behindCall tells whether an address follows a call.
func (f *finder) behindCall(pc uint64) bool {
	_, ok := f.callBefore(pc)
	return ok
}

// callBefore is the call that an address follows.
func (f *finder) callBefore(pc uint64) (site cpu.CallSite, ok bool) {
	if f.Arch.Decoder == nil {
		return site, false
	}
	const enough = 16
	var before [enough]byte
	pc, mode := f.Arch.SplitCode(pc)
	if f.Memory.Read(pc-enough, before[:]) < enough {
		return site, false
	}
	return f.Arch.Decoder.CallBefore(before[:], pc, mode)
}

func hasSP(l cpu.Layout, sp cpu.Reg) bool {
	for _, s := range l.Slots {
		if s.Reg == sp {
			return true
		}
	}
	return false
}

// onStack tells whether a stack pointer points to a stack: three of the next words, at
// least, are addresses of the kernel's code.
func (f *finder) onStack(sp uint64) bool {
	const words, least = 96, 3
	n := 0
	for i := range uint64(words) {
		v, ok := f.Memory.Word(sp + i*f.word)
		if !ok {
			return false
		}
		if v != 0 && f.Text.Contains(v) {
			if n++; n == least {
				return true
			}
		}
	}
	return false
}

// findStack finds task_struct.stack: an address of whole pages that lies below the stack
// pointers of all tasks, within the size of a stack. Stacks are aligned to their size, or to
// twice that, where an unmapped page behind each tells the size (CONFIG_VMAP_STACK).
func (f *finder) findStack() {
	if !f.context.known {
		return
	}
	voters := f.voters()
	for d := range f.distances(f.whole(), []string{"stack"}) {
		n, align := 0, uint64(maxStack)
		for _, t := range voters {
			regs, ok := f.registers(t, f.context.at)
			if !ok {
				continue
			}
			stack, ok := f.Memory.Word(at(t, d))
			if !ok || stack%pageSize != 0 || regs.Val[f.Arch.SP]-stack-1 >= maxStack {
				n = -1
				break
			}
			align = min(align, 1<<bits.TrailingZeros64(stack))
			if mapped := f.Memory.RangeAt(stack).Hi - stack; mapped < align {
				align = 1 << (bits.Len64(mapped) - 1)
			}
			n++
		}
		if n*2 > len(voters) {
			f.stack, f.stackSize = field{d, true}, align
			return
		}
	}
}
