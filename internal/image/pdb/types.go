package pdb

import (
	"strings"
	"sync"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// Kinds of records of types and of IDs (cvinfo.h, LEAF_ENUM_e).
const (
	leafClass     = 0x1504
	leafStructure = 0x1505
	leafUnion     = 0x1506
	leafEnum      = 0x1507
	leafInterface = 0x1519
	leafFunction  = 0x1601 // LF_FUNC_ID
	leafMember    = 0x1602 // LF_MFUNC_ID
	leafString    = 0x1605 // LF_STRING_ID
)

// types names inlined functions by the records of the IPI stream, and classes by those of the TPI stream.
type types struct {
	mu   sync.Mutex
	room budget.Budget // bytes of names, which records may share
	ids  table
	tpi  table
}

// table is a stream of records, which have no places of their own: every so many records one's place is noted.
type table struct {
	data  []byte
	first uint32
	marks []uint32
	read  bool
}

// step is how many records lie between two places that are noted.
const step = 64

// load notes places in a stream (LLVM, "The PDB TPI and IPI Streams").
func (t *table) load(data []byte) {
	t.read = true
	r := bin.New(data, false)
	r.Skip(4) // version
	head := uint64(r.U32())
	t.first = r.U32()
	r.Skip(4)
	size := r.U32()
	r.Seek(head)
	t.data = r.Bytes(uint64(size))
	for n, rec := 0, bin.New(t.data, false); rec.Err() == nil && rec.Len() >= 4; n++ {
		if n%step == 0 {
			t.marks = append(t.marks, uint32(rec.Offset()))
		}
		rec.Skip(uint64(rec.U16()))
	}
}

// record is the record of a number, and its kind, 0 for none.
func (t *table) record(id uint32) (kind uint16, r bin.Reader) {
	n := id - t.first
	if id < t.first || n/step >= uint32(len(t.marks)) {
		return 0, r
	}
	all := bin.NewAt(t.data, uint64(t.marks[n/step]), false)
	for range n % step {
		all.Skip(uint64(all.U16()))
	}
	r = bin.New(all.Bytes(uint64(all.U16())), false)
	return r.U16(), r
}

// function is the name of a function by its number in the IPI stream, with its class or scope in front.
func (t *types) function(s *streams, id uint32) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ids.read {
		t.ids.load(s.stream(idStream))
	}
	kind, r := t.ids.record(id)
	scope := r.U32()
	r.Skip(4) // type
	var outer string
	switch kind {
	case leafMember:
		if !t.tpi.read {
			t.tpi.load(s.stream(typeStream))
		}
		outer = className(t.tpi.record(scope))
	case leafFunction:
		if k, scopes := t.ids.record(scope); k == leafString {
			scopes.Skip(4)
			outer = name(&scopes)
		}
	default:
		return ""
	}
	own := name(&r)
	if !t.room.Draw(len(outer) + len(own)) {
		return ""
	}
	if outer != "" {
		return outer + "::" + own
	}
	return own
}

// className is the name that a record gives to a type.
func className(kind uint16, r bin.Reader) string {
	r.Skip(4) // number of members, properties
	switch kind {
	case leafClass, leafStructure, leafInterface:
		r.Skip(12) // members, bases, virtual functions
		skipNumber(&r)
	case leafUnion:
		r.Skip(4)
		skipNumber(&r)
	case leafEnum:
		r.Skip(8)
	default:
		return ""
	}
	return name(&r)
}

// skipNumber skips a number: two bytes, or behind two bytes that tell its kind (LF_CHAR to LF_UQUADWORD).
func skipNumber(r *bin.Reader) {
	const char, short, ushort, long, ulong, quad, uquad = 0x8000, 0x8001, 0x8002, 0x8003, 0x8004, 0x8009, 0x800a
	switch r.U16() {
	case char:
		r.Skip(1)
	case short, ushort:
		r.Skip(2)
	case long, ulong:
		r.Skip(4)
	case quad, uquad:
		r.Skip(8)
	}
}

// name is the string at a reader's place, up to its NUL.
func name(r *bin.Reader) string {
	return scoped(text(r.Bytes(uint64(r.Len())), 0))
}

// scoped is a name as its decorated form has it, where MSVC numbers the scope without a name by the source file's path:
//
//	?A0xc3a0617d::start     `anonymous namespace'::start
func scoped(name string) string {
	before, rest, ok := strings.Cut(name, "?A0x")
	_, own, scope := strings.Cut(rest, "::")
	if !ok || !scope {
		return name
	}
	return before + "`anonymous namespace'::" + own
}
