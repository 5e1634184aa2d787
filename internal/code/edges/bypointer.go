package edges

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// CalledByPointer implements unwind.CallGraph. Example: vfs_write of Linux calls the write function
// of a file through a table. proc_reg_write is in such a table. security_file_permission, whose
// stale return address lay on the same stack, is in none, and only rw_verify_area jumps there,
// which is in no other table than that of the kernel's exports.
func (w *Graph) CalledByPointer(m *target.Module, pc uint64, mode cpu.Mode) unwind.Answer {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown
	}
	p := w.of(m.Image)
	begins := p.beginnings(disasm.Addr{PC: inImage(m, pc), Mode: mode})
	if len(begins) == 0 {
		return unwind.Unknown
	}
	return p.memos.pointed.Get(begins[0], func() unwind.Answer {
		w := pointerWalk{program: p, seen: begins}
		return w.run()
	})
}

// beginnings are where the function at a place may be said to begin, with and without padding in front: the
// nearest certain entry, and the one before where nothing but padding lies between; none where there is no entry.
// Unwind tables of arm64's modules begin behind the nops that a tracer can patch
// (-fpatchable-function-entry), 8 bytes into each function; what is called is the first nop. Linux for
// x86 has symbols for the padding in front of functions (CONFIG_CALL_PADDING): __pfx_vfs_write, 16 bytes before
// vfs_write; what is called is vfs_write.
func (p *program) beginnings(at disasm.Addr) (list []disasm.Addr) {
	for i, pc := range p.Entries.Below(at) {
		entry := disasm.Addr{PC: pc, Mode: at.Mode}
		if i > 1 || i == 1 && p.SkipPadding(entry) != list[0].PC {
			break
		}
		list = append(list, entry)
	}
	return list
}

// maxJumpers bounds the beginnings of a chain of functions of which each jumps to the next, the callee being the
// last.
const maxJumpers = 32

// pointerWalk looks for a pointer to a function, or to a function that ends in a jump to it.
type pointerWalk struct {
	*program
	seen []disasm.Addr
}

func (w *pointerWalk) run() unwind.Answer {
	for i := 0; i < len(w.seen); i++ {
		switch at := w.seen[i]; {
		case w.Entries.BuiltByCode(at), w.Entries.AddressTaken(at) && !w.onlyListed(at), w.isMentioned(at):
			return unwind.Yes
		case inInstruction(w.program, at), !w.addJumpers(at):
			return unwind.Unknown
		}
	}
	if !w.Entries.HoldsPointers() {
		return unwind.Unknown
	}
	return unwind.No
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

// onlyListed tells whether the words that hold a function's address are entries of tables through
// which no call goes: those in which the function's name follows, where a loader finds functions,
// Linux for its modules (struct kernel_symbol, include/linux/export-internal.h); those of the symbols
// that a library exports; and the places that a tracer patches.
func (p *program) onlyListed(entry disasm.Addr) bool {
	some, only := false, true
	eachPointer(p, entry, func(at uint64) bool {
		name, ok := p.Img.Word(at + uint64(p.Arch.AddrSize))
		some, only = true, ok && p.isName(name, entry.PC) || listsAll(p.Img, at) || isTraced(p.Img, at)
		return only
	})
	return some && only
}

// eachPointer calls visit for the addresses of the words of the image that hold a function's address, until
// visit returns false.
func eachPointer(p *program, entry disasm.Addr, visit func(at uint64) bool) {
	size := uint64(p.Arch.AddrSize)
	word := p.pointerTo(entry)
	for i := range p.Img.Segments {
		seg := &p.Img.Segments[i]
		for from := 0; ; {
			k := bytes.Index(seg.Data[from:], word)
			if k < 0 {
				break
			}
			at := seg.Addr + uint64(from+k)
			if from += k + 1; at&(size-1) == 0 && !visit(at) {
				return
			}
		}
	}
}

// inInstruction tells whether the bytes of an address stand in code as x86's instructions have them that store or push an
// address, which no register holds then. So Linux sets up the functions of works and of files:
//
//	movq $full_proxy_write, 24(%rdi)        48 c7 47 18 e0 2e 42 81
//
// Other bytes of code may be the same by chance. Lists of places that tracers patch are no code: a kernel for x86 has
// __start_mcount_loc beside the code that runs at its start, in one segment.
func inInstruction(p *program, at disasm.Addr) bool {
	if p.Arch.InsnAlign != 1 || p.Arch.AddrSize == 8 && uint64(int64(int32(at.PC))) != at.PC {
		return false
	}
	word := binary.LittleEndian.AppendUint32(nil, uint32(at.PC))
	return slices.ContainsFunc(p.Img.Segments, func(s image.Segment) bool { return s.Exec && stores(p, &s, word) })
}

// stores tells whether bytes stand in a segment of code elsewhere than in a list of places that tracers patch.
func stores(p *program, seg *image.Segment, word []byte) bool {
	for from := 0; ; {
		k := bytes.Index(seg.Data[from:], word)
		if k < 0 {
			return false
		}
		found := seg.Addr + uint64(from+k)
		if from += k + 1; found%uint64(p.Arch.AddrSize) != 0 || !isTraced(p.Img, found) {
			return true
		}
	}
}

// listsAll tells whether a word is of the dynamic linker's symbols, which lists functions whether their
// addresses are taken or not.
func listsAll(img *image.Image, at uint64) bool { return isWithin(img, ".dynsym", at) }

// isTraced tells whether a word is of the lists of places that tracers patch, which begin each function:
// nops (-fpatchable-function-entry) or calls (-mfentry -mrecord-mcount; a leaf function for MIPS begins with
// the call). A linked kernel has no section of its own for the list, which is sorted (__start_mcount_loc).
func isTraced(img *image.Image, at uint64) bool {
	return isWithin(img, "__patchable_function_entries", at) || isWithin(img, "__mcount_loc", at) || inSorted(img, at)
}

// sortedWords is how many pointers to code make a sorted list, of which a word in sortedBut may lie below the one
// before: linkers put a list together file by file, and a file's code may lie in several places. The longest
// tables of functions through which calls go are those of system calls, and not sorted.
const (
	sortedWords = 512
	sortedBut   = 8
)

// inSorted tells whether a word is of a sorted list of pointers to code.
func inSorted(img *image.Image, at uint64) bool {
	size := uint64(img.Arch.AddrSize)
	run, below := 1, 0
	for _, step := range [...]uint64{-size, size} {
		last, ok := img.Word(at)
		for next := at + step; ok && run < sortedWords; next += step {
			v, is := img.Word(next)
			if !is || !img.Segments.Executable(v) {
				break
			}
			if (v > last) != (step == size) {
				below++
			}
			last, run = v, run+1
		}
	}
	return run >= sortedWords && below*sortedBut < run
}

func isWithin(img *image.Image, section string, at uint64) bool {
	s, ok := img.Sections.Named(section)
	return ok && at-s.Addr < uint64(len(s.Data))
}

// pointerTo are the bytes of a pointer to a place.
func (p *program) pointerTo(at disasm.Addr) []byte {
	v := at.PC
	if p.Arch.ISABit {
		v |= uint64(at.Mode)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if p.Arch.BigEndian {
		order = binary.BigEndian
	}
	word := make([]byte, 8)
	if p.Arch.AddrSize == 8 {
		order.PutUint64(word, v)
		return word
	}
	order.PutUint32(word, uint32(v))
	return word[:4]
}

// maxName bounds the names that are compared.
const maxName = 512

// isName tells whether a string at an address is the name of the function at pc.
func (p *program) isName(at, pc uint64) bool {
	text := p.Img.Segments.Bytes(at & p.Arch.AddrMask())
	end := bytes.IndexByte(text[:min(len(text), maxName)], 0)
	if end <= 0 {
		return false
	}
	sym, ok := p.Img.Symbols.Named(string(text[:end]))
	return ok && sym.Addr == pc
}
