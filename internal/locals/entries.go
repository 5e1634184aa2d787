package locals

import (
	"debug/dwarf"
	"iter"

	"github.com/backsight/backsight/internal/die"
)

// entries reads entries of debug information, as many as the budget of a frame allows.
type entries struct {
	die.Info
	left int // entries to read
}

// next reads an entry, nil at the end of the entries or of the budget.
func (s *entries) next(d *dwarf.Reader) *dwarf.Entry {
	if s.left--; s.left < 0 {
		return nil
	}
	e, err := d.Next()
	if err != nil {
		return nil
	}
	return e
}

// at reads the entry at a place. Where that entry only names the unit that describes the type
// (DWARF 5 §5.1, DW_AT_signature), the result is the entry in that unit.
func (s *entries) at(place die.Ref) (die.Entry, bool) {
	if s.left--; s.left < 0 {
		return die.Entry{}, false
	}
	e, ok := s.At(place)
	if !ok {
		return e, false
	}
	if place, ok = e.Refers(dwarf.AttrSignature); ok {
		if whole, ok := s.At(place); ok {
			return whole, true
		}
	}
	return e, true
}

// skip reads on behind the children of an entry that d has just read.
func (s *entries) skip(d *dwarf.Reader, e *dwarf.Entry) {
	if !e.Children {
		return
	}
	for range s.below(d) {
	}
}

// children yields the entries right below an entry.
func (s *entries) children(e die.Entry) iter.Seq[die.Entry] {
	return func(yield func(die.Entry) bool) {
		if e.Entry == nil || !e.Children {
			return
		}
		d := s.Reader(e.Within)
		if d == nil {
			return
		}
		d.Seek(e.Offset)
		if s.next(d) == nil {
			return
		}
		for c := s.next(d); c != nil && c.Tag != 0; c = s.next(d) {
			if !yield(die.Entry{Entry: c, Within: e.Within}) {
				return
			}
			s.skip(d, c)
		}
	}
}

// maxOrigins bounds the chain from an entry to the entry that it is an instance of.
const maxOrigins = 8

// origin is the entry that has an attribute: e, or the abstract entry that e is an instance of
// (DWARF 5 §3.3.8).
func (s *entries) origin(e die.Entry, a dwarf.Attr) (die.Entry, bool) {
	for range maxOrigins {
		if e.AttrField(a) != nil {
			return e, true
		}
		at, ok := e.Origin()
		if !ok {
			break
		}
		if e, ok = s.at(at); !ok {
			break
		}
	}
	return die.Entry{}, false
}

// name is an entry's own name or, where it has none, its origin's.
func (s *entries) name(e die.Entry) string {
	e, ok := s.origin(e, dwarf.AttrName)
	if !ok {
		return ""
	}
	name, _ := s.Text(e, dwarf.AttrName)
	return name
}

// typeOf is the place of the entry that describes the type of a variable.
func (s *entries) typeOf(e die.Entry) (die.Ref, bool) {
	e, ok := s.origin(e, dwarf.AttrType)
	if !ok {
		return die.Ref{}, false
	}
	return e.Refers(dwarf.AttrType)
}

// below yields all descendants of the entry that d has just read, which has children.
func (s *entries) below(d *dwarf.Reader) iter.Seq[*dwarf.Entry] {
	return func(yield func(*dwarf.Entry) bool) {
		for depth := 1; depth > 0; {
			e := s.next(d)
			switch {
			case e == nil:
				return
			case e.Tag == 0:
				depth--
				continue
			case e.Children:
				depth++
			}
			if !yield(e) {
				return
			}
		}
	}
}
