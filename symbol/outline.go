//go:build !small

package symbol

import (
	"debug/dwarf"

	"github.com/backsight/backsight/internal/bin"
)

// outline goes through the entries of a unit by the sizes of their attributes, and reads only the
// attribute that tells where the entry behind the children is. One of a hundred entries is a
// function with code. debug/dwarf makes a list of values for each entry, which took most of the
// time and of the garbage of naming frames.
type outline struct {
	w      *walker // whose budgets are drawn from
	r      bin.Reader
	begin  dwarf.Offset // of the unit
	sizes  formSizes
	shapes *shapes
	// The entry that next has come to. shape is that of the null entry at the end of siblings.
	at      dwarf.Offset
	shape   *shape
	sibling dwarf.Offset // 0: not stated

	ended bool
}

// outline begins at the unit's own entry.
func (u unitReader) outline(w *walker) *outline {
	o := &outline{w: w, begin: u.begin}
	end := min(uint64(u.begin)+u.size, uint64(len(u.info)))
	o.r = bin.NewAt(u.info[:end], uint64(u.begin), u.d.big)
	_, wide := unitLength(&o.r)
	o.sizes.offset = 4
	if wide {
		o.sizes.offset = 8
	}
	var abbrev uint64
	if o.sizes.version = int(o.r.U16()); o.sizes.version >= 5 {
		o.r.U8() // unit_type
		o.sizes.addr = int(o.r.U8())
		abbrev = o.r.Uint(o.sizes.offset)
	} else {
		abbrev = o.r.Uint(o.sizes.offset)
		o.sizes.addr = int(o.r.U8())
	}
	o.r.Seek(uint64(u.die))
	if t := u.kept(); t.shapes != nil {
		o.shapes = t.shapes
		return o
	}
	o.shapes = shapesOf(u.abbrev, abbrev, u.d.big, &o.sizes)
	if u.d.room(o.shapes.size(), 0) {
		u.kept().shapes = o.shapes
	}
	return o
}

// next goes to the next entry; false at the end, on damage, and when a budget is spent.
func (o *outline) next() bool {
	if o.ended || o.r.Len() == 0 {
		return false
	}
	o.at, o.sibling = dwarf.Offset(o.r.Offset()), 0
	code := o.r.ULEB()
	if o.shape = o.shapes.of(code); o.shape == nil || !o.w.draw(1+len(o.shape.attrs), o.at) {
		o.ended = true
		return false
	}
	for _, a := range o.shape.attrs {
		switch {
		case a.name == dwarf.AttrSibling:
			o.sibling = o.reference(a.form)
		case a.size >= 0:
			o.r.Skip(uint64(a.size))
		default:
			o.skipValue(a.form)
		}
	}
	return o.r.Err() == nil
}

// reference reads where in the unit an attribute refers to; 0 where it is another form.
func (o *outline) reference(form uint64) dwarf.Offset {
	size := o.sizes.of(form)
	switch form {
	case formRef1, formRef2, formRef4, formRef8:
		return o.begin + dwarf.Offset(o.r.Uint(size))
	case formRefUdata:
		return o.begin + dwarf.Offset(o.r.ULEB())
	}
	if size >= 0 {
		o.r.Skip(uint64(size))
	} else {
		o.skipValue(form)
	}
	return 0
}

// skipValue skips a value that says itself how long it is.
func (o *outline) skipValue(form uint64) {
	switch form {
	case formBlock1:
		o.r.Skip(uint64(o.r.U8()))
	case formBlock2:
		o.r.Skip(uint64(o.r.U16()))
	case formBlock4:
		o.r.Skip(uint64(o.r.U32()))
	case formBlock, formExprloc:
		o.r.Skip(o.r.ULEB())
	case formString:
		o.r.CBytes()
	case formIndirect:
		form := o.r.ULEB()
		if size := o.sizes.of(form); size >= 0 {
			o.r.Skip(uint64(size))
		} else if form != formIndirect {
			o.skipValue(form)
		}
	case formSdata, formUdata, formRefUdata, formStrx, formAddrx, formLoclistx, formRnglistx:
		o.r.ULEB() // as long as a signed one
	default:
		o.r.Skip(1 << 62) // unknown: where the next entry is, nobody knows
	}
}

// skipChildren goes behind the children of the entry.
func (o *outline) skipChildren() {
	if !o.shape.children {
		return
	}
	if o.sibling > o.at {
		o.r.Seek(uint64(o.sibling))
		return
	}
	for depth := 1; depth > 0 && o.next(); {
		switch {
		case o.shape.tag == 0:
			depth--
		case o.shape.children:
			depth++
		}
	}
}
