package locals

import (
	"debug/dwarf"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/die"
)

// kind is what a type's values look like.
type kind uint8

const (
	opaque kind = iota // not known, or without a value
	signed
	unsigned
	boolean
	character
	unsignedCharacter
	float
	pointer
	enumeration
	record
	array
)

// typ is a type without its names: what typedefs and qualifiers lead to.
type typ struct {
	kind kind
	name string
	size int // bytes
	die  die.Entry
	// elem is what a pointer points to, or an array consists of; count of an array.
	elem  die.Ref
	known bool // elem is
	count int
}

// Bounds of types: typedefs of typedefs and pointers to pointers are a few; a value of more
// bytes is no scalar, and is not read.
const (
	maxTypes = 16
	maxSize  = 1 << 16
)

// isChar tells whether values are characters of one byte, as strings consist of.
func (t *typ) isChar() bool {
	return (t.kind == character || t.kind == unsignedCharacter) && t.size == 1
}

// types reads types; pointers whose size is not stated have that of addresses.
type types struct {
	entries  *entries
	addrSize int
}

// at reads the type at a place.
func (y types) at(place die.Ref) typ {
	t := typ{name: y.name(place, maxTypes)}
	for range maxTypes {
		e, ok := y.entries.at(place)
		if !ok {
			return t
		}
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
			if place, ok = e.Refers(dwarf.AttrType); !ok {
				return t
			}
			continue
		}
		y.describe(&t, e)
		return t
	}
	return t
}

// describe fills in what an entry says that is no other name of a type.
func (y types) describe(t *typ, e die.Entry) {
	size, _ := e.Val(dwarf.AttrByteSize).(int64)
	t.die, t.size = e, int(min(max(size, 0), maxSize))
	t.elem, t.known = e.Refers(dwarf.AttrType)
	switch e.Tag {
	case dwarf.TagBaseType:
		encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
		t.kind = encoded(encoding)
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType, dwarf.TagPtrToMemberType:
		t.kind = pointer
		if t.size == 0 {
			t.size = y.addrSize
		}
	case dwarf.TagEnumerationType:
		t.kind = enumeration
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		t.kind = record
	case dwarf.TagArrayType:
		t.kind, t.count = array, y.entries.count(e)
		if elem := y.at(t.elem); t.known && t.size == 0 {
			t.size = min(t.count, maxSize) * elem.size
		}
		t.size = min(t.size, maxSize)
	}
}

// encoded is what a DW_ATE_* number says (DWARF 5, table 7.11).
func encoded(encoding int64) (k kind) {
	switch encoding {
	case 0x02:
		k = boolean
	case 0x04:
		k = float
	case 0x05:
		k = signed
	case 0x06:
		k = character
	case 0x07:
		k = unsigned
	case 0x08, 0x10: // 0x10 is UTF
		k = unsignedCharacter
	}
	return k
}

// count is how many elements an array has in its first dimension, 0 where that is not known.
func (s *entries) count(array die.Entry) int {
	for sub := range s.children(array) {
		if sub.Tag != dwarf.TagSubrangeType {
			return 0
		}
		if n, ok := sub.Val(dwarf.AttrCount).(int64); ok {
			return int(min(max(n, 0), maxSize))
		}
		if n, ok := sub.Val(dwarf.AttrUpperBound).(int64); ok && n >= 0 {
			return int(min(n, maxSize-1)) + 1
		}
		return 0
	}
	return 0
}

// name spells a type as C does, more or less.
func (y types) name(place die.Ref, depth int) string {
	e, ok := y.entries.at(place)
	if !ok || depth == 0 {
		return "?"
	}
	if name, ok := y.entries.Text(e, dwarf.AttrName); ok {
		return keyword(e.Tag) + name
	}
	inner := "void"
	if next, ok := e.Refers(dwarf.AttrType); ok && e.Tag != dwarf.TagEnumerationType {
		inner = y.name(next, depth-1)
	}
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagPtrToMemberType:
		if function, is := strings.CutSuffix(inner, " ()"); is {
			return function + " (*)()"
		}
		if strings.HasSuffix(inner, "*") {
			return inner + "*"
		}
		return inner + " *"
	case dwarf.TagReferenceType:
		return inner + " &"
	case dwarf.TagRvalueReferenceType:
		return inner + " &&"
	case dwarf.TagConstType:
		return "const " + inner
	case dwarf.TagVolatileType:
		return "volatile " + inner
	case dwarf.TagArrayType:
		return inner + "[" + strconv.Itoa(y.entries.count(e)) + "]"
	case dwarf.TagSubroutineType:
		return inner + " ()"
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
		return keyword(e.Tag) + "{…}"
	}
	return inner
}

// keyword is what C writes before the name of a type.
func keyword(tag dwarf.Tag) string {
	switch tag {
	case dwarf.TagStructType:
		return "struct "
	case dwarf.TagUnionType:
		return "union "
	case dwarf.TagEnumerationType:
		return "enum "
	}
	return ""
}
