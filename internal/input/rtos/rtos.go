// Package rtos finds the tasks of a real-time kernel in a microcontroller's memory: the
// control block of each, where its stack lies, and the registers that it will go on with.
//
// Nothing but memory and code is needed. A task that does not run has its registers on its
// stack, in the order of the kernel's port. Its control block points to these registers, and states
// where the stack begins and how long it is. So the search takes every word of memory for such a
// pointer, and the words that it points to for registers; where the registers make sense and the
// words around the pointer bound the stack, a task is suspected. All control blocks of a kernel look
// alike: the layout that most suspects have in common is the kernel's.
package rtos

import (
	"cmp"
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Task is one task of a kernel.
type Task struct {
	// Name is the name in the control block, "" where the block has none.
	Name string
	// Block is the address of the word with the saved SP in the task's control block.
	Block uint64
	Stack target.Range
	// Regs are the registers with which the task goes on when the kernel switches to it. Those of
	// the running task are old.
	Regs cpu.Registers
	target.Task
	// The context lies from saved to end. overwritten: frames of another task, too, or nothing proves that it is one.
	saved, end  uint64
	overwritten bool
}

// Kernel is the tasks of a kernel, in the order of their control blocks.
type Kernel struct {
	Name  string // "" where only the contexts are known, which several kernels lay out alike
	Tasks []Task

	search *search
	shape  shape
	states stateReader
	name   func(*Task) string
}

// maxTasks bounds the tasks of a kernel: firmware has some tens.
const maxTasks = 4096

// Find finds the tasks of a stopped program, of which snap needs Arch, Memory and Modules.
// ok is false where there is no kernel, or none that is known, or ctx has ended.
func Find(ctx context.Context, snap *target.Snapshot) (k Kernel, ok bool) {
	s := newSearch(ctx, snap)
	var best verdict
	all := layouts()
	for i := range all {
		if l := &all[i]; l.fits(snap.Arch) {
			if v := s.judge(l.compile(snap.Arch)); v.weight > best.weight {
				best = v
			}
		}
	}
	k = Kernel{search: s, states: readerOf(s.ram, pointers(best.tasks), best.shape)}
	if best.shape.owner == 0 && (k.states.marked == nil || k.states.kernel == threadX && best.layout.kernel != threadX) {
		if marked := s.remains(all); len(marked.tasks) > 0 && len(marked.tasks) >= len(best.tasks) {
			best = marked
			k.states = readerOf(s.ram, pointers(best.tasks), best.shape)
		}
	}
	if len(best.tasks) == 0 || ctx.Err() != nil {
		return k, false
	}
	k.Tasks, k.shape, k.Name = best.tasks, best.shape, best.layout.kernel
	if k.states.kernel != "" {
		k.Name = k.states.kernel
	} else if k.Name == freeRTOS {
		k.Name = "" // RTX5 and others save the same registers in the same order
	}
	if k.states.learn != nil {
		k.states.marked = k.states.learn(s.ram, k.all())
	}
	k.name = s.names().of(k.Tasks, best.shape, k.states.name)
	k.Tasks = append(k.Tasks, s.kin(&k, best.layout.compile(snap.Arch))...)
	slices.SortFunc(k.Tasks, func(a, b Task) int { return cmp.Compare(a.Block, b.Block) })
	if best.shape.owner > 0 {
		s.ram.bound(k.Tasks, best.shape)
	}
	if k.Name == zephyr && best.layout.micro {
		exceptionFrames(s.ram, snap.Arch, k.Tasks)
	}
	s.agree(k.Tasks)
	s.ram.fillAll(k.Tasks)
	return k, true
}

// Thread is the task as a thread of a capture.
func (t *Task) Thread() target.Thread {
	return target.Thread{Name: t.Name, Regs: t.Regs, Stack: t.Stack, Task: &t.Task}
}

// all are the tasks.
func (k *Kernel) all() []*Task { return pointers(k.Tasks) }

func pointers(tasks []Task) (out []*Task) {
	for i := range tasks {
		out = append(out, &tasks[i])
	}
	return out
}

// at returns the task on whose stack an address lies. The running task may be missing from Tasks:
// its saved registers are old, and calls may have overwritten them. Then its control block is found
// by the layout of all blocks.
func (k *Kernel) at(sp uint64) *Task {
	all := k.all()
	if i := slices.IndexFunc(all, func(t *Task) bool { return t.Stack.Contains(sp) }); i >= 0 {
		return all[i]
	}
	if i := slices.IndexFunc(all, func(t *Task) bool { return sp == t.Stack.Hi && t.Stack.Lo < sp }); i >= 0 {
		return all[i]
	}
	t, ok := k.search.ram.running(k.shape, k.Tasks, sp)
	if !ok {
		return nil
	}
	t.Name = k.name(&t)
	k.search.ram.fill(&t)
	return &t
}
