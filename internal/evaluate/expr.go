package evaluate

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

const (
	// exprDepth is the stack's size. Compilers need 3 to 5; libgcc has 64.
	exprDepth = 64
	// exprSteps bounds the operations of one evaluation: DW_OP_skip and
	// DW_OP_bra may jump backwards.
	exprSteps = 10_000
)

// expression runs a DWARF expression (DWARF 5 §2.5) of call frame information.
// With pushCFA the CFA is on the stack at the start, as for the rules of
// registers; the expression of the CFA itself begins with an empty stack
// (§6.4.2.2). Values have the width of the ABI's addresses. With MissingMemory
// the value is the target address that was not captured.
func expression(expr []byte, arch *cpu.Arch, regs *cpu.Registers, mem *target.Memory, cfa uint64, pushCFA bool) (uint64, Outcome) {
	e := evaluator{
		r: bin.New(expr, arch.BigEndian), size: uint64(len(expr)),
		arch: arch, regs: regs, mem: mem,
		mask: arch.AddrMask(), cfa: cfa, hasCFA: pushCFA,
	}
	if pushCFA {
		e.push(cfa)
	}
	for steps := 0; e.r.Len() > 0; steps++ {
		if steps == exprSteps {
			return 0, BadExpression
		}
		e.step(e.r.U8())
		if e.r.Err() != nil {
			e.fail(BadExpression)
		}
		if e.oc != Applied {
			return e.missing, e.oc
		}
	}
	v := e.pop()
	return v, e.oc
}

// evaluator is the stack machine. Once oc is not Applied, it has failed.
type evaluator struct {
	r       bin.Reader
	size    uint64 // of the expression
	arch    *cpu.Arch
	regs    *cpu.Registers
	mem     *target.Memory
	mask    uint64
	cfa     uint64
	hasCFA  bool
	oc      Outcome
	missing uint64
	n       int
	stack   [exprDepth]uint64
}

func (e *evaluator) fail(oc Outcome) {
	if e.oc == Applied {
		e.oc = oc
	}
}

func (e *evaluator) push(v uint64) {
	if e.n == len(e.stack) {
		e.fail(BadExpression)
		return
	}
	e.stack[e.n] = v & e.mask
	e.n++
}

func (e *evaluator) pop() uint64 {
	if e.n == 0 {
		e.fail(BadExpression)
		return 0
	}
	e.n--
	return e.stack[e.n]
}

// pick pushes a copy of the entry i below the top.
func (e *evaluator) pick(i int) {
	if i >= e.n {
		e.fail(BadExpression)
		return
	}
	e.push(e.stack[e.n-1-i])
}

// signed reads a value of the ABI's width as a signed number.
func (e *evaluator) signed(v uint64) int64 {
	if e.arch.AddrSize == 4 {
		return int64(int32(v))
	}
	return int64(v)
}

// register pushes the value of a register by its DWARF number, plus off.
func (e *evaluator) register(n uint64, off int64) {
	reg, ok := e.arch.RegByDWARF(n)
	if !ok {
		e.fail(MissingRegister)
		return
	}
	v, ok := e.regs.Lookup(reg)
	if !ok {
		e.fail(MissingRegister)
		return
	}
	e.push(v + uint64(off))
}

// deref replaces the address on top by size bytes at it, zero-extended.
func (e *evaluator) deref(size int) {
	addr := e.pop()
	if size < 1 || size > e.arch.AddrSize {
		e.fail(BadExpression)
	}
	if e.oc != Applied {
		return
	}
	v, ok := e.mem.Uint(addr, size)
	if !ok {
		e.missing = addr
		e.fail(MissingMemory)
		return
	}
	e.push(v)
}

// jump moves on by a signed number of bytes. The end itself is a target.
func (e *evaluator) jump(by int64) {
	to := uint64(e.r.Offset()) + uint64(by)
	if to > e.size {
		e.fail(BadExpression)
		return
	}
	e.r.Seek(to)
}
