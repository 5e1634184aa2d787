package evaluate

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Piece is a part of a variable, or all of it (DWARF 5 §2.6): one of the four that Kind says.
type Piece struct {
	Kind PieceKind
	// Size in bytes, 0 where the piece is the whole variable.
	Size int
	// Addr is a target address, Value the content of a register or what the variable would
	// have, Data its bytes.
	Addr, Value uint64
	Data        []byte
}

// PieceKind says where a piece is.
type PieceKind uint8

const (
	// Nowhere: the compiler kept the piece nowhere at this place.
	Nowhere PieceKind = iota
	// NotKept: the piece is in a register that a call since then may have changed.
	NotKept
	InMemory
	InRegister
	InExpression
)

// Frame is what location descriptions refer to. Bias is target address minus image address;
// Address reads entry i of .debug_addr, an image address.
type Frame struct {
	Arch    *cpu.Arch
	Regs    *cpu.Registers
	Memory  *target.Memory
	CFA     uint64
	HasCFA  bool
	Bias    uint64
	Base    uint64 // DW_AT_frame_base's
	HasBase bool
	Address func(i uint64) (uint64, bool)
}

// The operations of location descriptions (DWARF 5 §7.7.1, and GNU's before DWARF 5).
const (
	opFbreg              = 0x91
	opPiece              = 0x93
	opImplicitValue      = 0x9e
	opStackValue         = 0x9f
	opImplicitPointer    = 0xa0
	opAddrx              = 0xa1
	opConstx             = 0xa2
	opEntryValue         = 0xa3
	opGNUImplicitPointer = 0xf2
	opGNUEntryValue      = 0xf3
	opGNUAddrIndex       = 0xfb
	opGNUConstIndex      = 0xfc
)

// maxPieces bounds the pieces of a variable; compilers make a few.
const maxPieces = 64

// Location evaluates a location description. It is MissingRegister where that needs a register
// which is not known, or which the function had when it was entered.
func Location(expr []byte, f *Frame) ([]Piece, Outcome) {
	e := locator{evaluator: evaluator{
		r: bin.New(expr, f.Arch.BigEndian), size: uint64(len(expr)),
		arch: f.Arch, regs: f.Regs, mem: f.Memory, mask: f.Arch.AddrMask(), cfa: f.CFA, hasCFA: f.HasCFA,
	}, frame: f}
	for steps := 0; e.r.Len() > 0; steps++ {
		if steps == exprSteps || len(e.pieces) > maxPieces {
			return nil, BadExpression
		}
		e.locate(e.r.U8())
		if e.r.Err() != nil {
			e.fail(BadExpression)
		}
		if e.oc != Applied {
			return nil, e.oc
		}
	}
	if len(e.pieces) == 0 {
		e.end(0)
	}
	return e.pieces, e.oc
}

// locator is the stack machine that comes to pieces. here is the one that is being described,
// where that is not memory.
type locator struct {
	evaluator
	frame  *Frame
	here   Piece
	isHere bool
	pieces []Piece
}

// locate runs one operation.
func (e *locator) locate(op uint8) {
	switch {
	case op >= opReg0 && op < opBreg0:
		e.inRegister(uint64(op - opReg0))
		return
	case op == opRegx:
		e.inRegister(e.r.ULEB())
		return
	}
	switch op {
	case opFbreg:
		if !e.frame.HasBase {
			e.fail(MissingRegister)
		}
		e.push(e.frame.Base + uint64(e.r.SLEB()))
	case opAddr:
		e.push(e.r.Uint(e.arch.AddrSize) + e.frame.Bias)
	case opAddrx, opGNUAddrIndex:
		e.push(e.indexed() + e.frame.Bias)
	case opConstx, opGNUConstIndex:
		e.push(e.indexed())
	case opStackValue:
		e.is(Piece{Kind: InExpression, Value: e.pop()})
	case opImplicitValue:
		e.is(Piece{Kind: InExpression, Data: e.r.Bytes(e.r.ULEB())})
	case opImplicitPointer, opGNUImplicitPointer:
		e.r.Skip(uint64(e.r.Len())) // to what is nowhere
		e.is(Piece{})
	case opEntryValue, opGNUEntryValue:
		e.fail(MissingRegister)
	case opPiece:
		e.end(bin.Limit(e.r.ULEB(), 1<<20))
	default:
		e.step(op)
	}
}

func (e *locator) is(p Piece) { e.here, e.isHere = p, true }

// inRegister describes a register's content. One that is not known may be a piece of many.
func (e *locator) inRegister(n uint64) {
	reg, ok := e.arch.RegByDWARF(n)
	if !ok {
		e.is(Piece{Kind: NotKept})
		return
	}
	if v, known := e.regs.Lookup(reg); known {
		e.is(Piece{Kind: InRegister, Value: v})
	} else {
		e.is(Piece{Kind: NotKept})
	}
}

func (e *locator) indexed() uint64 {
	i := e.r.ULEB()
	if e.frame.Address != nil {
		if v, ok := e.frame.Address(i); ok {
			return v
		}
	}
	e.fail(BadExpression)
	return 0
}

// end ends a piece: what was described, or the memory at the address on top of the stack. An
// empty description is a piece that is nowhere.
func (e *locator) end(size int) {
	p := e.here
	if !e.isHere && e.n > 0 {
		p = Piece{Kind: InMemory, Addr: e.pop()}
	}
	p.Size = size
	e.pieces, e.here, e.isHere = append(e.pieces, p), Piece{}, false
}
