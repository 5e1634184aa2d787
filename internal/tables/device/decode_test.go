package device

import (
	"encoding/binary"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind/rule"
)

// Table is a device table, as tests read it.
type Table struct {
	arch     *cpu.Arch
	head     header
	unit     uint
	tracked  []cpu.Reg
	identity []byte
	parts    struct{ pages, starts, rules, forms, stream []byte }
}

// decode reads a table that Encode wrote: the reader in C is `device/backsight.c`.
func decode(b []byte, arch *cpu.Arch) *Table {
	t := &Table{arch: arch, unit: uint(b[shapeAt] & 3)}
	t.head = header{binary.LittleEndian.Uint64(b[baseAt:]), binary.LittleEndian.Uint32(b[unitsAt:]), 0, 0, 0, 0}
	for i, n := range []*int{&t.head.pages, &t.head.blocks, &t.head.rules, &t.head.forms} {
		*n = int(binary.LittleEndian.Uint16(b[countsAt+2*i:]))
	}
	for _, r := range b[trackedAt+1:][:b[trackedAt]] {
		t.tracked = append(t.tracked, registersOf(arch)[r])
	}
	t.identity = b[identityAt+1:][:b[identityAt]]
	at := headerSize
	sizes := []int{2 * (t.head.pages + 1), 2 * t.head.blocks, 2 * t.head.rules, (4 + len(t.tracked)) * t.head.forms}
	for i, part := range []*[]byte{&t.parts.pages, &t.parts.starts, &t.parts.rules, &t.parts.forms} {
		*part, at = b[at:at+sizes[i]], at+sizes[i]
	}
	t.parts.stream = b[at:]
	return t
}

// Lookup writes the rule at an image address. It reports false where none is known.
func (t *Table) Lookup(pc uint64, out *rule.Rule) bool {
	n, ok := t.row(pc)
	if !ok || n >= t.head.rules {
		return false
	}
	f := (4 + len(t.tracked)) * int(t.parts.rules[2*n])
	if f >= len(t.parts.forms) {
		return false
	}
	return t.unpack(t.parts.forms[f:][:4+len(t.tracked)], t.parts.rules[2*n+1], out)
}

// row is the number of the rule at an address.
func (t *Table) row(pc uint64) (int, bool) {
	unit := (pc - t.head.base) >> t.unit
	if pc < t.head.base || unit >= uint64(t.head.units) || unit>>pageShift >= uint64(t.head.pages) {
		return 0, false
	}
	page := int(unit >> pageShift)
	lo, hi := t.page(page), t.page(page+1)
	for hi = min(hi, t.head.blocks); lo < hi; {
		if mid := (lo + hi) / 2; uint64(binary.LittleEndian.Uint16(t.parts.starts[2*mid:])) <= unit&(1<<pageShift-1) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	block := lo - 1
	for page > 0 && t.page(page) > block {
		page--
	}
	if block < 0 || block >= t.head.blocks {
		return 0, false
	}
	start := uint64(page)<<pageShift | uint64(binary.LittleEndian.Uint16(t.parts.starts[2*block:]))
	return scan(t.parts.stream[block*blockSize:min((block+1)*blockSize, len(t.parts.stream))], unit-start)
}

func (t *Table) page(i int) int { return int(binary.LittleEndian.Uint16(t.parts.pages[2*i:])) }

// scan reads the rows of a block up to the one that holds some units behind the block's start.
func scan(b []byte, units uint64) (int, bool) {
	var r recent
	r.start()
	next := func() (v int) {
		if len(b) > 0 {
			v, b = int(b[0]), b[1:]
		}
		return v
	}
	for len(b) > 0 {
		c := next()
		i := c >> lengthBits
		number := 0
		if i < explicit {
			number = r[1+i]
		} else if number = next(); number >= farRule {
			number = (number-farRule)<<8 | next()
		}
		r.take(i, number)
		n := c&longRow + 1
		if n > longRow {
			if e := next(); e < longerRow {
				n += e
			} else {
				n += e + next()
				n += next() << 8
			}
		}
		if units < uint64(n) {
			return number, true
		}
		units -= uint64(n)
	}
	return 0, false
}

// unpack writes a rule out.
func (t *Table) unpack(f []byte, low uint8, out *rule.Rule) bool {
	out.Reset()
	base, word := f[0], int64(t.arch.RegSize)
	switch int8(f[1]) {
	case raUnknown:
		return false
	case raEnds:
		out.RA.Kind = rule.Undefined
		return true
	}
	regs := registersOf(t.arch)
	if int(base&baseBits) >= len(regs) {
		return false
	}
	off := int64(int16(binary.LittleEndian.Uint16(f[2:])))<<8 | int64(low)
	out.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: regs[base&baseBits], Off: off * word}
	if base&flagLoad != 0 {
		out.CFA.Kind = rule.AtReg
	}
	if base&flagSign != 0 {
		out.Flags |= rule.SignedRA
	}
	from := int64(0)
	if base&flagBelow != 0 {
		from = off
	}
	out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: (int64(int8(f[1])) - from) * word}
	if base&flagRAReg != 0 {
		if int(f[1]) >= len(regs) {
			return false
		}
		out.RA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: regs[f[1]]}
	}
	for i, r := range t.tracked {
		switch slot := int8(f[4+i]); slot {
		case savedKept:
			out.Add(rule.Register{Kind: rule.SameValue, Reg: r, Base: cpu.NoReg})
		case savedLost:
			out.Add(rule.Register{Kind: rule.Undefined, Reg: r, Base: cpu.NoReg})
		default:
			out.Add(rule.Register{Kind: rule.AtCFA, Reg: r, Base: cpu.NoReg, Off: (int64(slot) - from) * word})
		}
	}
	return true
}
