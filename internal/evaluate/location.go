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
	// Entry is the offset in .debug_info of what a pointer points to, Into how many bytes into
	// that.
	Entry uint64
	Into  int64
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
	// ToNowhere is a pointer without a value, to a variable that is kept nowhere in memory.
	ToNowhere
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
	// Entered is the value that a register, by its DWARF number, had when the function was
	// entered; nil: nothing is known of that.
	Entered func(reg uint64) (uint64, bool)
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
// which is not known, now or when the function was entered.
func Location(expr []byte, f *Frame) ([]Piece, Outcome) {
	e := newLocator(expr, f)
	if !e.run() {
		return nil, e.oc
	}
	if len(e.pieces) == 0 {
		e.end(0)
	}
	return e.pieces, e.oc
}

func newLocator(expr []byte, f *Frame) *locator {
	return &locator{evaluator: evaluator{
		r: bin.New(expr, f.Arch.BigEndian), size: uint64(len(expr)),
		arch: f.Arch, regs: f.Regs, mem: f.Memory, mask: f.Arch.AddrMask(), cfa: f.CFA, hasCFA: f.HasCFA,
	}, frame: f}
}

// run runs all operations. It reports false, with the outcome, where one fails.
func (e *locator) run() bool {
	for steps := 0; e.r.Len() > 0; steps++ {
		if steps == exprSteps || len(e.pieces) > maxPieces {
			e.fail(BadExpression)
			return false
		}
		e.locate(e.r.U8())
		if e.r.Err() != nil {
			e.fail(BadExpression)
		}
		if e.oc != Applied {
			return false
		}
	}
	return true
}

// Value evaluates an expression that is a value, not a place (DWARF 5 §2.5).
func Value(expr []byte, f *Frame) (uint64, bool) {
	e := newLocator(expr, f)
	if !e.run() || len(e.pieces) > 0 || e.isHere || e.n == 0 {
		return 0, false
	}
	return e.pop(), true
}

// locator is the stack machine whose result is a list of pieces. here is the piece that is being
// described, if isHere: the operations have named a place other than memory.
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
		at := uint64(e.r.U32()) // in the 32-bit format, the only one that compilers write
		e.is(Piece{Kind: ToNowhere, Entry: at, Into: e.r.SLEB()})
	case opEntryValue, opGNUEntryValue:
		e.entered(e.r.Bytes(e.r.ULEB()))
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

// entered pushes what a register held when the function was entered. Compilers ask for nothing
// else than that.
func (e *locator) entered(expr []byte) {
	reg, ok := Register(expr, e.arch.BigEndian)
	if !ok || e.frame.Entered == nil {
		e.fail(MissingRegister)
		return
	}
	v, ok := e.frame.Entered(reg)
	if !ok {
		e.fail(MissingRegister)
	}
	e.push(v)
}

// Register is the DWARF number of the register that a location description names, and nothing
// beside it.
func Register(expr []byte, big bool) (reg uint64, ok bool) {
	r := bin.New(expr, big)
	switch op := r.U8(); {
	case op >= opReg0 && op < opBreg0:
		reg = uint64(op - opReg0)
	case op == opRegx:
		reg = r.ULEB()
	default:
		return 0, false
	}
	return reg, r.Err() == nil && r.Len() == 0
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
