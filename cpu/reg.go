package cpu

import "math/bits"

// Reg names a register within one Arch: an index into Arch.Regs, Registers.Val
// and the bits of a RegSet. It is our own dense numbering; DWARF's is data in
// RegInfo.
type Reg uint8

// NoReg is the absent register.
const NoReg Reg = 0xff

// MaxRegs bounds the registers a backtrace needs of one CPU: 32 general ones,
// the PC and a few status registers.
const MaxRegs = 40

// RegSet is a set of registers, one bit each.
type RegSet uint64

// SetOf returns the set holding the given registers; NoReg is skipped.
func SetOf(rs ...Reg) RegSet {
	var s RegSet
	for _, r := range rs {
		s = s.With(r)
	}
	return s
}

// With returns s with r added; adding NoReg changes nothing.
func (s RegSet) With(r Reg) RegSet {
	if r >= MaxRegs {
		return s
	}
	return s | 1<<r
}

// Without returns s with r removed.
func (s RegSet) Without(r Reg) RegSet {
	if r >= MaxRegs {
		return s
	}
	return s &^ (1 << r)
}

// Has tells whether r is in s. NoReg is in no set.
func (s RegSet) Has(r Reg) bool { return r < MaxRegs && s>>r&1 != 0 }

// Len returns the number of registers in s.
func (s RegSet) Len() int { return bits.OnesCount64(uint64(s)) }

// First returns the lowest register of s, NoReg when s is empty. Loop with
//
//	for s := set; s != 0; s = s.Without(s.First()) { … }
func (s RegSet) First() Reg {
	if s == 0 {
		return NoReg
	}
	return Reg(bits.TrailingZeros64(uint64(s)))
}

// Registers is the register file of one frame: a value with an explicit set of
// what is known. A register that was not captured is unknown, never 0.
//
// Values are zero-extended from the register's own width; 32-bit MIPS addresses
// on a 64-bit register file (n32) are held sign-extended as the CPU has them.
type Registers struct {
	Val   [MaxRegs]uint64
	Known RegSet
}

// Lookup returns the value of r and whether it is known.
func (r *Registers) Lookup(reg Reg) (uint64, bool) {
	if !r.Known.Has(reg) {
		return 0, false
	}
	return r.Val[reg], true
}

// Set gives reg a known value; setting NoReg is ignored.
func (r *Registers) Set(reg Reg, v uint64) {
	if reg >= MaxRegs {
		return
	}
	r.Val[reg] = v
	r.Known |= 1 << reg
}

// Forget makes reg unknown.
func (r *Registers) Forget(reg Reg) { r.Known = r.Known.Without(reg) }
