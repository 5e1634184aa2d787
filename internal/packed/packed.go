// Package packed keeps rules small: in 16 bytes, for caches and tables. Its Rule says what
// nearly all rules of compiled code say.
package packed

import (
	"encoding/binary"
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind/rule"
)

// Rule is a rule.Rule in 16 bytes, flags not included:
//
//	CFA = reg + off  or  mem[reg + off]
//	RA  = mem[CFA + …]  or  the link register
//	any of up to 13 values, RA among them, = mem[CFA + …], all within 15 words
//	any of these but RA is lost
//
// The slot of a value lies anchor − n words above the CFA, n being the value's
// nibble: in slots, that of the thirteenth in form (RISC-V saves ra and s0 to s11).
// The nibble 15 marks a register that the function overwrites and never restores, as
// what calls main does. Where the CFA is loaded, all values but RA may lie around that
// word instead: i386's main saves esp beside them and aligns esp. Of reports the rules
// that do not fit.
type Rule struct {
	off   int32   // of the CFA
	base  cpu.Reg // of the CFA, NoReg: there is no caller
	form  form    // bits 4–7: the thirteenth nibble
	saved uint16  // bit 0: RA; bit i: the ABI's i-th preserved register
	slots uint64  // bits 0–47: a nibble for each bit of saved; 48–63: anchor, signed
}

// form says which variant of the formulas holds.
type form uint8

const (
	formLoad   form = 1 << iota // CFA = mem[reg + off]
	formLink                    // RA = the link register
	formBeside                  // slots, but not RA's, lie anchor − n words above reg + off
	formSigned                  // RA carries a pointer authentication code
)

const (
	maxSlots   = 13
	anchorBits = 48
	lost       = 15 // a nibble
)

// End is the rule of an outermost frame.
func End() Rule { return Rule{base: cpu.NoReg} }

// Ends tells whether p is the rule of an outermost frame.
func (p *Rule) Ends() bool { return p.base == cpu.NoReg }

// CFA is reg + off. With loaded, the CFA is not that, but the word in memory there.
func (p *Rule) CFA() (reg cpu.Reg, off uint64, loaded bool) {
	return p.base, uint64(int64(p.off)), p.form&formLoad != 0
}

// SavesRA tells whether the return address is in memory, at the CFA plus RA(size), size
// being that of a word; else it is in the link register.
func (p *Rule) SavesRA() bool { return p.saved&1 != 0 }

// RA is where the return address is, from the CFA.
func (p *Rule) RA(size uint64) uint64 { return uint64(p.anchor()-int64(p.slots&15)) * size }

// SignedRA tells whether the return address carries a pointer authentication code.
func (p *Rule) SignedRA() bool { return p.form&formSigned != 0 }

// Saves tells whether p has a slot for the ABI's i-th preserved register, from 1, or says
// that its value is lost; else the register keeps its value.
func (p *Rule) Saves(i int) bool { return p.saved>>i&1 != 0 }

// Slot is where the i-th preserved register, which p saves, lies: from the CFA, or with
// Beside from where the CFA was loaded. It reports false where the value is lost.
func (p *Rule) Slot(i, size int) (off uint64, ok bool) {
	n := p.nibbles() >> (4 * bits.OnesCount16(p.saved&(1<<i-1))) & 15
	return uint64((p.anchor() - int64(n)) * int64(size)), n != lost
}

// Beside tells whether slots lie beside the word that the CFA is loaded from.
func (p *Rule) Beside() bool { return p.form&formBeside != 0 }

// Of returns the packed form of r. It reports false where there is none.
func Of(arch *cpu.Arch, r *rule.Rule) (Rule, bool) {
	if r.RA.Kind == rule.Undefined {
		return End(), true
	}
	p := packer{arch: arch, rule: r}
	ok := r.Flags&rule.SignalFrame == 0 && p.cfa() && p.ra() && p.registers() && p.layOut()
	return p.out, ok
}

// Row is a rule as sources list it for a table.
type Row struct {
	Rule  Rule
	Packs bool // else Rule cannot say it
	Flags rule.Flags
	Start uint64 // see rule.Rule
}

// packer collects the slots of a rule before they are laid out.
type packer struct {
	arch  *cpu.Arch
	rule  *rule.Rule
	out   Rule
	words [16]int64 // slots of the values in out.saved, in words from the CFA, or from its slot
	// Three parts of out.saved: the values that are lost, the values whose slots are
	// relative to the CFA, and those relative to the slot that the CFA is loaded from.
	gone, above, beside uint16
}

func (p *packer) cfa() bool {
	c := &p.rule.CFA
	switch {
	case c.Kind == rule.AtReg && c.Add == 0:
		p.out.form |= formLoad
	case c.Kind != rule.RegPlus:
		return false
	}
	p.out.base, p.out.off = c.Base, int32(c.Off)
	return int64(p.out.off) == c.Off && c.Base < cpu.MaxRegs
}

func (p *packer) ra() bool {
	if p.rule.Flags&rule.SignedRA != 0 {
		p.out.form |= formSigned
	}
	r := &p.rule.RA
	if r.Kind == rule.RegPlus && r.Base == p.arch.LR && r.Off == 0 {
		p.out.form |= formLink
		return true
	}
	return p.save(0, r)
}

func (p *packer) registers() bool {
	for i := range p.rule.N {
		r := &p.rule.Regs[i]
		switch {
		case r.Reg == p.arch.SP && r.Kind == rule.CFAPlus && r.Off == 0:
		case !p.arch.Preserved.Has(r.Reg):
			return false
		case r.Kind == rule.SameValue, r.Kind == rule.Unspecified, r.Kind == rule.RegPlus && r.Base == r.Reg && r.Off == 0:
		default:
			index := bits.OnesCount64(uint64(p.arch.Preserved)&(1<<r.Reg-1)) + 1
			if index >= 16 || !p.save(index, r) && !p.lose(index, r) {
				return false
			}
		}
	}
	return true
}

// save notes the slot of a value. Code analysis names slots by the register that
// they were seen through; that is the CFA's, a constant apart.
func (p *packer) save(index int, r *rule.Register) bool {
	off, cfa, of := r.Off, &p.rule.CFA, &p.above
	switch {
	case r.Kind == rule.AtCFA:
	case r.Kind != rule.AtReg || r.Base != cfa.Base || r.Add != 0:
		return false
	case cfa.Kind == rule.AtReg:
		of = &p.beside
		fallthrough
	default:
		off -= cfa.Off
	}
	size := p.arch.RegSize // a power of two
	p.out.saved |= 1 << index
	*of |= 1 << index
	p.words[index] = off >> bits.TrailingZeros(uint(size))
	return off&int64(size-1) == 0
}

// lose notes that nothing has a register's value.
func (p *packer) lose(index int, r *rule.Register) bool {
	p.out.saved |= 1 << index
	p.gone |= 1 << index
	return r.Kind == rule.Undefined
}

// layOut puts the anchor on the highest slot.
func (p *packer) layOut() bool {
	if p.beside != 0 {
		p.out.form |= formBeside
		if p.beside&1 != 0 || p.above&^1 != 0 {
			return false
		}
	}
	if p.out.saved == 0 {
		return true
	}
	anchor, n := int64(-1<<15), 0
	for s := p.out.saved &^ p.gone; s != 0; s &= s - 1 {
		anchor = max(anchor, p.words[bits.TrailingZeros16(s)])
	}
	for s := p.out.saved; s != 0; s &= s - 1 {
		i := bits.TrailingZeros16(s)
		d := anchor - p.words[i]
		if p.gone>>i&1 != 0 {
			d = lost
		} else if d >= lost {
			return false
		}
		if n == maxSlots {
			return false
		}
		if 4*n < anchorBits {
			p.out.slots |= uint64(d) << (4 * n)
		} else {
			p.out.form |= form(d) << 4
		}
		n++
	}
	p.out.slots |= uint64(anchor) << anchorBits
	return int64(int16(anchor)) == anchor
}

// Size is the size of a Rule in a file.
const Size = 16

// Append appends p as files have it: little-endian.
func (p Rule) Append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(p.off))
	b = append(b, byte(p.base), byte(p.form))
	b = binary.LittleEndian.AppendUint16(b, p.saved)
	return binary.LittleEndian.AppendUint64(b, p.slots)
}

// Read reads what Append wrote. Any bytes are a rule, if not a sensible one.
func Read(b *[Size]byte) Rule {
	return Rule{
		off:  int32(binary.LittleEndian.Uint32(b[0:])),
		base: cpu.Reg(b[4]), form: form(b[5]),
		saved: binary.LittleEndian.Uint16(b[6:]), slots: binary.LittleEndian.Uint64(b[8:]),
	}
}

// Hash mixes p's bits, the uppermost best.
func (p *Rule) Hash() uint64 {
	const factor = 0x9e37_79b9_7f4a_7c15 // 2⁶⁴/φ
	h := uint64(uint32(p.off)) | uint64(p.base)<<32 | uint64(p.form)<<40 | uint64(p.saved)<<48
	return (h*factor ^ p.slots) * factor
}

// nibbles are those of all values, the first in the lowest bits.
func (p *Rule) nibbles() uint64 {
	return p.slots&(1<<anchorBits-1) | uint64(p.form>>4)<<anchorBits
}

// anchor is where the highest slot is, in words from the CFA.
func (p *Rule) anchor() int64 { return int64(p.slots) >> anchorBits }

// Unpack writes the rule out in full.
func (p Rule) Unpack(arch *cpu.Arch, out *rule.Rule) {
	out.Reset()
	if p.Ends() {
		out.RA.Kind = rule.Undefined
		return
	}
	out.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: p.base, Off: int64(p.off)}
	if p.form&formLoad != 0 {
		out.CFA.Kind = rule.AtReg
	}
	if p.form&formSigned != 0 {
		out.Flags |= rule.SignedRA
	}
	if p.form&formLink != 0 {
		out.RA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	}
	anchor, slots := p.anchor(), p.nibbles()
	index := 1
	if p.saved&1 != 0 {
		out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: (anchor - int64(slots&15)) * int64(arch.RegSize)}
		slots >>= 4
	}
	for set := arch.Preserved; set != 0 && index < 16; set = set.Without(set.First()) {
		if p.saved>>index&1 != 0 {
			r := out.Next(set.First())
			switch off := (anchor - int64(slots&15)) * int64(arch.RegSize); {
			case slots&15 == lost:
				r.Kind = rule.Undefined
			case p.form&formBeside != 0:
				r.Kind, r.Base, r.Off = rule.AtReg, p.base, int64(p.off)+off
			default:
				r.Kind, r.Off = rule.AtCFA, off
			}
			slots >>= 4
		}
		index++
	}
}
