package pclntab

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
)

// A function's description: 32-bit numbers, then bytes, then a 32-bit number for each of its further
// tables. Go 1.20 put the first line in front of the bytes.
const (
	recordName, recordSP, recordFile, recordLine, recordTables, recordUnit = 4, 16, 20, 24, 28, 32

	recordEnd = 40 // of Go 1.18's, without tables
)

// fixed is how many bytes of a description do not depend on how many tables there are.
func (t *Table) fixed() int {
	if t.late {
		return recordEnd + 4
	}
	return recordEnd
}

func (f *Function) u32(off int) uint32 { return f.table.order.U32(f.record[off:]) }

// maxName bounds a name: those of generic types are long.
const maxName = 1 << 12

// text is the string at an offset of a part of the table, "" where none ends there.
func text(part []byte, off uint32) string {
	if uint64(off) >= uint64(len(part)) {
		return ""
	}
	part = part[off:min(uint64(off)+maxName, uint64(len(part)))]
	return string(part[:max(bytes.IndexByte(part, 0), 0)])
}

// Name is the function's name, with its package.
func (f *Function) Name() string { return text(f.table.names, f.u32(recordName)) }

// TopFrame tells whether the function is the outermost of its stack.
func (f *Function) TopFrame() bool { return f.flags()&1 != 0 }

// Handles tells whether the kernel calls the function for a signal. The runtime's traces end there, so
// that nobody minds what tables say of the function, this one and .debug_frame; on ARM that lacks registers pushed at once.
func (f *Function) Handles() bool {
	name := f.Name()
	return name == "runtime.sigtramp" || name == "runtime.cgoSigtramp"
}

// WritesSP tells whether the function sets SP to anything: Height does not count that.
func (f *Function) WritesSP() bool { return f.flags()&2 != 0 }

func (f *Function) flags() byte { return f.record[f.table.fixed()-3] }

// Height is how many bytes SP is, before the instruction at pc, below where it was when the function
// was called; behind the return address, where the call pushes one. pc lies in the function.
func (f *Function) Height(pc uint64) (int64, bool) {
	v, ok := f.value(f.u32(recordSP), pc)
	return int64(v), ok
}

// inlining is the number of the table that tells which inlined call an instruction belongs to; -1
// for none (PCDATA_InlTreeIndex).
const inlining = 2

// source is the source line of the instruction at pc, in the innermost function that was inlined there.
func (f *Function) source(pc uint64) (file string, line int, ok bool) {
	n, ok := f.value(f.u32(recordLine), pc)
	no, ok2 := f.value(f.u32(recordFile), pc)
	unit := (uint64(f.u32(recordUnit)) + uint64(uint32(no))) * 4
	if !ok || !ok2 || n <= 0 || no < 0 || unit+4 > uint64(len(f.table.units)) {
		return "", 0, false
	}
	file = text(f.table.files, f.table.order.U32(f.table.units[unit:]))
	return file, int(n), file != ""
}

// value is what a table of the function says at pc. The table is pairs of varints: the difference of
// the value, zigzag-encoded, from -1 at first; for how many quanta of code the value holds. A
// difference of 0 ends the table, but for the first.
func (f *Function) value(at uint32, pc uint64) (int32, bool) {
	if at == 0 || uint64(at) >= uint64(len(f.table.values)) {
		return 0, false
	}
	r, v := bin.NewAt(f.table.values, uint64(at), false), int32(-1)
	for lo, first := f.Lo, true; ; first = false {
		diff := uint32(r.ULEB())
		length := uint32(r.ULEB()) // takes the code further, so that the loop ends within the function
		if r.Err() != nil || diff == 0 && !first || length == 0 {
			return 0, false
		}
		v += int32(diff>>1) ^ -int32(diff&1)
		if lo += uint64(length) * f.table.quantum; pc < lo {
			return v, true
		}
		if lo >= f.Hi {
			return 0, false
		}
	}
}
