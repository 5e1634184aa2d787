//go:build !small

package symbol

import (
	"debug/dwarf"
	"slices"

	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/die"
)

// walker goes through the DIEs of a unit. A DIE takes a byte at least, but for the
// time that it costs to read its attributes count too: forms without bytes
// (flag_present, implicit_const) make many of a few.
//
// A unit that costs several times its size is not a compiler's: debug/dwarf reads on
// behind the end of some damaged ones for ever.
type walker struct {
	*dwarf.Reader
	d    *debugInfo
	unit budget.Budget
	cut  bool // d's budget was spent
}

func (u unitReader) walker(at dwarf.Offset) *walker {
	w := &walker{Reader: u.data.Reader(), d: u.d, unit: budget.New("entries of a unit", 1024, 8*u.size)}
	w.Seek(at)
	return w
}

// next returns the next DIE, which may be the null entry that ends siblings (Tag
// 0); nil at the end, on damage, and when the budget is spent.
func (w *walker) next() *dwarf.Entry {
	e, err := w.Next()
	if err != nil || e == nil || !w.draw(1+len(e.Field), e.Offset) {
		return nil
	}
	return e
}

// draw takes the work of an entry at an offset from the budgets, and tells whether there is
// enough.
func (w *walker) draw(n int, at dwarf.Offset) bool {
	if !w.unit.Draw(n) {
		return false
	}
	if !w.d.work.Draw(n) {
		w.d.leaveOut(".debug_info", uint64(at), w.d.work.Err())
		w.cut = true
		return false
	}
	return true
}

// readWhole reads what the unit has: its functions and its line table.
func (u unitReader) readWhole() {
	if u.read {
		return
	}
	u.read, u.lines = true, &lineTable{}
	w := u.walker(u.die)
	e := w.next()
	if e == nil {
		return
	}
	info := u.dies()
	u.dir, _ = info.Text(die.Entry{Entry: e}, dwarf.AttrCompDir)
	if at, ok := e.Val(dwarf.AttrStmtList).(int64); ok {
		u.lines = u.d.readLines(uint64(at), u.dir)
	}
	if k, ok := u.skeletonOf(e); ok && u.split(k) {
		w = u.walker(u.die)
		if e = w.next(); e == nil {
			return
		}
	}
	u.readFunctions(w, isC(e))
	sortSpans(u.functions)
}

// readFunctions finds the functions of a unit that have code. plain: there are none below other
// entries.
func (u unitReader) readFunctions(w *walker, plain bool) {
	o := u.outline(w)
	for root := o.next(); root && o.next(); {
		function := o.shape.tag == dwarf.TagSubprogram
		if function && o.shape.placed {
			w.Seek(o.at)
			if e, err := w.Next(); err == nil && e != nil {
				u.functions = u.d.addRanges(u.functions, u.data, e, int(e.Offset))
			}
		}
		if plain || function {
			o.skipChildren()
		}
	}
}

// isC tells whether a unit is in C (DWARF 5, table 7.17, and its list of later codes), where
// types have no functions in them. Rust's have.
func isC(unit *dwarf.Entry) bool {
	const c89, c, c99, c11, c17, c23 = 0x01, 0x02, 0x0c, 0x1d, 0x2c, 0x3e
	lang, _ := unit.Val(dwarf.AttrLanguage).(int64)
	return slices.Contains([]int64{c89, c, c99, c11, c17, c23}, lang)
}

// entryOf is where a function of one or more ranges begins: at its low_pc, or else
// at its first range (DWARF 5 §2.18).
func entryOf(e *dwarf.Entry, ranges [][2]uint64) uint64 {
	if lo, ok := e.Val(dwarf.AttrLowpc).(uint64); ok && lo != 0 {
		return lo
	}
	return ranges[0][0]
}

// maxOrigins bounds the chain from an inlined or out-of-line instance to its
// declaration; compilers make at most three steps.
const maxOrigins = 8

// attrMIPSLinkageName is what DW_AT_linkage_name was before DWARF 4.
const attrMIPSLinkageName dwarf.Attr = 0x2007

// name is a function's linkage name if one is stated, else its plain name, here
// or in what the DIE stems from (DWARF 5 §3.3.8).
func (u unitReader) name(e die.Entry) (name string) {
	info := u.dies()
	for range maxOrigins {
		for _, a := range [...]dwarf.Attr{dwarf.AttrLinkageName, attrMIPSLinkageName} {
			if s, ok := info.Text(e, a); ok {
				return s
			}
		}
		if s, ok := info.Text(e, dwarf.AttrName); ok && name == "" {
			name = s
		}
		at, ok := e.Origin()
		if !ok {
			return name
		}
		if e, ok = info.At(at); !ok {
			return name
		}
	}
	return name
}
