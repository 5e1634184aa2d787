package rtos

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// of is the task that a thread of a report is, nil for none. Who ran the report says itself, or else the kernel does.
func (k *Kernel) of(t *target.Thread, current *Task) *Task {
	sp, ok := stackPointer(k.search.code.snap.Arch, &t.Regs)
	if !ok {
		sp, ok = k.stacked(&t.Regs)
	}
	if !ok {
		return k.registersOf(t)
	}
	if named := k.named(t); named != nil {
		current = named
	}
	task := k.on(sp, current)
	if t.Stale && task != nil && sp-task.Stack.Lo < atLimit {
		task.Overflown = true // the frame would have gone below
		k.search.code.above(&t.Regs, sp)
	}
	return task
}

// named is the task that a report names, nil for none, or where several tasks have the name.
func (k *Kernel) named(t *target.Thread) (task *Task) {
	for _, o := range k.all() {
		if o.Name == "" || !strings.HasSuffix(t.Name, " in "+o.Name) {
			continue
		}
		if task != nil {
			return nil
		}
		task = o
	}
	return task
}

// registersOf is the task that a report without a stack pointer names. A report of an overflow, by the kernel as it switches,
// may have the name alone: the task's registers are those of the thread then.
func (k *Kernel) registersOf(t *target.Thread) *Task {
	task := k.named(t)
	if _, has := t.Regs.Lookup(k.search.code.snap.Arch.PC); !has && task != nil {
		t.Regs, task.Overflown = task.Regs, true
	}
	return task
}

// above makes the first return address above sp where a program stands, which a fault left no word of: whose calls fill a stack.
func (c code) above(regs *cpu.Registers, sp uint64) {
	const reach = 64 // words
	arch := c.snap.Arch
	for at := range (target.Range{Lo: sp, Hi: sp + reach*uint64(arch.RegSize)}).Words(uint64(arch.RegSize)) {
		if v, ok := c.snap.Memory.Uint(at, arch.RegSize); ok && c.follows(v) {
			regs.Set(arch.PC, v)
			regs.Set(arch.SP, at+uint64(arch.RegSize))
			return
		}
	}
}

// atLimit is the room in bytes that a frame with floating-point registers takes at least.
const atLimit = 128

// on is the task that a processor runs whose stack pointer is sp, nil for none. current is the one that runs as the report or the
// kernel says, nil where that is not known. The stack pointer of a task that overflowed may lie on the stack of another one, or in
// no memory at all: then the task is the one that runs, above, of whose stack nothing is left. What frames did not write
// may still have the pattern: who waits, runs not, whatever is left of the stack of the only one that may.
func (k *Kernel) on(sp uint64, current *Task) *Task {
	t := k.at(sp)
	if current == nil {
		current = k.savedAt(sp)
	}
	if t != nil && (t == current || current == nil && t.mayRun() || t.switched(sp)) {
		return t
	}
	if may := k.mayRun(k.all()); current == nil && t != nil && len(may) == 1 {
		current = may[0]
	}
	if _, memory := k.search.ram.run(sp); current != nil && sp < current.Stack.Lo && (t != nil || !memory) {
		current.Overflown = true
		k.spill(current, sp)
		return current
	}
	var culprit *Task
	for _, o := range k.all() {
		may := o == current || current == nil && o.mayRun()
		if may && sp < o.Stack.Lo && (o.full() || len(k.Tasks) == 1) && (culprit == nil || o.Stack.Lo < culprit.Stack.Lo) {
			culprit = o
		}
	}
	if culprit == nil {
		return t
	}
	culprit.Overflown = true
	return culprit
}

// spill marks the tasks through whose stacks another one has come down to sp: how much these tasks used of them themselves nobody
// knows, and a context that was saved there is what the other's frames left of it.
func (k *Kernel) spill(culprit *Task, sp uint64) {
	for _, t := range k.all() {
		if t.Stack.Lo >= culprit.Stack.Lo || t.Stack.Hi <= sp {
			continue
		}
		t.Filled, t.Overflown = false, false
		t.overwritten = t.end > sp && t.end > t.saved
	}
}

// mayRun tells whether the kernel says nothing that excludes that a task runs.
func (t *Task) mayRun() bool { return t.State == "" || t.State == ready || t.State == running }

// full tells whether of a task's stack all was used.
func (t *Task) full() bool { return t.Overflown || t.Filled && t.Unused == 0 }

// below tells whether the kernel has saved a task's registers below its stack, though they may be none any more.
func (t *Task) below() bool {
	return t.saved < t.Stack.Lo && (t.Regs.Known != 0 || t.saved+maxOverflow >= t.Stack.Lo)
}

// switched tells whether the kernel has just saved a task's registers, with the stack pointer sp.
func (t *Task) switched(sp uint64) bool {
	return t.Regs.Known != 0 && t.saved <= sp && sp <= t.end
}

// savedAt is the task whose registers the kernel has just saved at sp, below the task's own stack, as ports do on their way into an
// exception; nil for none. It needs no word of what the tasks do, which the recursion may have written over.
func (k *Kernel) savedAt(sp uint64) *Task {
	i := slices.IndexFunc(k.Tasks, func(t Task) bool { return t.switched(sp) && sp < t.Stack.Lo })
	if i < 0 {
		return nil
	}
	return &k.Tasks[i]
}

// overrun finds the tasks that overflowed into others, and has an issue for each: right below the task's stack lie those of others of
// which no context is left, though some of them wait. These have nothing to tell of their own stacks.
func (k *Kernel) overrun(tasks []*Task) (issues []target.Issue) {
	sorted := slices.SortedFunc(slices.Values(tasks), func(a, b *Task) int { return cmp.Compare(b.Stack.Lo, a.Stack.Lo) })
	for _, t := range sorted {
		if t.below() {
			k.spill(t, t.saved)
		}
	}
	for i := 0; i < len(sorted); i++ {
		t := sorted[i]
		var names []string
		waits := false
		for i+1 < len(sorted) && sorted[i+1].Regs.Known == 0 && (t.Regs.Known == 0 || t.Overflown) {
			i++
			waits = waits || !sorted[i].mayRun()
			names = append(names, fmt.Sprintf("%q", sorted[i].Name))
		}
		if !waits || !t.mayRun() && !t.Overflown {
			continue
		}
		t.Overflown = true
		for _, victim := range sorted[i+1-len(names) : i+1] {
			victim.Filled, victim.Overflown = false, false
		}
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf(
			"the stack of task %q overflowed into those of %s, which lie below", t.Name, strings.Join(names, ", "))})
	}
	return issues
}
