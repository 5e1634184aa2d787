//go:build !small

package symbol

import "github.com/backsight/backsight/internal/bin"

// Content types of a DWARF 5 line table's header (table 7.27).
const (
	lnctPath      = 1
	lnctDirectory = 2
)

// entries reads a list of directories or files (§6.2.4.1), each with the number of
// its directory.
func (l *lineReader) entries(add func(name []byte, dir uint64)) {
	r := &l.r
	formats := make([]struct{ content, form uint64 }, r.U8())
	for i := range formats {
		formats[i].content, formats[i].form = r.ULEB(), r.ULEB()
	}
	if len(formats) == 0 {
		r.ULEB()
		return
	}
	for n := r.ULEB(); n > 0 && r.Len() > 0 && r.Err() == nil && l.keep(fileEntrySize); n-- {
		name, dir := []byte(nil), uint64(0)
		for _, f := range formats {
			s, v := l.value(f.form)
			switch f.content {
			case lnctPath:
				name = s
			case lnctDirectory:
				dir = v
			}
		}
		add(name, dir)
	}
}

// value reads an attribute's value; a form that no compiler uses here ends the
// table, since its size is unknown.
func (l *lineReader) value(form uint64) (s []byte, v uint64) {
	r := &l.r
	switch form {
	case formString:
		return r.CBytes(), 0
	case formLineStrp:
		return l.stringAt(l.lineStr, r.Uint(l.offset)), 0
	case formStrp:
		return l.stringAt(l.str, r.Uint(l.offset)), 0
	case formUdata:
		return nil, r.ULEB()
	case formData1:
		return nil, uint64(r.U8())
	case formData2:
		return nil, uint64(r.U16())
	case formData4:
		return nil, uint64(r.U32())
	case formData8:
		return nil, r.U64()
	case formData16:
		r.Skip(16)
	case formBlock:
		r.Skip(r.ULEB())
	case formBlock1:
		r.Skip(uint64(r.U8()))
	case formBlock2:
		r.Skip(uint64(r.U16()))
	case formBlock4:
		r.Skip(uint64(r.U32()))
	default:
		r.Skip(uint64(r.Len()) + 1)
	}
	return nil, 0
}

// stringAt is a string of a section. A long one is no path.
func (l *lineReader) stringAt(section []byte, at uint64) []byte {
	if at >= uint64(len(section)) {
		return nil
	}
	r := bin.New(section[at:min(at+maxPath, uint64(len(section)))], l.big)
	return r.CBytes()
}
