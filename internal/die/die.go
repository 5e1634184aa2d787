// Package die reads entries of debug information (DWARF's DIEs) and follows what they refer to:
// to other entries, to types that are described in units of their own (DWARF 5 §3.1.4), and to a
// file with what several programs have in common (DWARF 5 §7.3.6, "supplementary object file"; dwz,
// which made such files before, has forms of its own for it).
//
// debug/dwarf reads each of these alone, and gives references to another as numbers.
package die

import (
	"debug/dwarf"

	"github.com/backsight/backsight/internal/bin"
)

// Info is the debug information that the entries of a unit are in.
type Info struct {
	Data *dwarf.Data
	// Supplement opens what the entries refer to in the supplementary file, nil: there is none.
	Supplement func() *Supplement
	// Types opens the unit of the type with a signature; nil, or giving nil: there is none.
	Types func(signature uint64) *TypeUnit
}

// TypeUnit is the debug information of a type that is described in a unit of its own.
type TypeUnit struct {
	Data *dwarf.Data
	Type dwarf.Offset // the type's entry
}

// Supplement is the debug information of a supplementary file.
type Supplement struct {
	Data *dwarf.Data
	Str  []byte // .debug_str
}

// Within is where an entry is: in the unit's own file, unless a field is set.
type Within struct {
	Shared bool      // in the supplementary file
	Types  *TypeUnit // in this unit
}

// Ref is the place of an entry: an offset, or the signature of a type.
type Ref struct {
	Within
	Offset    dwarf.Offset
	Signature uint64 // 0: none
}

// Entry is an entry, and where it is.
type Entry struct {
	*dwarf.Entry
	Within
}

// maxText bounds names: longer ones are not read. C++ has some of a few thousand bytes.
const maxText = 1 << 16

// Reader reads the entries of the unit's file, of the supplementary one or of a type unit; nil where
// that is missing.
func (i *Info) Reader(w Within) *dwarf.Reader {
	switch {
	case w.Types != nil:
		return w.Types.Data.Reader()
	case !w.Shared:
		return i.Data.Reader()
	}
	if s := i.supplement(); s != nil {
		return s.Data.Reader()
	}
	return nil
}

func (i *Info) supplement() *Supplement {
	if i.Supplement == nil {
		return nil
	}
	return i.Supplement()
}

// At reads the entry at a place; false where there is none.
func (i *Info) At(at Ref) (Entry, bool) {
	if at.Signature != 0 {
		at = i.typed(at.Signature)
	}
	r := i.Reader(at.Within)
	if r == nil || at.Offset == 0 {
		return Entry{}, false
	}
	r.Seek(at.Offset)
	e, err := r.Next()
	return Entry{Entry: e, Within: at.Within}, err == nil && e != nil && e.Tag != 0
}

// typed is the place of the type with a signature; its offset is 0 where there is none.
func (i *Info) typed(signature uint64) (at Ref) {
	if i.Types == nil {
		return at
	}
	if at.Types = i.Types(signature); at.Types != nil {
		at.Offset = at.Types.Type
	}
	return at
}

// Refers is the place of the entry that an attribute refers to.
func (e Entry) Refers(a dwarf.Attr) (Ref, bool) {
	f := e.AttrField(a)
	if f == nil {
		return Ref{}, false
	}
	switch v := f.Val.(type) {
	case dwarf.Offset:
		return Ref{Offset: v, Within: e.Within}, true
	case int64: // DW_FORM_GNU_ref_alt
		return shared(uint64(v)), f.Class == dwarf.ClassReferenceAlt && !e.Shared
	case uint32: // DW_FORM_ref_sup4
		return shared(uint64(v)), f.Class == dwarf.ClassReference && !e.Shared
	case uint64: // DW_FORM_ref_sig8, DW_FORM_ref_sup8
		if f.Class == dwarf.ClassReferenceSig {
			return Ref{Signature: v}, v != 0 && !e.Shared
		}
		return shared(v), f.Class == dwarf.ClassReference && !e.Shared && v <= 0xffff_ffff
	}
	return Ref{}, false
}

// shared is a place in the supplementary file.
func shared(at uint64) Ref { return Ref{Offset: dwarf.Offset(at), Within: Within{Shared: true}} }

// Origin is the entry that an entry is an instance or a definition of (DWARF 5 §3.3.8).
func (e Entry) Origin() (Ref, bool) {
	if at, ok := e.Refers(dwarf.AttrAbstractOrigin); ok {
		return at, true
	}
	return e.Refers(dwarf.AttrSpecification)
}

// Text is an attribute's string.
func (i *Info) Text(e Entry, a dwarf.Attr) (string, bool) {
	f := e.AttrField(a)
	if f == nil {
		return "", false
	}
	at, shared := uint64(0), !e.Shared
	switch v := f.Val.(type) {
	case string:
		return v, true
	case int64: // DW_FORM_GNU_strp_alt
		at, shared = uint64(v), shared && f.Class == dwarf.ClassStringAlt
	case uint32: // DW_FORM_strp_sup
		at, shared = uint64(v), shared && f.Class == dwarf.ClassString
	case uint64:
		at, shared = v, shared && f.Class == dwarf.ClassString
	default:
		return "", false
	}
	s := i.supplement()
	if !shared || s == nil || at >= uint64(len(s.Str)) {
		return "", false
	}
	text := s.Str[at:]
	r := bin.New(text[:min(len(text), maxText)], false)
	v := r.CString()
	return v, r.Err() == nil
}
