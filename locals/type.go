package locals

import (
	"debug/dwarf"
	"strconv"
	"strings"
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
	die  *dwarf.Entry
	// elem is what a pointer points to, or an array consists of; count of an array.
	elem  dwarf.Offset
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

// typeAt reads the type at an offset.
func (r *reader) typeAt(off dwarf.Offset) typ {
	t := typ{name: r.typeName(off, maxTypes)}
	for range maxTypes {
		e := r.at(off)
		if e == nil {
			return t
		}
		switch e.Tag {
		case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
			next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
			if !ok {
				return t
			}
			off = next
			continue
		}
		r.describe(&t, e)
		return t
	}
	return t
}

// describe fills in what an entry says that is no other name of a type.
func (r *reader) describe(t *typ, e *dwarf.Entry) {
	size, _ := e.Val(dwarf.AttrByteSize).(int64)
	t.die, t.size = e, int(min(max(size, 0), maxSize))
	t.elem, t.known = e.Val(dwarf.AttrType).(dwarf.Offset)
	switch e.Tag {
	case dwarf.TagBaseType:
		encoding, _ := e.Val(dwarf.AttrEncoding).(int64)
		t.kind = encodings[encoding]
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType, dwarf.TagPtrToMemberType:
		t.kind = pointer
		if t.size == 0 {
			t.size = r.frame.Arch.AddrSize
		}
	case dwarf.TagEnumerationType:
		t.kind = enumeration
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		t.kind = record
	case dwarf.TagArrayType:
		t.kind, t.count = array, r.count(e)
		if elem := r.typeAt(t.elem); t.known && t.size == 0 {
			t.size = min(t.count, maxSize) * elem.size
		}
		t.size = min(t.size, maxSize)
	}
}

// encodings are what DW_ATE_* numbers say (DWARF 5, table 7.11).
var encodings = map[int64]kind{
	0x02: boolean, 0x04: float, 0x05: signed, 0x06: character, 0x07: unsigned, 0x08: unsignedCharacter,
	0x10: unsignedCharacter, // UTF
}

// count is how many elements an array has in its first dimension, 0 where that is not known.
func (r *reader) count(e *dwarf.Entry) int {
	if !e.Children {
		return 0
	}
	d := r.Data.Reader()
	d.Seek(e.Offset)
	if _, err := d.Next(); err != nil {
		return 0
	}
	sub, err := d.Next()
	if err != nil || sub == nil || sub.Tag != dwarf.TagSubrangeType {
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

// typeName spells a type as C does, more or less.
func (r *reader) typeName(off dwarf.Offset, depth int) string {
	e := r.at(off)
	if e == nil || depth == 0 {
		return "?"
	}
	if name, ok := e.Val(dwarf.AttrName).(string); ok {
		return prefixes[e.Tag] + name
	}
	inner := "void"
	if next, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok && e.Tag != dwarf.TagEnumerationType {
		inner = r.typeName(next, depth-1)
	}
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagPtrToMemberType:
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
		return inner + "[" + strconv.Itoa(r.count(e)) + "]"
	case dwarf.TagSubroutineType:
		return inner + " ()"
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType, dwarf.TagEnumerationType:
		return prefixes[e.Tag] + "{…}"
	}
	return inner
}

var prefixes = map[dwarf.Tag]string{dwarf.TagStructType: "struct ", dwarf.TagUnionType: "union ", dwarf.TagEnumerationType: "enum "}
