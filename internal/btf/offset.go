package btf

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
)

const (
	// maxDepth bounds how deep structures without names lie in one another, and how many names a
	// type has.
	maxDepth = 16
	// maxMembers bounds the members that a search looks at: task_struct has 300.
	maxMembers = 1 << 16
)

// Struct is a structure.
type Struct struct {
	types *Types
	typ   typ
}

// Struct is the first structure of a name that has members.
func (t *Types) Struct(name string) (s Struct, ok bool) {
	want := append([]byte(name), 0)
	for _, at := range t.at {
		if k, err := t.typeAt(at); err == nil && k.kind == kindStruct && k.members > 0 && bytes.HasPrefix(t.from(k.name), want) {
			return Struct{t, k}, true
		}
	}
	return s, false
}

// Offset is where a field lies in the structure, in bytes; path leads through structures: thread,
// cpu_context. ok is false where there is no such field, and for bit fields that begin amid a
// byte.
func (s Struct) Offset(path ...string) (offset uint64, ok bool) {
	bits, left := uint64(0), maxMembers
	for _, name := range path {
		off, id, found := s.member(name, maxDepth, &left)
		if !found {
			return 0, false
		}
		bits += off
		s.typ, _ = s.types.resolved(id)
	}
	return bits / 8, len(path) > 0 && bits%8 == 0
}

// resolved is the structure or union that a type is under other names.
func (t *Types) resolved(id uint32) (k typ, ok bool) {
	for range maxDepth {
		if k, ok = t.byID(id); !ok || k.kind == kindStruct || k.kind == kindUnion {
			return k, ok
		}
		if (k.kind < kindTypedef || k.kind > kindRestrict) && k.kind != kindTypeTag {
			break
		}
		id = k.next
	}
	return typ{}, false
}

// member finds a member by name, in bits, also in structures and unions without names. left is how
// many members may still be looked at.
func (s Struct) member(name string, depth int, left *int) (bits uint64, id uint32, ok bool) {
	want := append([]byte(name), 0)
	r := bin.NewAt(s.types.types, uint64(s.typ.body), s.types.big)
	for range s.typ.members {
		if *left--; *left < 0 {
			break
		}
		named, id, off := s.types.from(r.U32()), r.U32(), uint64(r.U32())
		if s.typ.bitfields {
			off &= 1<<24 - 1
		}
		if bytes.HasPrefix(named, want) {
			return off, id, true
		}
		if len(named) == 0 || named[0] != 0 || depth == 0 {
			continue
		}
		if inner, ok := s.types.resolved(id); ok {
			if bits, id, ok := (Struct{s.types, inner}).member(name, depth-1, left); ok {
				return off + bits, id, true
			}
		}
	}
	return 0, 0, false
}
