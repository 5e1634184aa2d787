package stackcfi

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// windows is a Container with STACK WIN records, which 32-bit x86 has.
type windows interface {
	StackWin(addr uint64) (words [][]byte, frameData, ok bool)
}

// The words of a record behind its type.
const (
	winStart = iota
	winSize
	winPrologue
	winEpilogue
	winParams
	winSaved
	winLocals
	winMax
	winHasProgram
	winProgram // or, of FPO data, whether the function uses EBP
)

// maxWords bounds a record; compilers' programs have some sixty words.
const maxWords = 512

// win makes the rule of a STACK WIN record (Breakpad, "STACK WIN records"; Microsoft, FPO_DATA and "IDiaFrameData"):
//
//	$T0 $ebp = $eip $T0 4 + ^ = $ebp $T0 ^ = $esp $T0 8 + =     a frame pointer
//	$T0 .raSearchStart = $eip $T0 ^ = $esp $T0 4 + =            locals and saved registers lie below the return address
//
// The second form, and FPO data, say where the return address is as long as no call's arguments are on the stack: in a frame
// that is about to go on at its PC.
func win(q *stackwalk.Query, c windows, out *stackwalk.Rule) unwind.Verdict {
	words, frameData, ok := c.StackWin(q.PC)
	if !ok || q.Arch.Name != "i386" {
		return unwind.NotCovered
	}
	if len(words) <= winProgram || len(words) > maxWords {
		return unwind.Malformed
	}
	n, ok := numbers(words)
	if !ok {
		return unwind.Malformed
	}
	out.Start, out.Flags = uint64(n[winStart]), out.Flags|stackwalk.StartStated
	p := program{arch: q.Arch, exact: q.Exact, frame: map[string]winValue{}}
	size := n[winLocals] + n[winSaved]
	for name, v := range map[string]int64{".cbLocals": n[winLocals], ".cbSavedRegs": n[winSaved], ".cbParams": n[winParams]} {
		p.frame[name] = winValue{base: cpu.NoReg, off: v}
	}
	p.frame[".raSearch"] = winValue{base: q.Arch.SP, off: size}
	p.frame[".raSearchStart"] = p.frame[".raSearch"]
	if !frameData {
		return p.fpo(size, n[winSaved], string(words[winProgram]) != "0", out)
	}
	for _, w := range words[winProgram:] {
		if v := p.step(string(w)); v != unwind.Found {
			return v
		}
	}
	return p.rule(out)
}

// numbers are a record's words in front of its program.
func numbers(words [][]byte) (n [winHasProgram + 1]int64, ok bool) {
	for i := range n {
		v, err := strconv.ParseInt(string(words[i]), 16, 64)
		if err != nil {
			return n, false
		}
		n[i] = v
	}
	return n, true
}

// winValue is a register plus an offset, NoReg for a number; memory: the word that lies there.
type winValue struct {
	base   cpu.Reg
	off    int64
	memory bool
}

// program runs a postfix program over values that are not known: the result is a rule.
type program struct {
	arch  *cpu.Arch
	exact bool
	frame map[string]winValue // variables and constants: as many as the record's line has words
	stack []string            // words that wait: as many as the line has
}

// step takes a word of the program.
func (p *program) step(word string) unwind.Verdict {
	n := len(p.stack)
	switch word {
	case "=":
		if n < 2 || !strings.HasPrefix(p.stack[n-2], "$") {
			return unwind.Malformed
		}
		v, ok := p.value(p.stack[n-1])
		if !ok {
			return unwind.Unsupported
		}
		p.frame[p.stack[n-2]], p.stack = v, p.stack[:n-2]
	case "+", "-":
		return p.sum(n, word == "-")
	case "^":
		return p.word(n)
	case "*", "/", "%", "@": // @ aligns: of frames that Windows' own code realigns
		return unwind.Unsupported
	case ".raSearch", ".raSearchStart":
		if !p.exact {
			return unwind.NotCovered
		}
		fallthrough
	default:
		p.stack = append(p.stack, word)
	}
	return unwind.Found
}

// sum adds the last of n words to the one before, or subtracts.
func (p *program) sum(n int, minus bool) unwind.Verdict {
	if n < 2 {
		return unwind.Malformed
	}
	a, ok := p.value(p.stack[n-2])
	b, known := p.value(p.stack[n-1])
	if !ok || !known || a.memory || b.memory || b.base != cpu.NoReg {
		return unwind.Unsupported
	}
	if minus {
		b.off = -b.off
	}
	a.off += b.off
	p.result(2, a)
	return unwind.Found
}

// word takes the memory at the last of n words.
func (p *program) word(n int) unwind.Verdict {
	if n < 1 {
		return unwind.Malformed
	}
	a, ok := p.value(p.stack[n-1])
	if !ok || a.memory || a.base == cpu.NoReg {
		return unwind.Unsupported
	}
	a.memory = true
	p.result(1, a)
	return unwind.Found
}

// result replaces words on the stack by a value.
func (p *program) result(words int, v winValue) {
	name := "$value" + strconv.Itoa(len(p.frame))
	p.frame[name] = v
	p.stack = append(p.stack[:len(p.stack)-words], name)
}

// value is what a word stands for: a number, what was assigned, else what the callee's register holds.
func (p *program) value(word string) (winValue, bool) {
	if v, ok := p.frame[word]; ok {
		return v, true
	}
	if n, err := strconv.ParseInt(word, 10, 32); err == nil {
		return winValue{base: cpu.NoReg, off: n}, true
	}
	r, ok := p.arch.RegByName(strings.TrimPrefix(word, "$"))
	return winValue{base: r}, ok && strings.HasPrefix(word, "$")
}

// rule is what the program assigned as a rule: $esp is the caller's, which the CFA is.
func (p *program) rule(out *stackwalk.Rule) unwind.Verdict {
	esp, ok := p.frame["$esp"]
	eip, known := p.frame["$eip"]
	if !ok || !known || esp.memory || esp.base == cpu.NoReg || !eip.memory {
		return unwind.Malformed
	}
	out.CFA = esp.register(cpu.NoReg, esp)
	out.RA = eip.register(cpu.NoReg, esp)
	for set := p.arch.Preserved; set != 0; set = set.Without(set.First()) {
		reg := set.First()
		if v, ok := p.frame["$"+p.arch.RegName(reg)]; ok && v.memory {
			out.Add(v.register(reg, esp))
		}
	}
	return unwind.Found
}

// register is a value as the rule of a register, by the CFA where both are known by one register.
func (v winValue) register(reg cpu.Reg, cfa winValue) stackwalk.RegRule {
	r := stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: reg, Base: v.base, Off: v.off}
	switch {
	case v.memory && v.base == cfa.base:
		r.Kind, r.Base, r.Off = stackwalk.AtCFA, cpu.NoReg, v.off-cfa.off
	case v.memory:
		r.Kind = stackwalk.AtReg
	}
	return r
}

// fpo makes the rule of FPO data: size is of locals and saved registers, below which a function that uses EBP has pushed it.
func (p *program) fpo(size, saved int64, usesEBP bool, out *stackwalk.Rule) unwind.Verdict {
	if !p.exact {
		return unwind.NotCovered
	}
	sp := p.arch.SP
	p.frame["$eip"] = winValue{base: sp, off: size, memory: true}
	p.frame["$esp"] = winValue{base: sp, off: size + 4}
	if usesEBP {
		p.frame["$ebp"] = winValue{base: sp, off: saved - 8, memory: true}
	}
	return p.rule(out)
}
