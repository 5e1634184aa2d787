package device

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/tables"
)

// ruleNumber says what a row holds: a form and the low part of the CFA's offset.
type ruleNumber struct {
	form form
	low  uint8
}

// form is what a rule says but for the low part of the CFA's offset, as tables have it.
type form struct {
	base  uint8 // with the flags
	ra    int8
	high  int16
	saved [maxTracked]int8
}

// The flags of form.base.
const (
	baseBits  = 0x0f
	flagLoad  = 0x10 // the CFA is loaded from base + offset
	flagSign  = 0x20 // the return address is signed
	flagRAReg = 0x40 // form.ra is a register, not a slot
	flagBelow = 0x80 // slots are relative to the base register
)

// The values of form.ra where there is no return address.
const (
	raUnknown = -128 // nothing is known
	raEnds    = -127 // there is no caller
)

// What form.saved says beside a slot.
const (
	savedKept = -128
	savedLost = 127
)

// ruleOf is how tables say a frame. Slots are preferred, because most frames have one.
func ruleOf(f *frame) ruleNumber {
	switch f.kind {
	case unknown:
		return ruleNumber{form: form{ra: raUnknown}}
	case outermost:
		return ruleNumber{form: form{ra: raEnds}}
	}
	r := ruleNumber{form{base: uint8(f.base), high: int16(f.off >> 8)}, uint8(f.off)}
	if f.loaded {
		r.form.base |= flagLoad
	}
	if f.signed {
		r.form.base |= flagSign
	}
	from := f.anchor()
	if from != 0 {
		r.form.base |= flagBelow
	}
	r.form.ra = int8(f.ra.slot + from)
	if f.ra.slot == none {
		r.form.base |= flagRAReg
		r.form.ra = f.ra.reg
	}
	for i := range r.form.saved {
		r.form.saved[i] = savedOf(f.saved[i], from)
	}
	return r
}

// anchor is how many words the slots' origin in the form lies below the CFA. AArch64 saves
// the return address at the bottom of a frame: relative to the stack pointer its slot is the
// same in frames of all sizes.
func (f *frame) anchor() int32 {
	if ra := f.ra.slot; ra != none && !f.loaded && 0 <= ra+f.off && ra+f.off < -ra {
		return f.off
	}
	return 0
}

// savedOf is how forms say where a tracked register is.
func savedOf(v value, from int32) int8 {
	switch slot := v.slot + from; {
	case v.slot != none && within(int64(slot)):
		return int8(slot)
	case v.reg == keeps:
		return savedKept
	}
	return savedLost
}

// Limits of the form.
const (
	maxRules  = 31 * 256
	maxForms  = 256
	maxBlocks = 1<<16 - 1
)

// Encode writes the table of a program. What the form cannot say is unknown in the table, and is
// returned. The error says that the program's machine has no device tables, or that the program
// is too large for one.
func Encode(p *tables.Program) ([]byte, []tables.Refusal, error) {
	if registersOf(p.Image.Arch) == nil || p.Image.Arch.Decoder == nil {
		return nil, nil, fmt.Errorf("no device table for %s", p.Image.Arch)
	}
	tracked, rare := trackedBy(p)
	best, err := encodeTracking(p, tracked)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rare[:min(len(rare), maxRare, maxTracked-len(best.tracked))] {
		with, err := encodeTracking(p, append(slices.Clone(best.tracked), r))
		affordable := len(with.table)-len(best.table) <= len(best.table)/cheap || uint64(len(with.table)) <= codeOf(p)/small
		if err == nil && affordable && len(with.tracked) > len(best.tracked) {
			best = with
		}
	}
	return best.table, best.refused, nil
}

// Where a register that few frames are found by makes the table larger by one part in so many at
// most, it is tracked: main of a program for i386 that realigns its stack is found by ebx, and is on
// every stack. So it is where the table still is a small part of the code: MIPS16 functions of variable
// frames are found by s1, and a C library of MIPS32 code around them has none. Each is tried, the ones that
// most code needs.
const cheap, small, maxRare = 16, 40, 2

// codeOf is the size of all functions, in bytes.
func codeOf(p *tables.Program) (size uint64) {
	for i := range p.Functions {
		size += p.Functions[i].End - p.Functions[i].Start
	}
	return size
}

// written is a table with the registers that it tracks.
type written struct {
	table   []byte
	tracked []cpu.Reg
	refused []tables.Refusal
}

// encodeTracking writes the table with some registers tracked, the last of which are given up where
// there would be too many rules.
func encodeTracking(p *tables.Program, tracked []cpu.Reg) (written, error) {
	for {
		l := list(p, newFramer(p, tracked))
		unit := unitOf(p)
		e := &encoder{program: p, tracked: tracked, unit: unit, rows: merged(aligned(p, l.rows, unit))}
		e.number()
		if (len(e.forms) > maxForms || len(e.rules) > maxRules) && len(tracked) > 0 {
			tracked = tracked[:len(tracked)-1] // frames found by the rarest are given up
			continue
		}
		b, err := e.encode()
		return written{b, tracked, l.refused}, err
	}
}

type encoder struct {
	program *tables.Program
	tracked []cpu.Reg
	unit    uint64
	rows    []row
	of      []int // rule of each row
	rules   []ruleNumber
	forms   []form
}

// number numbers the rules, that of most rows first, and their forms in the order of the rules.
func (e *encoder) number() {
	counts := map[ruleNumber]int{}
	each := make([]ruleNumber, len(e.rows))
	for i := range e.rows {
		each[i] = ruleOf(&e.rows[i].frame)
		if counts[each[i]]++; counts[each[i]] == 1 {
			e.rules = append(e.rules, each[i])
		}
	}
	slices.SortStableFunc(e.rules, func(a, b ruleNumber) int { return cmp.Compare(counts[b], counts[a]) })
	numbers, forms := map[ruleNumber]int{}, map[form]bool{}
	for i, r := range e.rules {
		numbers[r] = i
		if !forms[r.form] {
			forms[r.form] = true
			e.forms = append(e.forms, r.form)
		}
	}
	for _, r := range each {
		e.of = append(e.of, numbers[r])
	}
}

// encode lays the table out.
func (e *encoder) encode() ([]byte, error) {
	if len(e.rows) == 0 {
		return nil, errors.New("no rules to write")
	}
	base := e.rows[0].lo
	units := (e.rows[len(e.rows)-1].hi - base + e.unit - 1) / e.unit
	w := packer{rules: len(e.rules)}
	for i := range e.rows {
		r := &e.rows[i]
		w.row((r.lo-base)/e.unit, (r.hi-r.lo+e.unit-1)/e.unit, e.of[i])
	}
	if len(e.rules) > maxRules || len(e.forms) > maxForms || len(w.starts) > maxBlocks || units > 1<<32-1 {
		return nil, fmt.Errorf("%d rules of %d forms in %d blocks are more than a device table holds", len(e.rules), len(e.forms), len(w.starts))
	}
	h := header{base: base, units: uint32(units), pages: int(units>>pageShift) + 1, blocks: len(w.starts), rules: len(e.rules), forms: len(e.forms)}
	b := e.head(h)
	b = append(b, w.index(h.pages)...)
	for _, r := range e.rules {
		b = append(b, byte(slices.Index(e.forms, r.form)), r.low)
	}
	for _, f := range e.forms {
		b = append(b, byte(f.base), byte(f.ra), byte(f.high), byte(f.high>>8))
		for i := range e.tracked {
			b = append(b, byte(f.saved[i]))
		}
	}
	b = append(b, w.stream...)
	seal(b)
	return b, nil
}

// seal writes a table's size and checksum.
func seal(b []byte) {
	binary.LittleEndian.PutUint32(b[sizeAt:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b[sumAt:], crc32.ChecksumIEEE(b[sumAt+4:]))
}

// head writes the header.
func (e *encoder) head(h header) []byte {
	arch := e.program.Image.Arch
	b := make([]byte, headerSize)
	copy(b, magic)
	binary.LittleEndian.PutUint16(b[machineAt:], arch.ELF.Machine)
	b[shapeAt] = log2(e.unit) | log2(uint64(arch.RegSize))<<2
	if arch.BigEndian {
		b[shapeAt] |= 1 << 4
	}
	b[trackedAt] = byte(len(e.tracked))
	for i, r := range e.tracked {
		b[trackedAt+1+i] = byte(slices.Index(registersOf(arch), r))
	}
	for i, n := range []int{h.pages, h.blocks, h.rules, h.forms} {
		binary.LittleEndian.PutUint16(b[countsAt+2*i:], uint16(n))
	}
	binary.LittleEndian.PutUint64(b[baseAt:], h.base)
	binary.LittleEndian.PutUint32(b[unitsAt:], h.units)
	code := e.program.Image.Segments.Code(h.base)
	code = code[:min(uint64(len(code)), uint64(h.units)*e.unit)]
	binary.LittleEndian.PutUint64(b[codeAt:], h.base)
	binary.LittleEndian.PutUint32(b[codeAt+8:], uint32(len(code)))
	binary.LittleEndian.PutUint32(b[codeAt+12:], crc32.ChecksumIEEE(code))
	id := e.program.Image.Identity()
	b[identityAt] = byte(copy(b[identityAt+1:identityAt+1+maxIdentity], id))
	return b
}

func log2(n uint64) (l byte) {
	for ; n > 1; n >>= 1 {
		l++
	}
	return l
}
