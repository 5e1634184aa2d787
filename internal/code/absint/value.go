// Package absint executes instructions abstractly: each register and stack slot is a
// constant, a start value plus an offset, an element of a jump table, or unknown.
//
// The start is where an analysis begins: a function's entry, or any PC. What the
// analyses conclude is stated in terms of the values at the start:
//
//	                     SP             RA              rbx
//	entry:               sp             [sp]            rbx
//	push %rbx            sp-8           [sp]            rbx, and [sp-8] = rbx
//	sub  $0x20,%rsp      sp-40          [sp]            rbx
//	mov  %rdi,%rbx       sp-40          [sp]            rdi
package absint

import "github.com/backsight/backsight/cpu"

// Kind says what is known of a value.
type Kind uint8

const (
	// Unknown: nothing. Such a value is the zero Value.
	Unknown Kind = iota
	// Constant is the number Off.
	Constant
	// StartRelative is Base + Off, where Base is a register's value at the start or
	// a symbol: a value of which nothing more is known, such as SP behind an
	// alignment mask.
	StartRelative
	// StartMemory is mem[Base + Off] as it was at the start, plus Add.
	StartMemory
	// TableAddress is the constant Off plus an unknown index: the address of a
	// table's element.
	TableAddress
	// TableElement is an element of the jump table number Off (see JumpTables), as loaded
	// or as computed with on the way to a jump.
	TableElement
	// OtherStack is SP when it was loaded or moved in from elsewhere, wherever on that stack.
	OtherStack
)

// Base names a start value: a register below cpu.MaxRegs, else a symbol.
type Base uint8

const firstSymbol Base = Base(cpu.MaxRegs)

// Value is what is known of a register or a stack slot.
type Value struct {
	Kind Kind
	Base Base
	Add  int32
	Off  int64
}

// Const is a known number.
func Const(k int64) Value { return Value{Kind: Constant, Off: k} }

// FromWritable marks, as the Base of a Constant, a number that the file holds in
// writable memory: what the program finds there may be another (a GOT entry, a
// function pointer that the program sets). Words that only the linker decides are not marked.
const FromWritable Base = 1

// StartOf is the value that a register had at the start.
func StartOf(r cpu.Reg) Value { return Value{Kind: StartRelative, Base: Base(r)} }

// IsStartOf tells whether v is what register r held at the start.
func (v Value) IsStartOf(r cpu.Reg) bool { return v == StartOf(r) }

// RelativeTo tells whether v is what register r held at the start plus a constant.
func (v Value) RelativeTo(r cpu.Reg) bool { return v.Kind == StartRelative && v.Base == Base(r) }

// OfRegister tells whether the base of v is a register, not a symbol.
func (v Value) OfRegister() bool { return v.Base < firstSymbol }

// Plus is v + k.
func (v Value) Plus(k int64) Value {
	switch v.Kind {
	case Constant, StartRelative, TableAddress:
		v.Off += k
		return v
	case StartMemory:
		if n := int64(v.Add) + k; n == int64(int32(n)) {
			v.Add = int32(n)
			return v
		}
	case OtherStack:
		return v
	}
	if k == 0 {
		return v
	}
	return Value{}
}

// plusConstant is v + k, where an unknown v makes the constant the start of a table.
func (v Value) plusConstant(k int64) Value {
	if v.Kind == Unknown {
		return Value{Kind: TableAddress, Off: k}
	}
	return v.Plus(k)
}

// minus is a - b<<scale.
func (v Value) minus(b Value, scale uint8) Value {
	switch {
	case b.Kind == Constant:
		return v.Plus(-(b.Off << scale))
	case v.Kind == StartRelative && b.Kind == StartRelative && v.Base == b.Base && scale == 0:
		return Const(v.Off - b.Off)
	}
	return Value{}
}

// Join is what holds on both of two paths.
func (v Value) Join(o Value) Value {
	if v == o {
		return v
	}
	return Value{}
}

// truncate keeps 32 bits of a constant, sign-extended as 32-bit results are on 64-bit
// MIPS and RISC-V. Of other values that width keeps an address only where addresses
// have 32 bits (n32 is one of these ABIs).
func (v Value) truncate(addrSize int) Value {
	switch {
	case v.Kind == Constant:
		return Const(int64(int32(v.Off)))
	case addrSize == 4 || v.Kind == TableElement:
		return v
	}
	return Value{}
}

// Insert is v with 16 bits replaced: movk, movt.
func (v Value) Insert(in *cpu.Insn) Value {
	if v.Kind != Constant {
		return Value{}
	}
	return Const(v.Off&^(0xffff<<in.Scale) | in.Imm<<in.Scale)
}

// Signed is an address as a register holds it: sign-extended from 32 bits where
// addresses have 32.
func Signed(a uint64, arch *cpu.Arch) int64 {
	if arch.AddrSize == 4 {
		return int64(int32(a))
	}
	return int64(a)
}
