package evaluate

// The operations of DWARF 5 §7.7.1 that make sense without debugging
// information. DW_OP_GNU_encoded_addr, typed and entry values, pieces and calls
// do not occur in call frame information.
const (
	opAddr         = 0x03
	opDeref        = 0x06
	opConst1u      = 0x08
	opConst1s      = 0x09
	opConst2u      = 0x0a
	opConst2s      = 0x0b
	opConst4u      = 0x0c
	opConst4s      = 0x0d
	opConst8u      = 0x0e
	opConst8s      = 0x0f
	opConstu       = 0x10
	opConsts       = 0x11
	opDup          = 0x12
	opDrop         = 0x13
	opOver         = 0x14
	opPick         = 0x15
	opSwap         = 0x16
	opRot          = 0x17
	opAbs          = 0x19
	opAnd          = 0x1a
	opDiv          = 0x1b
	opMinus        = 0x1c
	opMod          = 0x1d
	opMul          = 0x1e
	opNeg          = 0x1f
	opNot          = 0x20
	opOr           = 0x21
	opPlus         = 0x22
	opPlusUconst   = 0x23
	opShl          = 0x24
	opShr          = 0x25
	opShra         = 0x26
	opXor          = 0x27
	opBra          = 0x28
	opEq           = 0x29
	opGe           = 0x2a
	opGt           = 0x2b
	opLe           = 0x2c
	opLt           = 0x2d
	opNe           = 0x2e
	opSkip         = 0x2f
	opLit0         = 0x30
	opReg0         = 0x50
	opBreg0        = 0x70
	opRegx         = 0x90
	opBregx        = 0x92
	opDerefSize    = 0x94
	opNop          = 0x96
	opCallFrameCFA = 0x9c
)

// step runs one operation.
//
// DW_OP_addr pushes the address as the file states it: expressions are not
// relocated, so only position-dependent programs can use it. DW_OP_regN, a
// location and no value by the standard, yields the register's value as in
// libgcc's unwinder. DW_OP_call_frame_cfa is the CFA once that is known.
func (e *evaluator) step(op uint8) {
	switch {
	case op >= opLit0 && op < opReg0:
		e.push(uint64(op - opLit0))
		return
	case op >= opReg0 && op < opBreg0:
		e.register(uint64(op-opReg0), 0)
		return
	case op >= opBreg0 && op < opRegx:
		e.register(uint64(op-opBreg0), e.r.SLEB())
		return
	case op >= opConst1u && op <= opConsts:
		e.push(e.constant(op))
		return
	}
	switch op {
	case opAddr:
		e.push(e.r.Uint(e.arch.AddrSize))
	case opRegx:
		e.register(e.r.ULEB(), 0)
	case opBregx:
		n := e.r.ULEB()
		e.register(n, e.r.SLEB())
	case opDeref:
		e.deref(e.arch.AddrSize)
	case opDerefSize:
		e.deref(int(e.r.U8()))
	case opCallFrameCFA:
		if !e.hasCFA {
			e.fail(BadExpression)
		}
		e.push(e.cfa)
	case opSkip:
		e.jump(e.r.Int(2))
	case opBra:
		by := e.r.Int(2)
		if e.pop() != 0 {
			e.jump(by)
		}
	case opNop:
	case opAbs, opNeg, opNot, opPlusUconst:
		e.push(e.unary(op, e.pop()))
	case opDup, opDrop, opOver, opPick, opSwap, opRot:
		e.shuffle(op)
	default:
		y, x := e.pop(), e.pop()
		e.push(e.binary(op, x, y))
	}
}

func (e *evaluator) constant(op uint8) uint64 {
	switch op {
	case opConstu:
		return e.r.ULEB()
	case opConsts:
		return uint64(e.r.SLEB())
	}
	size := 1 << ((op - opConst1u) / 2)
	if op&1 != 0 {
		return uint64(e.r.Int(size))
	}
	return e.r.Uint(size)
}

func (e *evaluator) shuffle(op uint8) {
	switch op {
	case opDup:
		e.pick(0)
	case opDrop:
		e.pop()
	case opOver:
		e.pick(1)
	case opPick:
		e.pick(int(e.r.U8()))
	case opSwap:
		y, x := e.pop(), e.pop()
		e.push(y)
		e.push(x)
	case opRot:
		z, y, x := e.pop(), e.pop(), e.pop()
		e.push(z)
		e.push(x)
		e.push(y)
	}
}

func (e *evaluator) unary(op uint8, x uint64) uint64 {
	switch op {
	case opAbs:
		if e.signed(x) < 0 {
			return -x
		}
		return x
	case opNeg:
		return -x
	case opNot:
		return ^x
	}
	return x + e.r.ULEB()
}

// binary computes x op y, x pushed first. Division and comparisons are signed,
// modulo is not (DWARF 5 §2.5.1.4).
func (e *evaluator) binary(op uint8, x, y uint64) uint64 {
	sx, sy := e.signed(x), e.signed(y)
	switch op {
	case opAnd:
		return x & y
	case opOr:
		return x | y
	case opXor:
		return x ^ y
	case opPlus:
		return x + y
	case opMinus:
		return x - y
	case opMul:
		return x * y
	case opShl:
		return x << y
	case opShr:
		return x >> y
	case opShra:
		return uint64(sx >> y)
	case opEq:
		return truth(x == y)
	case opNe:
		return truth(x != y)
	case opGe:
		return truth(sx >= sy)
	case opGt:
		return truth(sx > sy)
	case opLe:
		return truth(sx <= sy)
	case opLt:
		return truth(sx < sy)
	}
	if y == 0 || op != opDiv && op != opMod {
		e.fail(BadExpression)
		return 0
	}
	if op == opDiv {
		return uint64(sx / sy)
	}
	return x % y
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
