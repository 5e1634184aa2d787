package report

import "github.com/backsight/backsight/cpu"

// StackUse is what a frame takes of the stack, in bytes.
type StackUse struct {
	// Size is the function's own frame: from its stack pointer to its CFA.
	Size uint64
	// Depth is the sum of the sizes of this frame and of all frames further out on the same
	// stack.
	Depth uint64
	// Known: the frame's stack pointer and its CFA are known. Size and Depth are 0 elsewhere.
	Known bool
}

// StackUsage tells what each frame takes of the stack. The sizes of the frames of one stack sum
// up to the depth of its innermost frame. A signal handler on an alternate stack begins a sum of
// its own.
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
