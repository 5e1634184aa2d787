// Package die reads entries of debug information (DWARF's DIEs) and follows what they refer to:
// to other entries, and to a file with what several programs have in common (DWARF 5 §7.3.6,
// "supplementary object file"; dwz, which made such files before, has forms of its own for it).
//
// debug/dwarf reads either file, and gives references to the other as numbers.
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
}

// Supplement is the debug information of a supplementary file.
type Supplement struct {
	Data *dwarf.Data
	Str  []byte // .debug_str
}

// Ref is the place of an entry.
type Ref struct {
	Offset dwarf.Offset
	Shared bool // in the supplementary file
}

// Entry is an entry, of the supplementary file where Shared is set.
type Entry struct {
	*dwarf.Entry
	Shared bool
}

// maxText bounds names: longer ones are not read. C++ has some of a few thousand bytes.
const maxText = 1 << 16

// Reader reads the entries of the unit's file, or of the supplementary one; nil where that is
// missing.
func (i *Info) Reader(shared bool) *dwarf.Reader {
	if !shared {
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
	r := i.Reader(at.Shared)
	if r == nil {
		return Entry{}, false
	}
	r.Seek(at.Offset)
	e, err := r.Next()
	return Entry{Entry: e, Shared: at.Shared}, err == nil && e != nil && e.Tag != 0
}

// Refers is the place of the entry that an attribute refers to.
func (e Entry) Refers(a dwarf.Attr) (Ref, bool) {
	f := e.AttrField(a)
	if f == nil {
		return Ref{}, false
	}
	switch v := f.Val.(type) {
	case dwarf.Offset:
		return Ref{Offset: v, Shared: e.Shared}, true
	case int64: // DW_FORM_GNU_ref_alt
		return Ref{Offset: dwarf.Offset(v), Shared: true}, f.Class == dwarf.ClassReferenceAlt && !e.Shared
	case uint32: // DW_FORM_ref_sup4
		return Ref{Offset: dwarf.Offset(v), Shared: true}, f.Class == dwarf.ClassReference && !e.Shared
	case uint64: // DW_FORM_ref_sup8
		return Ref{Offset: dwarf.Offset(v), Shared: true}, f.Class == dwarf.ClassReference && !e.Shared && v <= 0xffff_ffff
	}
	return Ref{}, false
}

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
