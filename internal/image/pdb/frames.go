package pdb

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// frameSize is the size of FRAMEDATA (cvinfo.h), which 32-bit x86 has.
const frameSize = 32

// withNames is the program of a frame with names of registers in the place of their numbers (cvconst.h, CV_REG_EBX to CV_REG_EDI).
func withNames(program string) string {
	return strings.NewReplacer("$20 ", "$ebx ", "$22 ", "$ebp ", "$23 ", "$esi ", "$24 ", "$edi ").Replace(program)
}

// tables is the unwind table of a database that stands in for its binary.
func (f *file) tables(end uint64) []image.Table {
	if len(f.frames) == 0 || f.arch.Name != "i386" {
		return nil
	}
	return []image.Table{{Kind: image.StackCFI, Range: image.Range{Size: end}}}
}

// StackWin is what the database says of the frame at an address, as the words of a STACK WIN record behind its type. Of several
// records the smallest counts: each says what holds from a place on.
func (h hollow) StackWin(addr uint64) (words [][]byte, frameData, ok bool) {
	const looked = 16 // records before the nearest that may be around it
	rva, ok := h.offset(addr)
	n := h.frameBefore(rva)
	var best []byte
	smallest := uint32(0)
	for i := n; i >= 0 && i > n-looked; i-- {
		r := bin.New(h.frames[i*frameSize:][:frameSize], false)
		start, size := r.U32(), r.U32()
		if ok && rva-start < size && (best == nil || size < smallest) {
			best, smallest = h.frames[i*frameSize:][:frameSize], size
		}
	}
	if best == nil {
		return nil, false, false
	}
	r := bin.New(best, false)
	start, size, locals, params, most, program, prologue, saved := r.U32(), r.U32(), r.U32(), r.U32(), r.U32(), r.U32(), r.U16(), r.U16()
	line := fmt.Sprintf("%x %x %x 0 %x %x %x %x 1 ", start+uint32(addr)-rva, size, prologue, params, saved, locals, most)
	return bytes.Fields([]byte(line + withNames(text(h.names, uint64(program))))), true, true
}

// frameBefore is the number of the last frame that begins at an address of the source or before, -1 for none.
func (f *file) frameBefore(rva uint32) int {
	lo, hi := 0, len(f.frames)/frameSize
	for lo < hi {
		m := (lo + hi) / 2
		if r := bin.NewAt(f.frames, uint64(m*frameSize), false); r.U32() <= rva {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1
}
