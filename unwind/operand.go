package unwind

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Operand is a value in terms of a frame at a call.
type Operand struct {
	Kind OperandKind
	Reg  cpu.Reg
	Off  int64
	Size uint8 // of InMemory, in bytes; 0: a word
}

// OperandKind says where an Operand's value is. SP stands for the frame's CFA.
type OperandKind uint8

// The kinds.
const (
	Anything   OperandKind = iota // nothing is known
	Number                        // Off
	InRegister                    // what Reg holds, plus Off
	InMemory                      // the word at what Reg holds plus Off
)

// value is the value of the operand in a frame with these registers and this CFA.
func (o *Operand) value(snap *target.Snapshot, regs *cpu.Registers, cfa uint64) (v uint64, ok bool) {
	mask := snap.Arch.AddrMask()
	switch {
	case o.Kind == Number:
		return uint64(o.Off) & mask, true
	case o.Kind == Anything:
		return 0, false
	case o.Reg == snap.Arch.SP:
		v, ok = cfa, true
	default:
		v, ok = regs.Lookup(o.Reg)
	}
	v = (v + uint64(o.Off)) & mask
	switch {
	case !ok || o.Kind != InMemory:
		return v, ok
	case o.Size != 0:
		return snap.Memory.Uint(v, int(o.Size))
	}
	return snap.Memory.Word(v)
}
