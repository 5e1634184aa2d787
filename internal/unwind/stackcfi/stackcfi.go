// Package stackcfi finds unwind rules in the STACK CFI records of Breakpad's symbol files: call frame information as
// expressions in postfix notation; and in STACK WIN records (win.go).
//
//	STACK CFI INIT 890 50 .cfa: $sp 0 + .ra: $ra
//	STACK CFI 898 .cfa: $sp 40 +
//	STACK CFI 8a8 $s0: .cfa -12 + ^ .ra: .cfa -4 + ^
//
// dump_syms' own files have faults where a CIE does not say all. On a processor that does not push return addresses the CFA is
// SP where a function begins and nothing is saved, whatever INIT says ("$sp 39792944 +"); ".ra: .ra" means the register of the return
// address.
package stackcfi

import (
	"bytes"
	"strconv"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Source implements stackwalk.RuleSource.
type Source struct{}

// Method is MethodCFI: the text is the compiler's call frame information.
func (Source) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool { return img.Table(image.StackCFI).Size != 0 }

// text is a Container with such records.
type text interface {
	StackCFI(addr uint64) (start uint64, init, changes []byte, ok bool)
}

// maxChanges bounds the lines of one function.
const maxChanges = 1 << 14

// Rule finds the records that cover q.PC. There is one answer per place.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 || q.Image.Table(image.StackCFI).Size == 0 {
		return unwind.NotCovered
	}
	var start uint64
	var init, changes []byte
	c, ok := image.ContainerAs[text](q.Image.Container())
	if ok {
		start, init, changes, ok = c.StackCFI(q.PC)
	}
	if !ok {
		if w, has := image.ContainerAs[windows](q.Image.Container()); has {
			return win(q, w, out)
		}
		return unwind.NotCovered
	}
	r := row{arch: q.Arch, out: out}
	out.Start, out.Flags = start, out.Flags|stackwalk.StartStated
	if !r.take(init) {
		return unwind.Unsupported
	}
	if r.entered() && begins(q.Image, start) {
		out.CFA.Off = 0
	}
	changes = bytes.TrimLeft(changes, "\r\n")
	for range maxChanges {
		line, rest, _ := bytes.Cut(changes, []byte("\n"))
		line, more := bytes.CutPrefix(bytes.TrimRight(line, "\r "), []byte("STACK CFI "))
		word, rules, _ := bytes.Cut(line, []byte(" "))
		at, err := strconv.ParseUint(string(word), 16, 64)
		if !more || err != nil || at > q.PC { // INIT is no number
			break
		}
		if !r.take(rules) {
			return unwind.Unsupported
		}
		changes = rest
	}
	if out.CFA.Kind == stackwalk.Unspecified || out.RA.Kind == stackwalk.Unspecified {
		return unwind.Malformed
	}
	return unwind.Found
}

// entered tells whether the rules are those of a function's first instruction, but for how far SP is from the CFA.
func (r *row) entered() bool {
	lr := r.arch.LR
	for i := range r.out.N {
		if r.out.Regs[i].Kind != stackwalk.SameValue {
			return false
		}
	}
	return lr != cpu.NoReg && r.out.CFA.Kind == stackwalk.RegPlus && r.out.CFA.Base == r.arch.SP && r.out.CFA.Off != 0 &&
		r.out.RA.Kind == stackwalk.RegPlus && r.out.RA.Base == lr
}

// begins tells whether a function begins at an address, unless the names say that one goes on there.
func begins(img *image.Image, at uint64) bool {
	s, ok := img.Symbols.At(at)
	return !ok || s.Addr == at
}

// row collects the rules that hold.
type row struct {
	arch *cpu.Arch
	out  *stackwalk.Rule
}

// take takes the rules of a line, each a register, a colon and an expression.
func (r *row) take(rules []byte) bool {
	words := bytes.Fields(rules)
	for len(words) > 0 {
		name, ok := bytes.CutSuffix(words[0], []byte(":"))
		if !ok {
			return false
		}
		n := 1
		for n < len(words) && !bytes.HasSuffix(words[n], []byte(":")) {
			n++
		}
		if !r.rule(string(name), words[1:n]) {
			return false
		}
		words = words[n:]
	}
	return true
}

// rule takes the rule of one register.
func (r *row) rule(name string, expr [][]byte) bool {
	v, ok := r.value(expr)
	switch {
	case name == ".cfa":
		r.out.CFA = v.register(cpu.NoReg)
		return ok && v.base != cfa && v.base != cpu.NoReg
	case name == ".ra" && len(expr) == 1 && string(expr[0]) == ".ra":
		r.out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: r.arch.LR}
		return r.arch.LR != cpu.NoReg
	case name == ".ra" && ok && v == value{base: cpu.NoReg}: // 0: nobody called the function
		r.out.RA = stackwalk.RegRule{Kind: stackwalk.Undefined, Reg: cpu.NoReg, Base: cpu.NoReg}
		return true
	case name == ".ra":
		r.out.RA = v.register(cpu.NoReg)
		return ok
	}
	reg, known := r.register(name)
	if !known {
		return true // of floating point
	}
	rule := v.register(reg)
	if !ok {
		rule = stackwalk.RegRule{Kind: stackwalk.Undefined, Reg: reg}
	}
	for i := range r.out.N {
		if r.out.Regs[i].Reg == reg {
			r.out.Regs[i] = rule
			return true
		}
	}
	r.out.Add(rule)
	return true
}

func (r *row) register(name string) (cpu.Reg, bool) {
	if len(name) > 0 && name[0] == '$' {
		name = name[1:]
	}
	return r.arch.RegByName(name)
}

// cfa stands for the CFA as the base of a value.
const cfa = cpu.Reg(254)

// value is a register, the CFA or nothing plus an offset, or the word that lies there plus another.
type value struct {
	base     cpu.Reg
	off, add int64
	memory   bool
}

// value reads an expression: a number, or a base, at most a number and its sign, at most a ^ and another number. Compilers' tables need no
// more.
func (r *row) value(expr [][]byte) (v value, ok bool) {
	if len(expr) == 0 {
		return v, false
	}
	switch name := string(expr[0]); name {
	case ".cfa":
		v.base = cfa
	default:
		if v.base, ok = r.register(name); !ok {
			n, err := strconv.ParseInt(name, 10, 64)
			return value{base: cpu.NoReg, off: n}, err == nil && len(expr) == 1
		}
	}
	v.off, expr, ok = sum(expr[1:])
	if ok && len(expr) > 0 && string(expr[0]) == "^" {
		v.memory = true
		v.add, expr, ok = sum(expr[1:])
	}
	return v, ok && len(expr) == 0
}

// sum reads a number and its sign, if they are there.
func sum(expr [][]byte) (n int64, rest [][]byte, ok bool) {
	if len(expr) < 2 {
		return 0, expr, true
	}
	n, err := strconv.ParseInt(string(expr[0]), 10, 64)
	switch string(expr[1]) {
	case "+":
	case "-":
		n = -n
	default:
		return 0, expr, false
	}
	return n, expr[2:], err == nil
}

// register is the value as the rule of a register.
func (v *value) register(reg cpu.Reg) stackwalk.RegRule {
	r := stackwalk.RegRule{Reg: reg, Base: v.base, Off: v.off, Add: v.add}
	switch {
	case v.base == cpu.NoReg:
		r.Kind = stackwalk.Constant
	case v.base == cfa && v.memory:
		r.Kind, r.Base = stackwalk.AtCFA, cpu.NoReg
	case v.base == cfa:
		r.Kind, r.Base = stackwalk.CFAPlus, cpu.NoReg
	case v.memory:
		r.Kind = stackwalk.AtReg
	case v.base == reg && v.off == 0:
		r.Kind, r.Base = stackwalk.SameValue, cpu.NoReg
	default:
		r.Kind = stackwalk.RegPlus
	}
	return r
}
