package report

import "github.com/backsight/backsight/target"

// StackUse is what a frame takes of the stack, in bytes.
type StackUse struct {
	// Size is the function's own frame: from its stack pointer to its CFA.
	Size uint64
	// Depth is the sum of the sizes of this frame and of all frames further out on the same
	// stack.
	Depth uint64
	// AtLeast: Depth lacks the size of a frame, which is not known, before the outermost one that is.
	AtLeast bool
	// Known: the frame's stack pointer and its CFA are known, or its size by code or tables. Size and Depth are 0
	// elsewhere.
	Known bool
}

// StackUsage tells what each of t.Frames takes of the stack; snap is what the thread was captured in. The sizes of
// the frames of one stack sum up to the depth of its innermost frame. A signal handler on an alternate stack, or a
// kernel's stack of interrupts, begins a sum of its own.
func (t *Thread) StackUsage(snap *target.Snapshot) []StackUse {
	use := make([]StackUse, len(t.Frames))
	memory := snap.Of(t.Thread).Memory
	sp, known := t.Regs.Lookup(snap.Arch.SP)
	for i := range t.Frames {
		f := &t.Frames[i]
		switch {
		case f.Details != nil && f.Details.HasSize:
			use[i] = StackUse{Size: f.Details.Size, Known: true}
		case known && f.HasCFA && f.CFA >= sp && t.onOneStack(memory, sp, f.CFA):
			use[i] = StackUse{Size: f.CFA - sp, Known: true}
		}
		sp, known = f.CFA, f.HasCFA // the caller's SP while it waits
		sp += t.Repeats.LeftOut(i + 1)
	}
	t.sumUp(use)
	return use
}

// sumUp adds up the depths. A frame whose CFA is known but not its size goes to another stack.
func (t *Thread) sumUp(use []StackUse) {
	depth, least := uint64(0), false
	for i := len(use) - 1; i >= 0; i-- {
		switch u := &use[i]; {
		case u.Known:
			depth += u.Size + t.Repeats.LeftOut(i+1)
			u.Depth, u.AtLeast = depth, least
		case t.Frames[i].HasCFA:
			depth, least = 0, false
		default:
			least = depth > 0
		}
	}
}

// onOneStack tells whether a frame from sp to cfa may lie on one stack: not where one end alone lies within the
// thread's stack, nor where the memory between has a hole. On arm64, call_on_irq_stack (arch/arm64/kernel/entry.S)
// goes to a stack of interrupts 2 MB below the task's; neither is mapped in between.
func (t *Thread) onOneStack(memory *target.Memory, sp, cfa uint64) bool {
	if sp == cfa || memory == nil {
		return true
	}
	if t.Stack.Lo < t.Stack.Hi && t.Stack.Contains(sp) != t.Stack.Contains(cfa-1) {
		return false
	}
	from, to := memory.RangeAt(sp), memory.RangeAt(cfa-1)
	return from == to || from == target.Range{} || to == target.Range{}
}
