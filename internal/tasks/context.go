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
	_, hasSP := slotOf(layout, f.Arch.SP)
	if !hasSP {
		paths = [][]string{{"thread", "sp"}} // x86
	}
	f.findContextAt(paths...)
	const thread = 64 // bytes of thread_info in front of cpu_context, at most
	for ; hasSP && !f.context.known && f.info < thread; f.findContextAt([]string{"stack"}) {
		f.info += f.word
	}
}

// findContextAt finds the context as findContext does, for one value of info.
func (f *finder) findContextAt(paths ...[]string) {
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
