package code

import "github.com/backsight/backsight/cpu"

// kind of an abstract value.
type kind uint8

const (
	unknown kind = iota
	// konst is the number off.
	konst
	// addr is base + off, where base is a register's value at the start of the
	// analysis (function entry, or the PC) or a symbol: a value that nothing more
	// is known of, such as SP behind an alignment mask.
	addr
	// contents is mem[base + off] as it was at the start, plus add.
	contents
	// indexed is the constant off plus an unknown index: the address of a table's
	// element.
	indexed
	// table is an element of tables[off], as loaded or moved on the way to a jump.
	table
	// otherStack is SP when it was loaded or moved in from elsewhere.
	otherStack
)

// base names a start value: a register below cpu.MaxRegs, else a symbol.
type base uint8

const firstSymbol base = base(cpu.MaxRegs)

// value is what is known of a register or a stack slot.
type value struct {
	kind kind
	base base
	add  int32
	off  int64
}

func constant(k int64) value { return value{kind: konst, off: k} }

// stored marks, as the base of a constant, one that the file holds in writable
// memory: what the program found there may be another (a GOT entry, a function
// pointer that it set).
const stored base = 1

func startOf(r cpu.Reg) value { return value{kind: addr, base: base(r)} }

// isStart tells whether v is register r's value at the start, unchanged.
func (v value) isStart(r cpu.Reg) bool { return v == startOf(r) }

// plus is v + k.
func (v value) plus(k int64) value {
	switch v.kind {
	case konst, addr, indexed:
		v.off += k
		return v
	case contents:
		if n := int64(v.add) + k; n == int64(int32(n)) {
			v.add = int32(n)
			return v
		}
	}
	if k == 0 {
		return v
	}
	return value{}
}

// join is what holds on both of two paths.
func (v value) join(o value) value {
	if v == o {
		return v
	}
	return value{}
}

// truncate keeps 32 bits of a constant, sign-extended as 32-bit results are on
// 64-bit MIPS and RISC-V; anything else of that width is an address only where
// addresses have 32 bits (n32 among them).
func (v value) truncate(addrSize int) value {
	switch {
	case v.kind == konst:
		return constant(int64(int32(v.off)))
	case addrSize == 4 || v.kind == table:
		return v
	}
	return value{}
}
