package pdb

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/bin"
)

// Kinds of symbol records (cvinfo.h, SYM_ENUM_e).
const (
	symThunk          = 0x1102 // S_THUNK32
	symLocal          = 0x110f // S_LPROC32
	symGlobal         = 0x1110 // S_GPROC32
	symLocalID        = 0x1146 // S_LPROC32_ID
	symGlobalID       = 0x1147 // S_GPROC32_ID
	symLocalDPC       = 0x1155 // S_LPROC32_DPC
	symLocalDPCID     = 0x1156 // S_LPROC32_DPC_ID
	symInlineSite     = 0x114d // S_INLINESITE
	symInlineSiteEnd  = 0x114e // S_INLINESITE_END
	symInlineSite2    = 0x115d // S_INLINESITE2
	procedureName     = 39     // where names begin, counted from the record
	thunkName         = 25
	inlineAnnotations = 16
)

// module is an object file's part of the database.
type module struct {
	data       []byte // symbols, counted from the stream's beginning
	c13        []byte // lines
	procedures []procedure
}

// procedure is a function of a module, and where its record and the end of it are.
type procedure struct {
	rva, size uint32
	at, end   uint32
	name      uint8 // where the name is in the record
}

// record is a symbol.
type record struct {
	at   uint32
	kind uint16
	bin.Reader
}

// records calls yield for each record from a place on, until yield returns false.
func records(data []byte, from, to uint32, yield func(record) bool) {
	for r := bin.NewAt(data, uint64(from), false); r.Len() >= 4 && uint32(r.Offset()) < to; {
		at := uint32(r.Offset())
		body := bin.New(r.Bytes(uint64(r.U16())), false)
		kind := body.U16()
		if r.Err() != nil || !yield(record{at, kind, body}) {
			return
		}
	}
}

// module reads a module, whose procedures are sorted by address; the module is empty where the database has none.
func (f *file) module(n int) *module {
	return f.read.Get(n, func() *module { return f.readModule(n) })
}

func (f *file) readModule(n int) *module {
	m := new(module)
	if n >= len(f.modules) {
		return m
	}
	info := &f.modules[n]
	data := f.stream(info.stream)
	r := bin.New(data, false)
	m.data = r.Bytes(uint64(info.symbols))
	r.Skip(uint64(info.c11))
	m.c13 = r.Bytes(uint64(info.c13))
	const signature = 4
	records(m.data, signature, uint32(len(m.data)), func(s record) bool {
		if p, ok := f.procedure(s); ok {
			m.procedures = append(m.procedures, p)
		}
		return true
	})
	slices.SortStableFunc(m.procedures, func(a, b procedure) int { return cmp.Compare(a.rva, b.rva) })
	return m
}

// procedure reads the record of a function.
func (f *file) procedure(s record) (p procedure, ok bool) {
	p.at = s.at
	s.Skip(4) // parent
	p.end = s.U32()
	s.Skip(4)
	var offset uint32
	var number uint16
	switch s.kind {
	case symLocal, symGlobal, symLocalID, symGlobalID, symLocalDPC, symLocalDPCID:
		p.size, p.name = s.U32(), procedureName
		s.Skip(12) // where the debugger may stop first and last, type
		offset, number = s.U32(), s.U16()
	case symThunk:
		offset, number = s.U32(), s.U16()
		p.size, p.name = uint32(s.U16()), thunkName
	default:
		return p, false
	}
	p.rva, ok = f.rva(number, offset)
	return p, ok && s.Err() == nil
}

// at is the procedure that has an address, nil for none.
func (m *module) at(rva uint32) *procedure {
	i := last(m.procedures, rva, func(p procedure) uint32 { return p.rva })
	if i < 0 || rva-m.procedures[i].rva >= m.procedures[i].size {
		return nil
	}
	return &m.procedures[i]
}

// find is the module that contributed an address, and the procedure there; nil where the database knows none.
func (f *file) find(rva uint32) (*module, *procedure) {
	c := f.contribution(rva)
	if c == nil {
		return nil, nil
	}
	m := f.module(int(c.module))
	return m, m.at(rva)
}
