//go:build !small

package symbol

import (
	"debug/dwarf"

	"github.com/backsight/backsight/internal/bin"
)

// shape is what an abbreviation says of entries (DWARF 5 §7.5.3).
type shape struct {
	code     uint64
	tag      dwarf.Tag
	children bool
	// placed: such entries say where their code is.
	placed bool
	attrs  []attr
}

// attr is an attribute of a shape; size is −1 where each value says it.
type attr struct {
	name dwarf.Attr
	form uint64
	size int
}

// shapes are those of a unit: in compilers' tables the first has code 1, and so on.
type shapes struct {
	list   []shape
	others map[uint64]int // of other codes
}

// null is the shape of what ends siblings.
var null = shape{}

// of is the shape of a code, nil where there is none.
func (s *shapes) of(code uint64) *shape {
	if code == 0 {
		return &null
	}
	if i := code - 1; i < uint64(len(s.list)) && s.list[i].code == code {
		return &s.list[i]
	}
	if i, ok := s.others[code]; ok {
		return &s.list[i]
	}
	return nil
}

// size is what shapes take in memory, in bytes.
func (s *shapes) size() int {
	const shapeSize, attrSize = 48, 24
	n := shapeSize * len(s.list)
	for i := range s.list {
		n += attrSize * len(s.list[i].attrs)
	}
	return n
}

// shapesOf reads the abbreviations at an offset. They take memory in proportion to their bytes.
func shapesOf(section []byte, at uint64, big bool, sizes *formSizes) *shapes {
	s := new(shapes)
	r := bin.NewAt(section, at, big)
	for {
		sh := shape{code: r.ULEB()}
		if sh.code == 0 || r.Err() != nil {
			return s
		}
		sh.tag, sh.children = dwarf.Tag(r.ULEB()), r.U8() != 0
		for r.Err() == nil {
			a := attr{name: dwarf.Attr(r.ULEB()), form: r.ULEB()}
			if a.form == formImplicitConst {
				r.SLEB()
			}
			if a.name == 0 && a.form == 0 {
				break
			}
			a.size = sizes.of(a.form)
			sh.placed = sh.placed || a.name == dwarf.AttrLowpc || a.name == dwarf.AttrRanges
			sh.attrs = append(sh.attrs, a)
		}
		if sh.code != uint64(len(s.list))+1 {
			if s.others == nil {
				s.others = make(map[uint64]int)
			}
			s.others[sh.code] = len(s.list)
		}
		s.list = append(s.list, sh)
	}
}
