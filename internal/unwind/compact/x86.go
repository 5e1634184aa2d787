package compact

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/compactunwind"
	"github.com/backsight/backsight/unwind"
)

// Modes of x86 (UNWIND_X86_64_MODE_*, UNWIND_X86_MODE_*).
const (
	x86Frame     = 1
	x86Immediate = 2
	x86Indirect  = 3
	x86DWARF     = 4
)

// decodeX86 reads an encoding of x86-64 or i386: they differ in the size of a word, and in which
// registers the numbers 1 to 6 name.
func decodeX86(f *function, e compactunwind.Encoding) unwind.Verdict {
	switch e.Mode() {
	case x86Frame:
		return f.x86Frame(uint32(e))
	case x86Immediate:
		return f.frameless(uint32(e), int64(e>>16&0xff)*f.word())
	case x86Indirect:
		size, ok := f.subtracted(uint32(e))
		if !ok {
			return unwind.Malformed
		}
		return f.frameless(uint32(e), size)
	}
	return unwind.NotCovered
}

func (f *function) word() int64 { return int64(f.arch.RegSize) }

// x86Numbers are the registers that x86 encodings name 1 to 6.
func (f *function) x86Register(n uint32) (cpu.Reg, bool) {
	names := [...]string{"rbx", "r12", "r13", "r14", "r15", "rbp"}
	if f.arch.AddrSize == 4 {
		names = [...]string{"ebx", "ecx", "edx", "edi", "esi", "ebp"}
	}
	if n == 0 || int(n) > len(names) {
		return cpu.NoReg, false
	}
	return f.arch.RegByName(names[n-1])
}

// x86Frame is a function with a frame pointer: bits 16–23 say how many words below it the saved
// registers begin, bits 0–14 which these are, upwards, three bits each; 0 is a word of none.
func (f *function) x86Frame(e uint32) unwind.Verdict {
	word := f.word()
	f.cfa(f.arch.FP, 2*word)
	f.saved(cpu.NoReg, -word)
	f.saved(f.arch.FP, -2*word)
	at := -2*word - int64(e>>16&0xff)*word
	for i := range 5 {
		n := e >> (3 * i) & 7
		if r, ok := f.x86Register(n); ok {
			f.saved(r, at)
		} else if n != 0 {
			return unwind.Malformed
		}
		at += word
	}
	return unwind.Found
}

// subtracted is the size of a frame that does not fit the encoding: the operand of the
// function's own sub, whose offset in the function bits 16–23 say, and bits 13–15 words beside
// it (pushed registers, the return address).
func (f *function) subtracted(e uint32) (int64, bool) {
	v, ok := f.img.Uint(f.start+uint64(e>>16&0xff), 4)
	return int64(v) + int64(e>>13&7)*f.word(), ok && v < 1<<31
}

// frameless is a function without a frame pointer whose frame, the return address included, is
// size bytes: the registers saved lie right below the return address. Bits 10–12 say how many
// they are, bits 0–9 which: the number of their permutation.
func (f *function) frameless(e uint32, size int64) unwind.Verdict {
	word := f.word()
	count := int(e >> 10 & 7)
	order, ok := permutation(e&0x3ff, count)
	if !ok || size < word*int64(count+1) {
		return unwind.Malformed
	}
	f.cfa(f.arch.SP, size)
	f.saved(cpu.NoReg, -word)
	for i, n := range order[:count] {
		r, ok := f.x86Register(n)
		if !ok {
			return unwind.Malformed
		}
		f.saved(r, -word*int64(1+count-i))
	}
	return unwind.Found
}

// permutation lists count different numbers of 1 to 6, by the number of their order: the i-th is
// counted among those not used yet, in a number whose digits have the bases 6, 5, …. Six numbers
// have as many orders as five: the last is what is left.
func permutation(p uint32, count int) (order [6]uint32, ok bool) {
	if count > len(order) {
		return order, false
	}
	digits := min(count, len(order)-1)
	var digit [6]uint32
	for i := digits - 1; i >= 0; i-- {
		base := uint32(6 - i)
		digit[i], p = p%base, p/base
	}
	if p != 0 {
		return order, false
	}
	left := []uint32{1, 2, 3, 4, 5, 6}
	for i := range count {
		d := digit[i]
		order[i] = left[d]
		left = append(left[:d], left[d+1:]...)
	}
	return order, true
}
