package edges

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// CalledByPointer implements stackwalk.CallGraph. Example: vfs_write of Linux calls the write function
// of a file through a table. proc_reg_write is in such a table. security_file_permission, whose
// stale return address lay on the same stack, is in none, and only rw_verify_area jumps there,
// which is in no other table than that of the kernel's exports.
func (g *Graph) CalledByPointer(m *target.Module, pc uint64, mode cpu.Mode) stackwalk.Answer {
	p, ok := g.in(m, pc, mode)
	if !ok {
		return stackwalk.Unknown
	}
	begins := p.beginnings(p.at)
	if len(begins) == 0 {
		return stackwalk.Unknown
	}
	return p.memos.pointed.Get(begins[0], func() stackwalk.Answer {
		w := pointerWalk{program: p.program, seen: begins}
		return w.run()
	})
}

// maxJumpers bounds the beginnings of a chain of functions of which each jumps to the next, the callee being the
// last.
const maxJumpers = 32

// pointerWalk looks for a pointer to a function, or to a function that ends in a jump to that.
type pointerWalk struct {
	*program
	seen []disasm.Addr
}

func (w *pointerWalk) run() stackwalk.Answer {
	for i := 0; i < len(w.seen); i++ {
		switch at := w.seen[i]; {
		case w.Entries.BuiltByCode(at), w.Entries.AddressTaken(at) && !w.onlyListed(at), w.isMentioned(at):
			return stackwalk.Yes
		case w.words().inInstruction(at), !w.addJumpers(at):
			return stackwalk.Unknown
		}
	}
	if !w.Entries.HoldsPointers() {
		return stackwalk.Unknown
	}
	return stackwalk.No
}

// onlyListed tells whether words hold a function's address, and calls go through none of them.
func (w *pointerWalk) onlyListed(entry disasm.Addr) bool {
	u := w.words().usesOf(entry)
	return u != 0 && !u.has(called)
}

// isMentioned tells whether code far away builds an entry's address. Linux starts kauditd_thread from an initializer in
// another section:
//
//	audit_init   adrp x0, kauditd_thread; add x0, x0, :lo12:kauditd_thread; …; bl kthread_create_on_node
func (w *pointerWalk) isMentioned(entry disasm.Addr) bool {
	list, _ := discover.MentionsOf(w.Entries, entry, maxCallers)
	return slices.ContainsFunc(list, func(m discover.Mention) bool { return m.N > m.Jumps })
}

// addJumpers adds the functions that jump to an entry, and tells whether these are all.
func (w *pointerWalk) addJumpers(entry disasm.Addr) bool {
	near := w.Entries.FarJumpsBelow(entry.PC)
	for i, j := range near {
		if j.Target != entry.PC {
			return true
		}
		from := w.beginnings(disasm.Addr{PC: j.Site, Mode: entry.Mode})
		if len(from) == 0 || i == len(near)-1 || len(w.seen) >= maxJumpers {
			return false
		}
		for _, at := range from {
			if !slices.Contains(w.seen, at) {
				w.seen = append(w.seen, at)
			}
		}
	}
	return true
}

// mayBePointedTo tells whether data holds the address of the function at the place or lists the function for other
// files, or code builds the address. A relocation with the symbol of libcrypto's SHA256_Update puts that into a table.
// A command of cmake has a table of its subcommands, which code for Thumb fills on the stack.
func (p place) mayBePointedTo() bool {
	begins := p.beginnings(p.at)
	if f := p.owner(p.at); f != nil && !slices.Contains(begins, f.Entry) {
		begins = []disasm.Addr{f.Entry} // to which only pointers lead
	}
	return len(begins) > 0 && p.memos.held.Get(begins[0], func() bool {
		return slices.ContainsFunc(begins, func(entry disasm.Addr) bool { return p.words().heldInData(entry) || p.Entries.BuiltByCode(entry) })
	})
}
