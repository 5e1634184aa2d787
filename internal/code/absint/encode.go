package absint

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// Encoded is a State that is kept: some dozen bytes instead of 700. What is encoded, in
// this order:
//
//	registers of the CPU                    their number
//	registers of which nothing is known     a set
//	registers that hold something else      a set, and their values
//	than at the start
//	slots                                   their number; of each the base, the size and
//	                                        whether it is released, the offset, the value
//	Limit, Slack
//
// Numbers are of variable length, as in encoding/binary.
type Encoded string

// The value of a register at the start begins with one of these and the number of the
// register; an offset follows behind startPlus. Other values begin with their Kind and
// Base.
const (
	startPlus = 0x80
	justStart = 0xc0
)

// changed are the registers that do not hold what they held at the start.
func changed(regs []Value) (unknown, other cpu.RegSet) {
	for r := range regs {
		v, bit := &regs[r], cpu.RegSet(1)<<r
		if v.Kind == Unknown {
			unknown |= bit
		} else if v.Kind != StartRelative || v.Base != Base(r) || v.Off != 0 {
			other |= bit
		}
	}
	return unknown, other
}

// AppendEncoded appends the encoding of a state.
func AppendEncoded(b []byte, s *State) []byte {
	unknown, other := changed(s.Regs[:s.n])
	b = binary.AppendUvarint(append(b, byte(s.n)), uint64(unknown))
	b = binary.AppendUvarint(b, uint64(other))
	for ; other != 0; other &= other - 1 {
		b = s.Regs[other.First()].append(b)
	}
	b = append(b, byte(len(s.Slots)))
	for i := range s.Slots {
		sl := &s.Slots[i]
		size := uint64(sl.Size) << 1
		if sl.released {
			size |= 1
		}
		b = binary.AppendUvarint(append(b, byte(sl.Base)), size)
		b = binary.AppendVarint(b, sl.Off)
		b = sl.Val.append(b)
	}
	b = binary.AppendVarint(b, s.Limit)
	return binary.AppendVarint(b, s.Slack)
}

func (v *Value) append(b []byte) []byte {
	if v.Kind == StartRelative && v.OfRegister() {
		if v.Off == 0 {
			return append(b, justStart|byte(v.Base))
		}
		return binary.AppendVarint(append(b, startPlus|byte(v.Base)), v.Off)
	}
	b = binary.AppendVarint(append(b, byte(v.Kind), byte(v.Base)), v.Off)
	if v.Kind == StartMemory {
		b = binary.AppendVarint(b, int64(v.Add))
	}
	return b
}

// Decode makes s the state that was encoded.
func (e Encoded) Decode(s *State) {
	d := decoder{e: e}
	s.n = int(d.byte())
	unknown, other := cpu.RegSet(d.unsigned()), cpu.RegSet(d.unsigned())
	for r := range s.Regs[:s.n] {
		s.Regs[r] = StartOf(cpu.Reg(r))
	}
	for ; unknown != 0; unknown &= unknown - 1 {
		s.Regs[unknown.First()] = Value{}
	}
	for ; other != 0; other &= other - 1 {
		s.Regs[other.First()] = d.value()
	}
	s.Slots = s.Slots[:0]
	for range d.byte() {
		s.Slots = append(s.Slots, d.slot())
	}
	s.Limit, s.Slack = d.signed(), d.signed()
}

// AppendJoin appends the encoding of what holds both in e and in s, and tells whether that
// is less than e. s is of the same CPU.
func (e Encoded) AppendJoin(b []byte, s *State) (joined []byte, less bool) {
	d := decoder{e: e, at: 1}
	unknown, other := cpu.RegSet(d.unsigned()), cpu.RegSet(d.unsigned())
	unknownToo, otherToo := changed(s.Regs[:s.n])
	lost := (unknownToo | otherToo) &^ (unknown | other)
	values := d.at
	for set := other; set != 0; set &= set - 1 {
		if r := set.First(); s.Regs[r] != d.value() {
			lost |= 1 << r
		}
	}
	b = binary.AppendUvarint(append(b, e[0]), uint64(unknown|lost))
	b = binary.AppendUvarint(b, uint64(other&^lost))
	b = e.appendValues(b, values, other, lost)
	number, slots := len(b), d.byte()
	b = append(b, slots)
	for i := range int(slots) {
		from := d.at
		if sl := d.slot(); i < len(s.Slots) && sl.same(&s.Slots[i]) && sl.Val == s.Slots[i].Val || s.slotValue(&sl) == sl.Val {
			b = append(b, e[from:d.at]...)
		} else {
			b[number]--
		}
	}
	limit := d.signed()
	less = lost != 0 || b[number] != slots || limit != 0 && limit != s.Limit
	if limit != s.Limit {
		limit = 0
	}
	return append(binary.AppendVarint(b, limit), e[d.at:]...), less
}

// appendValues copies the values of registers, which begin at an index, but not those that
// are lost.
func (e Encoded) appendValues(b []byte, at int, other, lost cpu.RegSet) []byte {
	d := decoder{e: e, at: at}
	for ; other != 0; other &= other - 1 {
		from := d.at
		if d.value(); !lost.Has(other.First()) {
			b = append(b, e[from:d.at]...)
		}
	}
	return b
}

// decoder reads an encoding.
type decoder struct {
	e  Encoded
	at int
}

func (d *decoder) byte() byte {
	d.at++
	return d.e[d.at-1]
}

func (d *decoder) unsigned() uint64 {
	b := d.e[d.at]
	d.at++
	if b < 0x80 {
		return uint64(b)
	}
	return d.more(uint64(b & 0x7f))
}

// more reads what follows the first byte of a number, which had the lowest bits.
func (d *decoder) more(v uint64) uint64 {
	for shift := 7; ; shift += 7 {
		b := d.byte()
		if v |= uint64(b&0x7f) << shift; b < 0x80 {
			return v
		}
	}
}

func (d *decoder) signed() int64 {
	v := d.unsigned()
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) value() (v Value) {
	kind := d.byte()
	switch {
	case kind >= justStart:
		return StartOf(cpu.Reg(kind - justStart))
	case kind >= startPlus:
		return Value{Kind: StartRelative, Base: Base(kind - startPlus), Off: d.signed()}
	}
	v.Kind, v.Base, v.Off = Kind(kind), Base(d.byte()), d.signed()
	if v.Kind == StartMemory {
		v.Add = int32(d.signed())
	}
	return v
}

func (d *decoder) slot() (s Slot) {
	s.Base = Base(d.byte())
	size := d.unsigned()
	s.Size, s.released, s.Off, s.Val = uint8(size>>1), size&1 != 0, d.signed(), d.value()
	return s
}
