package code

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// CalledByPointer implements unwind.Witnesses. Example: vfs_write of Linux calls the write function
// of a file through a table. proc_reg_write is in such a table. security_file_permission, whose
// stale return address lay on the same stack, is in none, and only rw_verify_area jumps there,
// which is in no other table than that of the kernel's exports.
func (w witnesses) CalledByPointer(m *target.Module, pc uint64, mode cpu.Mode) unwind.Answer {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return unwind.Unknown
	}
	p := w.src.of(m.Image)
	entry, ok := p.functionAt(disasm.Addr{PC: inImage(m, pc), Mode: mode})
	if !ok {
		return unwind.Unknown
	}
	return p.pointed.Get(entry, func() unwind.Answer {
		w := pointerWalk{program: p, seen: []disasm.Addr{entry}}
		return w.run()
	})
}

// functionAt is the certain entry at or below a place. Tables of functions that a tracer can patch
// (-fpatchable-function-entry) begin behind the nops that it patches, 8 bytes into each function of
// a module for arm64; what is called is the first nop.
func (p *program) functionAt(at disasm.Addr) (disasm.Addr, bool) {
	below := p.entries.Below(at)
	if len(below) == 0 {
		return disasm.Addr{}, false
	}
	entry := disasm.Addr{PC: below[0], Mode: at.Mode}
	if len(below) > 1 {
		if first := (disasm.Addr{PC: below[1], Mode: at.Mode}); p.SkipPadding(first) == entry.PC {
			entry = first
		}
	}
	return entry, true
}

// maxJumpers bounds the functions that may jump to one another up to the callee.
const maxJumpers = 16

// pointerWalk looks for a pointer to a function, or to one of those that end in a jump there.
type pointerWalk struct {
	*program
	seen []disasm.Addr
}

func (w *pointerWalk) run() unwind.Answer {
	for i := 0; i < len(w.seen); i++ {
		switch at := w.seen[i]; {
		case w.entries.BuiltByCode(at), w.entries.AddressTaken(at) && !w.onlyListed(at):
			return unwind.Yes
		case !w.addJumpers(at):
			return unwind.Unknown
		}
	}
	if !w.entries.HoldsPointers() {
		return unwind.Unknown
	}
	return unwind.No
}

// addJumpers adds the functions that jump to an entry, and tells whether these are all.
func (w *pointerWalk) addJumpers(entry disasm.Addr) bool {
	near := w.entries.FarJumpsBelow(entry.PC)
	for i, j := range near {
		if j.Target != entry.PC {
			return true
		}
		from, ok := w.functionAt(disasm.Addr{PC: j.Site, Mode: entry.Mode})
		if !ok || i == len(near)-1 || len(w.seen) == maxJumpers {
			return false
		}
		if !slices.Contains(w.seen, from) {
			w.seen = append(w.seen, from)
		}
	}
	return true
}

// onlyListed tells whether the words that hold a function's address are entries of tables through
// which no call goes: those in which the function's name follows, where a loader finds functions,
// Linux for its modules (struct kernel_symbol, include/linux/export-internal.h); those of the symbols
// that a library exports; and the places that a tracer patches.
func (p *program) onlyListed(entry disasm.Addr) bool {
	size := uint64(p.Arch.AddrSize)
	word := p.pointerTo(entry)
	some := false
	for i := range p.Img.Segments {
		seg := &p.Img.Segments[i]
		for from := 0; ; {
			k := bytes.Index(seg.Data[from:], word)
			if k < 0 {
				break
			}
			at := seg.Addr + uint64(from+k)
			if from += k + 1; at&(size-1) != 0 {
				continue
			}
			name, ok := p.Img.Word(at + size)
			if (!ok || !p.isName(name, entry.PC)) && !listsAll(p.Img, at) {
				return false
			}
			some = true
		}
	}
	return some
}

// listsAll tells whether a word is of a section that lists functions whether their addresses are taken
// or not: the dynamic linker's symbols; the places that tracers patch, which begin each function, nops
// (-fpatchable-function-entry) or calls (-mfentry -mrecord-mcount).
func listsAll(img *image.Image, at uint64) bool {
	for _, name := range [...]string{".dynsym", "__patchable_function_entries", "__mcount_loc"} {
		if s, ok := img.Sections.Named(name); ok && at-s.Addr < uint64(len(s.Data)) {
			return true
		}
	}
	return false
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
