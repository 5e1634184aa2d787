//go:build !small

package symbol

import (
	"debug/dwarf"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// values are a value of each form, by the sizes of a unit.
func values(s formSizes, order binary.AppendByteOrder) map[uint64][]byte {
	n := func(size int) []byte { return make([]byte, size) }
	size := func(prefix []byte, n int) []byte { return append(prefix, make([]byte, n)...) }
	refAddr := s.offset
	if s.version <= 2 {
		refAddr = s.addr
	}
	return map[uint64][]byte{
		formAddr: n(s.addr), formBlock2: size(order.AppendUint16(nil, 300), 300), formBlock4: size(order.AppendUint32(nil, 5), 5), formData2: n(2), formData4: n(4),
		formData8: n(8), formString: []byte("text\x00"), formBlock: size([]byte{0x82, 0x01}, 130), formBlock1: size([]byte{7}, 7), formData1: n(1), formFlag: n(1),
		formSdata: {0x80, 0x7f}, formStrp: n(s.offset), formUdata: {0xff, 0x01}, formRefAddr: n(refAddr), formRef1: n(1), formRef2: n(2), formRef4: n(4), formRef8: n(8),
		formRefUdata: {0x80, 0x00}, formIndirect: {formBlock1, 2, 0, 0}, formSecOffset: n(s.offset), formExprloc: size([]byte{3}, 3), formFlagPresent: nil,
		formStrx: {0x80, 0x01}, formAddrx: {5}, formRefSup4: n(4), formStrpSup: n(s.offset), formData16: n(16), formLineStrp: n(s.offset), formRefSig8: n(8),
		formLoclistx: {0x81, 0x00}, formRnglistx: {1}, formRefSup8: n(8), formStrx1: n(1), formStrx2: n(2), formStrx3: n(3), formStrx4: n(4),
		formAddrx1: n(1), formAddrx2: n(2), formAddrx3: n(3), formAddrx4: n(4), formRefAlt: n(s.offset), formStrpAlt: n(s.offset),
	}
}

// outlined is a unit with these entries, its .debug_info and the budgets that it is read with.
func outlined(s formSizes, order binary.AppendByteOrder, abbrev, entries []byte) *outline {
	body := order.AppendUint16(nil, uint16(s.version))
	offset := make([]byte, s.offset)
	if s.version >= 5 {
		body = append(append(body, utCompile, byte(s.addr)), offset...)
	} else {
		body = append(append(body, offset...), byte(s.addr))
	}
	var info []byte
	if s.offset == 8 {
		info = order.AppendUint64([]byte{0xff, 0xff, 0xff, 0xff}, uint64(len(body)+len(entries)))
	} else {
		info = order.AppendUint32(nil, uint32(len(body)+len(entries)))
	}
	u := &unit{die: dwarf.Offset(len(info) + len(body)), abbrev: abbrev}
	u.info = append(append(info, body...), entries...)
	u.size = uint64(len(u.info))
	img := image.New(image.Header{Arch: &cpu.Arch{BigEndian: bin.Uint(order.AppendUint16(nil, 1), true) == 1}}, nil)
	d := newDebugInfo(img, u.size, nil)
	return unitReader{u, d}.outline(&walker{d: d, unit: budget.New("entries", 1024, 0)})
}

// TestOutline: behind a value of each form, in each kind of unit, the next entry is found.
func TestOutline(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, s := range []formSizes{{2, 4, 4}, {2, 8, 4}, {3, 4, 8}, {4, 8, 4}, {5, 8, 4}, {5, 4, 8}} {
			for form, value := range values(s, order) {
				t.Run(fmt.Sprintf("%v %+v form %#x", order, s, form), func(t *testing.T) {
					abbrev := binary.AppendUvarint([]byte{1, 0x11, 1, 0x1c}, form)
					abbrev = append(abbrev, 0, 0, 9, 0x2e, 0, 0x11, 0x0b, 0, 0, 0) // 9: a function with DW_AT_low_pc
					o := outlined(s, order, abbrev, append(append([]byte{1}, value...), 9, 0, 0))
					if !o.next() || o.shape.tag != dwarf.TagCompileUnit || o.shape.placed {
						t.Fatalf("the unit's entry: %+v", o.shape)
					}
					if want := o.at + 1 + dwarf.Offset(len(value)); !o.next() || o.at != want || o.shape.tag != dwarf.TagSubprogram || !o.shape.placed {
						t.Fatalf("at %#x, want %#x: %+v", o.at, want, o.shape)
					}
					if !o.next() || o.shape != &null || o.next() {
						t.Error("the end is not found")
					}
				})
			}
		}
	}
}

// TestOutlineSkips: children are skipped by DW_AT_sibling where it leads on, else one by one; what
// is unknown, or leads out of the unit, ends the outline.
func TestOutlineSkips(t *testing.T) {
	s, order := formSizes{4, 8, 4}, binary.LittleEndian
	const die = 11 // where the entries begin
	abbrev := []byte{
		1, 0x11, 1, 0, 0,
		2, 0x2e, 1, 0x01, formRef1, 0, 0, // a function with DW_AT_sibling
		3, 0x0b, 1, 0, 0, // a block
		4, 0x34, 0, 0x1c, 0x7f, 0, 0, // a variable of an unknown form
		5, 0x34, 0, 0, 0,
		0,
	}
	for _, c := range []struct {
		name    string
		entries []byte
		then    dwarf.Offset // the entry behind the function, 0: none
	}{
		{"by the reference", []byte{1, 2, die + 7, 4, 4, 4, 0, 5, 0}, die + 7},
		{"one by one", []byte{1, 2, 0, 3, 5, 0, 0, 5, 0}, die + 7},
		{"back", []byte{1, 2, 1, 3, 5, 0, 0, 5, 0}, die + 7},
		{"out of the unit", []byte{1, 2, 200, 3, 5, 0, 0, 5, 0}, 0},
		{"an unknown form", []byte{1, 2, 0, 4, 0, 5, 0}, 0},
		{"an unknown code", []byte{1, 2, 0, 77, 0, 5, 0}, 0},
		{"no end", []byte{1, 2, 0, 3, 3, 3}, 0},
	} {
		o := outlined(s, order, abbrev, c.entries)
		for range 2 { // the unit's entry, the function
			if !o.next() {
				t.Fatalf("%s: %+v", c.name, o.shape)
			}
		}
		o.skipChildren()
		if ok := o.next(); ok != (c.then != 0) || ok && o.at != c.then {
			t.Errorf("%s: %v at %d, want %d", c.name, ok, o.at, c.then)
		}
	}
}
