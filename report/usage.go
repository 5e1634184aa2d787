package report

import "github.com/backsight/backsight/cpu"

// StackUse is what a frame takes of the stack, in bytes.
type StackUse struct {
	// Size is the function's own frame: from its stack pointer to its CFA.
	Size uint64
	// Depth is what this frame and all further out take, on the frame's own stack.
	Depth uint64
	// Known: the frame's stack pointer and its CFA are.
	Known bool
}

// StackUsage tells what each frame takes of the stack. The sizes of one stack's frames sum up
// to the depth of its innermost one; where a handler runs on a stack of its own, that is
// another.
func (t *Thread) StackUsage(arch *cpu.Arch) []StackUse {
	use := make([]StackUse, len(t.Frames))
	sp, known := t.Regs.Lookup(arch.SP)
	for i := range t.Frames {
		f := &t.Frames[i]
		if known && f.HasCFA && f.CFA >= sp {
			use[i] = StackUse{Size: f.CFA - sp, Known: true}
		}
		sp, known = f.CFA, f.HasCFA // the caller's SP while it waits
	}
	for i := len(use) - 1; i >= 0; i-- {
		if use[i].Depth = use[i].Size; i+1 < len(use) && use[i].Known {
			use[i].Depth += use[i+1].Depth
		}
	}
	return use
}
