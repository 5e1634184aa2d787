package locals

import (
	"debug/dwarf"

	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/symbol"
)

// Why a value is missing.
const (
	optimisedOut = "optimised out"
	notKept      = "in a register that was not kept"
	notCaptured  = "not captured"
	noType       = "of a type that the debug information does not describe"
)

// storage is where a frame keeps things: its registers, its memory, and by the location lists what
// is where at the PC.
type storage struct {
	lists lists
	frame evaluate.Frame
	pc    uint64
	begin dwarf.Offset // symbol.Scope's
}

func newStorage(sc symbol.Scope, p *Place) *storage {
	f := p.Frame
	arch := f.Module.Image.Arch
	s := &storage{lists: newLists(sc, arch), pc: p.PC, begin: sc.Begin}
	s.frame = evaluate.Frame{
		Arch: arch, Regs: p.Registers, Memory: p.Snapshot.Memory, CFA: f.CFA, HasCFA: f.HasCFA,
		Bias: f.Module.Bias, Address: s.lists.address,
	}
	return s
}

// setBase evaluates the DW_AT_frame_base of a function: a register's content, or an address.
func (s *storage) setBase(function *dwarf.Entry) {
	pieces, missing := s.pieces(function.Val(dwarf.AttrFrameBase))
	if missing != "" || len(pieces) != 1 {
		return
	}
	switch p := pieces[0]; p.Kind {
	case evaluate.InMemory:
		s.frame.Base, s.frame.HasBase = p.Addr, true
	case evaluate.InRegister, evaluate.InExpression:
		s.frame.Base, s.frame.HasBase = p.Value, true
	}
}

// description is the location description that an attribute has at the PC: its own, or that of
// a location list; false where it has none there.
func (s *storage) description(v any) ([]byte, bool) {
	switch v := v.(type) {
	case []byte:
		return v, len(v) > 0
	case int64: // an offset in the section
		return s.lists.find(uint64(v), s.pc)
	case uint64: // DW_FORM_loclistx
		return s.lists.numbered(v, s.pc)
	}
	return nil, false
}

// pieces are what an attribute describes at the PC, or why there is nothing.
func (s *storage) pieces(v any) ([]evaluate.Piece, string) {
	expr, ok := s.description(v)
	if !ok {
		return nil, optimisedOut
	}
	pieces, oc := evaluate.Location(expr, &s.frame)
	switch oc {
	case evaluate.Applied:
		return pieces, ""
	case evaluate.MissingMemory:
		return nil, notCaptured
	case evaluate.MissingRegister:
		return nil, notKept
	}
	return nil, optimisedOut
}

// pointee is what a pointer points to where the variable has no address: the variable's entry in
// .debug_info, and the distance into the variable in bytes.
type pointee struct {
	entry dwarf.Offset
	into  int64
}

func pointeeOf(pieces []evaluate.Piece) (pointee, bool) {
	if len(pieces) != 1 || pieces[0].Kind != evaluate.ToNowhere {
		return pointee{}, false
	}
	return pointee{entry: dwarf.Offset(pieces[0].Entry), into: pieces[0].Into}, true
}

// bytes reads a variable of size bytes out of its pieces. All of them must be known: half of
// a number is none.
func (s *storage) bytes(pieces []evaluate.Piece, size int) (data []byte, missing string) {
	for i := range pieces {
		p := &pieces[i]
		n := p.Size
		if n == 0 {
			n = size
		}
		n = min(n, size-len(data))
		switch p.Kind {
		case evaluate.InMemory:
			part := make([]byte, n)
			if s.frame.Memory.Read(p.Addr, part) < n {
				return nil, notCaptured
			}
			data = append(data, part...)
		case evaluate.InRegister, evaluate.InExpression:
			part := p.Data
			if part == nil {
				part = encode(p.Value, min(n, 8), s.frame.Arch.BigEndian)
			}
			data = append(data, part[:min(n, len(part))]...)
		case evaluate.NotKept:
			return nil, notKept
		default:
			return nil, optimisedOut
		}
	}
	if len(data) < size {
		return nil, optimisedOut
	}
	return data, ""
}

// encode writes the low bytes of a number as the program's memory would have them.
func encode(v uint64, size int, big bool) []byte {
	b := make([]byte, size)
	for i := range b {
		k := i
		if big {
			k = size - 1 - i
		}
		b[k] = byte(v >> (8 * i))
	}
	return b
}
