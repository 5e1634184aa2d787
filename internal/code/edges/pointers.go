package edges

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
)

// words are the words of an image that hold functions' addresses.
type words struct{ disasm.Code }

// words are those of the program's image.
func (p *program) words() words { return words{p.Code} }

// use is what a word of an image serves for that holds a function's address. Calls go through called
// words alone.
type use uint8

const (
	called use = iota
	traced     // in a list of places that tracers patch
	listed     // one of the dynamic linker's symbols, which list functions whether their addresses are taken or not
	named      // in a table where a loader finds functions by their names, Linux for its modules
)

// uses is a set of uses.
type uses uint8

func (s uses) has(u use) bool { return s>>u&1 != 0 }

// useOf is the use of the word at an address, which holds a function's address. The name of a function follows in struct
// kernel_symbol (include/linux/export-internal.h).
func (w words) useOf(at, function uint64) use {
	name, ok := w.Img.Word(at + uint64(w.Arch.AddrSize))
	switch {
	case w.isTraced(at):
		return traced
	case w.isWithin(".dynsym", at):
		return listed
	case ok && w.isName(name, function):
		return named
	}
	return called
}

// usesOf are the uses of the words that hold a function's address: all, or some of which one is called.
func (w words) usesOf(entry disasm.Addr) (s uses) {
	w.eachPointer(entry, func(at uint64) bool {
		s |= 1 << w.useOf(at, entry.PC)
		return !s.has(called)
	})
	return s
}

// heldInData tells whether a word of the image holds a function's address, and not only to have the
// function traced.
func (w words) heldInData(entry disasm.Addr) bool { return w.usesOf(entry)&^(1<<traced) != 0 }

// eachPointer calls visit for the addresses of the words of the image that hold a function's address, until
// visit returns false.
func (w words) eachPointer(entry disasm.Addr, visit func(at uint64) bool) {
	size := uint64(w.Arch.AddrSize)
	word := w.pointerTo(entry)
	for i := range w.Img.Segments {
		if !eachIn(&w.Img.Segments[i], word, func(at uint64) bool { return at&(size-1) != 0 || visit(at) }) {
			return
		}
	}
}

// eachIn calls visit for the addresses where bytes stand in a segment, until visit returns false; false: it did.
func eachIn(seg *image.Segment, word []byte, visit func(at uint64) bool) bool {
	for from := 0; ; {
		k := bytes.Index(seg.Data[from:], word)
		if k < 0 {
			return true
		}
		if from += k + 1; !visit(seg.Addr + uint64(from-1)) {
			return false
		}
	}
}

// pointerTo are the bytes of a pointer to a place.
func (w words) pointerTo(at disasm.Addr) []byte {
	v := at.PC
	if w.Arch.ISABit {
		v |= uint64(at.Mode)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if w.Arch.BigEndian {
		order = binary.BigEndian
	}
	word := make([]byte, 8)
	if w.Arch.AddrSize == 8 {
		order.PutUint64(word, v)
		return word
	}
	order.PutUint32(word, uint32(v))
	return word[:4]
}

// inInstruction tells whether the bytes of an address stand in code as x86's instructions have them that store or push an
// address, which no register holds then. So Linux sets up the functions of works and of files:
//
//	movq $full_proxy_write, 24(%rdi)        48 c7 47 18 e0 2e 42 81
//
// Other bytes of code may be the same by chance. Lists of places that tracers patch are no code: a kernel for x86 has
// __start_mcount_loc beside the code that runs at its start, in one segment.
func (w words) inInstruction(at disasm.Addr) bool {
	if w.Arch.InsnAlign != 1 || w.Arch.AddrSize == 8 && uint64(int64(int32(at.PC))) != at.PC {
		return false
	}
	word := binary.LittleEndian.AppendUint32(nil, uint32(at.PC))
	return slices.ContainsFunc(w.Img.Segments, func(s image.Segment) bool {
		return s.Exec && !eachIn(&s, word, func(found uint64) bool {
			return found%uint64(w.Arch.AddrSize) == 0 && w.isTraced(found)
		})
	})
}

// isTraced tells whether a word is of the lists of places that tracers patch, which begin each function:
// nops (-fpatchable-function-entry) or calls (-mfentry -mrecord-mcount; a leaf function for MIPS begins with
// the call). A linked kernel has no section of its own for the list, which is sorted (__start_mcount_loc).
func (w words) isTraced(at uint64) bool {
	return w.isWithin("__patchable_function_entries", at) || w.isWithin("__mcount_loc", at) || inSorted(w.Img, at)
}

// sortedWords is how many pointers to code make a sorted list. One word in sortedBut may be less than the word
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

func (w words) isWithin(section string, at uint64) bool {
	s, ok := w.Img.Sections.Named(section)
	return ok && at-s.Addr < uint64(len(s.Data))
}

// maxName bounds the names that are compared.
const maxName = 512

// isName tells whether a string at an address is the name of the function at pc.
func (w words) isName(at, pc uint64) bool {
	text := w.Img.Segments.Bytes(at & w.Arch.AddrMask())
	end := bytes.IndexByte(text[:min(len(text), maxName)], 0)
	if end <= 0 {
		return false
	}
	sym, ok := w.Img.Symbols.Named(string(text[:end]))
	return ok && sym.Addr == pc
}

// systemCalls is how many pointers to code, one behind the other, make the table of a kernel's system calls: Linux
// has some 450 of them (sys_call_table), and drivers' tables of functions are shorter.
const systemCalls = 256

// maxSystemCalls bounds how far the beginning of such a table is looked for.
const maxSystemCalls = 4096

// inLongList tells how many pointers to code stand before a word, where the list of all is as long as that of system calls.
func inLongList(img *image.Image, at uint64) (before int, ok bool) {
	size := uint64(img.Arch.AddrSize)
	before = pointersFrom(img, at, -size, maxSystemCalls)
	return before, before+1+pointersFrom(img, at, size, systemCalls) >= systemCalls
}

// pointersFrom counts the pointers to code behind a word, step by step, at most so many.
func pointersFrom(img *image.Image, at, step uint64, most int) (n int) {
	for next := at + step; n < most; next += step {
		v, ok := img.Word(next)
		if !ok || !img.Segments.Executable(v) {
			break
		}
		n++
	}
	return n
}
