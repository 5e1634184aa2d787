package locals

import (
	"debug/dwarf"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/die"
)

// members writes a struct: {name = value, …}.
func (w *writer) members(b []byte, t *typ) string {
	var parts []string
	for m := range w.types.entries.children(t.die) {
		if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance {
			continue
		}
		if len(parts) == maxMembers {
			parts = append(parts, "…")
			break
		}
		if words, ok := w.member(b, m); ok {
			parts = append(parts, words)
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// member writes a member at its place in the bytes of its struct; false for static ones.
func (w *writer) member(b []byte, m die.Entry) (string, bool) {
	name, _ := w.types.entries.Text(m, dwarf.AttrName)
	if name == "" && m.Tag == dwarf.TagInheritance {
		name = "(base)"
	}
	place, ok := m.Refers(dwarf.AttrType)
	if external, _ := m.Val(dwarf.AttrExternal).(bool); !ok || external {
		return "", false
	}
	t := w.types.at(place)
	at, _ := m.Val(dwarf.AttrDataMemberLoc).(int64)
	if name == "" {
		name = "{…}" // an anonymous union
	}
	if words, ok := w.bitField(b, m, &t, at); ok {
		return name + " = " + words, true
	}
	if at < 0 || t.size == 0 || at+int64(t.size) > int64(len(b)) {
		return name + " = ?", true
	}
	return name + " = " + w.of(b[at:][:t.size], &t, false), true
}

// bitField writes a member of some bits (DWARF 5 §5.7.6), which are counted from the byte's
// least significant bit on, on big-endian processors from the most significant one.
func (w *writer) bitField(b []byte, m die.Entry, t *typ, at int64) (string, bool) {
	bits, sized := m.Val(dwarf.AttrBitSize).(int64)
	from, placed := m.Val(dwarf.AttrDataBitOffset).(int64)
	if !sized {
		return "", false
	}
	if !placed { // before DWARF 4: in a unit of storage, from its most significant bit
		shift, _ := m.Val(dwarf.AttrBitOffset).(int64)
		from = 8*at + shift
		if !w.big {
			from = 8*at + int64(8*t.size) - shift - bits
		}
	}
	first, last := from/8, (from+bits-1)/8
	if bits <= 0 || bits > 64 || from < 0 || last >= int64(len(b)) || last-first >= 8 || t.size == 0 || t.size > 8 {
		return "?", true
	}
	v := bin.Uint(b[first:last+1], w.big)
	if w.big {
		v >>= 8*(last+1) - (from + bits)
	} else {
		v >>= from % 8
	}
	v <<= 64 - bits
	if t.kind == signed || t.kind == enumeration {
		v = uint64(int64(v) >> (64 - bits))
	} else {
		v >>= 64 - bits
	}
	return w.of(encode(v, t.size, w.big), t, false), true
}
