package rtos

import (
	"slices"

	"github.com/backsight/backsight/target"
)

// currents are the variables in which kernels keep the control block of the task that runs:
// FreeRTOS, RT-Thread, ThreadX, and Zephyr, whose structure has that pointer as its third
// word (struct _cpu in kernel_structs.h).
var currents = []struct {
	symbol string
	word   uint64
}{{"pxCurrentTCB", 0}, {"pxCurrentTCBs", 0}, {"rt_current_thread", 0}, {"_tx_thread_current_ptr", 0}, {"_kernel", 2}}

// maxBlock is how far in bytes the saved SP lies from a control block's begin.
const maxBlock = 512

// current is the task that runs as the kernel's own variable says, nil where the binary has
// no symbol for that, or memory does not hold the variable.
func (s *search) current(tasks []*Task) *Task {
	for _, c := range currents {
		for _, m := range s.snap.Modules {
			if m.Image == nil {
				continue
			}
			sym, ok := m.Image.SymbolNamed(c.symbol)
			if !ok {
				continue
			}
			block, ok := s.mem.Uint(m.ToTarget(sym.Addr)+c.word*s.word, int(s.word))
			i := slices.IndexFunc(tasks, func(t *Task) bool { return t.Block-block <= maxBlock && !anyBetween(tasks, block, t.Block) })
			if ok && i >= 0 {
				return tasks[i]
			}
		}
	}
	return nil
}

// anyBetween tells whether another control block has its saved SP nearer behind an address.
func anyBetween(tasks []*Task, addr, block uint64) bool {
	return slices.ContainsFunc(tasks, func(t *Task) bool { return t.Block >= addr && t.Block < block })
}

// running finds the task on whose stack sp lies by its control block alone, which has the
// shape of the other tasks'. Of FreeRTOS' blocks, which do not state where a stack ends, it is
// the one with the nearest stack below sp.
func (s *search) running(sh shape, tasks []Task, sp uint64) (found Task, ok bool) {
	ram, has := s.ramOf(sp)
	if !has {
		return found, false
	}
	for _, seg := range s.mem.Segments() {
		lo := (seg.Addr + s.word - 1) &^ (s.word - 1)
		for at := lo; at+s.word <= seg.Addr+uint64(len(seg.Data)); at += s.word {
			saved, _ := s.mem.Uint(at, int(s.word))
			if !ram.Contains(saved) || sh.owner && !s.ownsItself(at) {
				continue
			}
			p := suspect{block: at, saved: saved, ctx: registers{end: sp}}
			t := s.task(&p, sh)
			if sh.owner {
				t.Stack.Hi = s.next(append(tasks[:len(tasks):len(tasks)], t), &Task{saved: sp})
			}
			if encloses(&t, sp, ram) && !overlaps(&t, tasks) && (!ok || t.Stack.Lo > found.Stack.Lo) {
				found, ok = t, true
			}
		}
	}
	return found, ok
}

// encloses tells whether a task's stack, all of it memory, holds sp and what was saved of
// the task, and not its control block.
func encloses(t *Task, sp uint64, ram target.Range) bool {
	r := t.Stack
	return r.Lo < r.Hi && r.Hi-r.Lo >= minStack && r.Hi-r.Lo <= maxStack && r.Lo >= ram.Lo && r.Hi <= ram.Hi &&
		r.Lo <= sp && sp <= r.Hi && r.Contains(t.saved) && !r.Contains(t.Block)
}

// overlaps tells whether another task has a part of a task's stack.
func overlaps(t *Task, tasks []Task) bool {
	for i := range tasks {
		if o := tasks[i].Stack; t.Stack.Lo < o.Hi && o.Lo < t.Stack.Hi {
			return true
		}
	}
	return false
}
