package heights

import (
	"math"
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/callee"
)

// Table is what the analysis of one function found. A table never changes.
type Table struct {
	// Entry is the image address where the function begins.
	Entry uint64
	// Rows tell by address which of Frames holds. The first row is that of Entry.
	Rows   []Row
	Frames []SavedRegs
	// Code are the ranges, by address, from which some path leads to an exit. Of other
	// addresses a table says nothing, whatever the rows hold.
	Code []Range
	// MakesFrame tells whether SP is anywhere else than on entry.
	MakesFrame bool
	// Effect is what the function does to its caller, as far as its returns tell. Returns
	// is false as well where the function leaves by tail calls alone.
	Effect callee.Effect

	slots []int32 // of all frames
}

// Row tells that the frame with the index Heights holds from Entry + At on. Behind a
// call the new row begins one byte behind the start of the call: at its first byte the
// call is about to execute, at the other bytes the function waits for the callee's
// return (as stackwalk.Query has it).
type Row struct{ At, Heights uint32 }

// SavedRegs tells where SP and the registers of the caller are.
type SavedRegs struct {
	// Kept registers hold what they held on entry. Saved ones do not, but a slot of the
	// stack does. Of preserved registers in neither set nothing is known.
	Kept, Saved cpu.RegSet
	// SP is the height of SP: its offset from SP on entry.
	SP int32

	firstSlot uint32 // in Table.slots, those of Saved by number of register
}

// Range is the code from Entry + Start up to Entry + End.
type Range struct{ Start, End uint32 }

// At finds what holds before or within the instruction at an image address, nil if
// nothing is proven there.
func (t *Table) At(pc uint64) *SavedRegs {
	i := t.RangeBehind(pc)
	if i == len(t.Code) || pc < t.Entry+uint64(t.Code[i].Start) {
		return nil
	}
	return &t.Frames[t.Rows[t.RowAt(uint32(pc-t.Entry))].Heights]
}

// RowAt is the index of the row that holds at Entry + at.
func (t *Table) RowAt(at uint32) int {
	i, exact := findRow(t.Rows, at)
	if !exact {
		i--
	}
	return i
}

// findRow is the index of the row that begins at an offset, or where such a row would be
// inserted.
func findRow(rows []Row, at uint32) (int, bool) {
	i := sort.Search(len(rows), func(i int) bool { return rows[i].At >= at })
	return i, i < len(rows) && rows[i].At == at
}

// End is the image address behind the last of Code, Entry where there is none.
func (t *Table) End() uint64 {
	if len(t.Code) == 0 {
		return t.Entry
	}
	return t.Entry + uint64(t.Code[len(t.Code)-1].End)
}

// RangeBehind is the index of the first of Code that ends behind an image address,
// len(Code) if none does.
func (t *Table) RangeBehind(pc uint64) int {
	if pc < t.Entry {
		return 0
	}
	at := min(pc-t.Entry, math.MaxUint32)
	return sort.Search(len(t.Code), func(i int) bool { return uint64(t.Code[i].End) > at })
}

// SlotOf is the height of the slot that holds a register of f.Saved.
func (t *Table) SlotOf(f *SavedRegs, r cpu.Reg) int64 {
	return int64(t.slots[int(f.firstSlot)+(f.Saved&(1<<r-1)).Len()])
}

// Slots are the heights of the slots of f.Saved, by number of register.
func (t *Table) Slots(f *SavedRegs) []int32 { return t.slots[f.firstSlot:][:f.Saved.Len()] }
