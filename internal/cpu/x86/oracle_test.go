package x86

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// The oracle derives from objdump's AT&T text what an instruction must do. It
// knows mnemonics, never opcodes: what it shares with the decoder is the
// vocabulary of effects only.

// expectation is what the text says.
type expectation struct {
	kind   string // call, jump, branch, return, trap, syscall, or "" for the rest
	target uint64 // of a direct transfer
	direct bool
	writes cpu.RegSet
	sp     int64  // what a push or pop adds to SP
	exact  string // the whole effect as format writes it, "" where only the above is derived
	store  bool   // writes the memory operand, its last one
	mem    string // the memory operand as format writes it, without size
}

// text is one line of objdump taken apart.
type text struct {
	mnemonic string
	prefixes string
	operands []string
}

const prefixWords = " lock rep repz repnz notrack bnd data16 cs ds es ss fs gs addr32 addr16 xacquire xrelease {vex} "

func split(line string) text {
	if i := strings.IndexAny(line, "#<"); i >= 0 {
		line = line[:i]
	}
	line = strings.TrimSpace(line)
	var t text
	for {
		word, rest, _ := strings.Cut(line, " ")
		if !strings.Contains(prefixWords, " "+word+" ") && !strings.HasPrefix(word, "rex") {
			t.mnemonic = word
			line = strings.TrimSpace(rest)
			break
		}
		if word == "" {
			return t
		}
		t.prefixes += word + " "
		line = strings.TrimSpace(rest)
	}
	depth, from := 0, 0
	for i, c := range line {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			t.operands = append(t.operands, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	if line != "" {
		t.operands = append(t.operands, strings.TrimSpace(line[from:]))
	}
	return t
}

// names are the 16-, 32- and 64-bit and byte names of the eight old registers.
var names = [...]string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"}

// register reads "%eax" as the register and its size.
func register(a *cpu.Arch, s string) (cpu.Reg, int, bool) {
	name, ok := strings.CutPrefix(s, "%")
	if !ok {
		return cpu.NoReg, 0, false
	}
	for i, n := range names {
		full := map[int]string{4: "e", 8: "r"}[a.RegSize] + n
		r, _ := a.RegByName(full)
		switch name {
		case "r" + n:
			return r, 8, true
		case "e" + n:
			return r, 4, true
		case n:
			return r, 2, true
		case n + "l", n[:1] + "l":
			if name == n+"l" || i < 4 {
				return r, 1, true
			}
		case n[:1] + "h":
			if i < 4 {
				return r, 1, true
			}
		}
	}
	base := strings.TrimRight(name, "dwb")
	if r, ok := a.RegByName(base); ok && len(base) > 1 && base[0] == 'r' && base[1] >= '1' && base[1] <= '9' {
		size := map[string]int{"": 8, "d": 4, "w": 2, "b": 1}[name[len(base):]]
		return r, size, true
	}
	return cpu.NoReg, 0, false
}

// isMemory tells memory operands from registers and constants.
func isMemory(s string) bool {
	s = strings.TrimPrefix(s, "*")
	return s != "" && s[0] != '$' && (s[0] != '%' || strings.HasPrefix(s, "%fs:") || strings.HasPrefix(s, "%gs:") ||
		strings.Contains(s, ":")) && !strings.HasPrefix(s, "{")
}

// memory reads a memory operand. flat is false for what has no address of
// the full width.
func memory(a *cpu.Arch, s string, next uint64) (string, bool) {
	s = strings.TrimPrefix(s, "*")
	for _, seg := range []string{"%ds:", "%ss:", "%es:", "%cs:"} {
		s = strings.TrimPrefix(s, seg)
	}
	if s == "" || s[0] == '%' {
		return "", false
	}
	if i := strings.IndexByte(s, '{'); i >= 0 {
		s = s[:i]
	}
	disp, regs, hasRegs := strings.Cut(s, "(")
	v, ok := number(disp)
	if !ok {
		return "", false
	}
	i := cpu.Insn{Base: cpu.NoReg, Index: cpu.NoReg, Imm: v}
	if hasRegs {
		part := strings.Split(strings.TrimSuffix(regs, ")"), ",")
		if part[0] == "%rip" {
			i.Imm += int64(next)
		} else if part[0] != "" {
			r, size, ok := register(a, part[0])
			if !ok || size != a.RegSize {
				return "", false
			}
			i.Base = r
		}
		if len(part) > 1 && part[1] != "" && part[1] != "%riz" && part[1] != "%eiz" {
			r, size, ok := register(a, part[1])
			if !ok || size != a.RegSize {
				return "", false
			}
			i.Index = r
			for n := 1; n < 4 && len(part) > 2; n++ {
				if part[2] == strconv.Itoa(1<<n) {
					i.Scale = uint8(n)
				}
			}
		}
	}
	if i.Base == cpu.NoReg && a.RegSize == 4 {
		i.Imm = int64(uint32(i.Imm))
	}
	return strings.TrimSuffix(operand(a, &i), ".0"), true
}

func number(s string) (int64, bool) {
	s = strings.TrimPrefix(s, "$")
	if s == "" {
		return 0, true
	}
	if n, ok := strings.CutPrefix(s, "-"); ok {
		v, err := strconv.ParseUint(n, 0, 64)
		return -int64(v), err == nil
	}
	v, err := strconv.ParseUint(s, 0, 64)
	return int64(v), err == nil
}

// none names, by prefix, the mnemonics whose last operand is only read, and
// those that write no general register.
var none = []string{
	"cmp", "test", "nop", "prefetch", "out", "vucomi", "ucomi", "comis", "vcomi", "ptest", "vptest", "vtest",
	"lgdt", "lidt", "ldmxcsr", "vldmxcsr", "fld", "fild", "fbld", "fadd", "fsub", "fmul", "fdiv", "fiadd", "fisub", "fimul", "fidiv",
	"fcom", "ficom", "frstor", "fxrstor", "xrstor", "invlpg", "clflush", "clwb", "cldemote", "wrfsbase", "wrgsbase", "incssp", "rstorssp",
	"clrssbsy", "lldt", "ltr", "lmsw", "verr", "verw", "wrpkru", "ptwrite", "bound", "vmptrld", "vmclear",
	"vmxon", "vmresume", "vmwrite", "invept", "invvpid", "invpcid", "movdir64b", "enqcmd", "umonitor", "umwait", "tpause",
	"bndcl", "bndcu", "bndcn", "bndmk", "kortest", "ktest", "sysret", "ldtilecfg", "llwpcb", "lwpins", "lwpval", "senduipi", "xbegin", "xabort",
	"vgather", "vpgather", "vscatter", "vpscatter", "tileload", "tilestore",
}

func hasPrefix(m string, list []string) bool {
	for _, p := range list {
		if strings.HasPrefix(m, p) {
			return true
		}
	}
	return false
}

// suffixed tells whether m is name with or without an AT&T size suffix.
func suffixed(m, name string) bool {
	rest, ok := strings.CutPrefix(m, name)
	return ok && (rest == "" || len(rest) == 1 && strings.Contains("bwlq", rest))
}

// implicit are the registers that a mnemonic writes without naming them.
var implicit = map[string]string{
	"cpuid": "ax bx cx dx", "rdtsc": "ax dx", "rdtscp": "ax cx dx", "rdpmc": "ax dx", "rdmsr": "ax dx", "xgetbv": "ax dx",
	"rdpkru": "ax dx", "cltq": "ax", "cwtl": "ax", "cbtw": "ax", "cltd": "dx", "cqto": "dx", "cwtd": "dx", "lahf": "ax",
	"xlat": "ax", "daa": "ax", "das": "ax", "aaa": "ax", "aas": "ax", "aam": "ax", "aad": "ax", "salc": "ax",
	"leave": "sp bp", "leavew": "sp bp", "enter": "sp bp", "popa": "ax bx cx dx si di bp sp", "popaw": "ax bx cx dx si di bp sp",
	"pcmpestri": "cx", "pcmpistri": "cx", "vpcmpestri": "cx", "vpcmpistri": "cx",
	"pcmpestril": "cx", "pcmpestriq": "cx", "vpcmpestril": "cx", "vpcmpestriq": "cx",
	"cmpxchg8b": "ax dx", "cmpxchg16b": "ax dx", "getsec": "ax bx cx", "vmcall": "ax bx cx dx", "vmmcall": "ax bx cx dx",
	"encls": "ax bx cx dx", "enclu": "ax bx cx dx", "enclv": "ax bx cx dx",
	"xstore-rng": "ax cx si di", "xcrypt-ecb": "ax cx si di", "xcrypt-cbc": "ax cx si di", "xcrypt-ctr": "ax cx si di",
	"xcrypt-cfb": "ax cx si di", "xcrypt-ofb": "ax cx si di", "montmul": "ax cx dx si di", "xsha1": "ax cx si di", "xsha256": "ax cx si di",
	"loop": "cx", "loope": "cx", "loopne": "cx",
}

func old(a *cpu.Arch, list string) (s cpu.RegSet) {
	for _, n := range strings.Fields(list) {
		r, _ := a.RegByName(n)
		s = s.With(r)
	}
	return s
}

// expect derives the effect of a line; next is the address behind it.
func expect(a *cpu.Arch, line string, next uint64) expectation {
	t := split(line)
	m := strings.TrimSuffix(strings.TrimSuffix(t.mnemonic, ",pn"), ",pt")
	var e expectation
	var last string
	if n := len(t.operands); n > 0 {
		last = strings.TrimSpace(t.operands[n-1])
	}
	if isMemory(last) {
		if s, ok := memory(a, last, next); ok && !strings.Contains(t.prefixes, "addr32") {
			e.mem = s
		}
	}
	if w, ok := implicit[m]; ok {
		e.writes = old(a, w)
	}
	switch {
	case e.transfer(a, m, last):
	case m == "leave", m == "enter", strings.HasPrefix(m, "popa"), strings.HasPrefix(m, "cmpxchg8b"), strings.HasPrefix(m, "cmpxchg16b"):
	case e.stack(a, m, t, last):
	case e.strings(a, m, t):
	case hasPrefix(m, []string{"cmpxchg", "xadd"}) || suffixed(m, "xchg"):
		e.pairs(a, m, t)
	case hasPrefix(m, []string{"cmp"}) && !strings.HasSuffix(m, "xadd"), hasPrefix(m, none), suffixed(m, "bt"), suffixed(m, "fst") && !isMemory(last):
	case len(t.operands) == 1 && (suffixed(m, "mul") || suffixed(m, "imul") || suffixed(m, "div") || suffixed(m, "idiv")):
		e.writes = old(a, "ax dx")
		if _, size, _ := register(a, last); size == 1 || strings.HasSuffix(m, "b") {
			e.writes = old(a, "ax")
		}
	case m == "mulx":
		for _, o := range t.operands[1:] {
			r, _, _ := register(a, o)
			e.writes = e.writes.With(r)
		}
	default:
		e.destination(a, m, t, last)
		e.exactly(a, m, t, next)
	}
	return e
}

// transfer knows control flow.
func (e *expectation) transfer(a *cpu.Arch, m, last string) bool {
	switch {
	case hasPrefix(m, []string{"call", "lcall"}):
		e.kind = "call"
	case hasPrefix(m, []string{"jmp", "ljmp"}):
		e.kind = "jump"
	case m[0] == 'j', strings.HasPrefix(m, "loop"), strings.HasPrefix(m, "xbegin"):
		e.kind = "branch"
	case hasPrefix(m, []string{"ret", "lret", "iret", "sysret", "sysexit", "uiret", "rsm"}):
		e.kind = "return"
	case hasPrefix(m, []string{"ud0", "ud1", "ud2", "hlt", "int3", "int1"}):
		e.kind = "trap"
	case m == "int", m == "syscall", m == "sysenter":
		e.kind = "syscall"
		return true
	default:
		return false
	}
	if last != "" && last[0] != '*' && last[0] != '%' && last[0] != '$' && e.kind != "return" && e.kind != "trap" {
		v, err := strconv.ParseUint(strings.TrimPrefix(last, "0x"), 16, 64)
		e.target, e.direct = v, err == nil
	}
	return true
}

// stack knows pushes and pops.
func (e *expectation) stack(a *cpu.Arch, m string, t text, last string) bool {
	push := strings.HasPrefix(m, "push")
	if !push && !strings.HasPrefix(m, "pop") || strings.HasPrefix(m, "popcnt") {
		return false
	}
	size := int64(a.RegSize)
	r, s, isReg := register(a, last)
	if isReg && s == 2 || strings.HasSuffix(m, "w") {
		size = 2
	}
	if strings.HasPrefix(m, "pusha") {
		size *= 8
	}
	e.writes = old(a, "sp")
	e.mem = ""
	sp := a.RegName(a.SP)
	switch {
	case push:
		src := "?"
		if isReg {
			src = a.RegName(r)
		}
		e.sp = -size
		e.exact = fmt.Sprintf("[%s-%#x].%d = %s; %s += -%d", sp, size, size, src, sp, size)
	case isReg && r == a.SP:
		e.exact = fmt.Sprintf("%s = [%s].%d", sp, sp, size)
	case isReg:
		e.sp = size
		e.writes = e.writes.With(r)
		e.exact = fmt.Sprintf("%s = [%s].%d; %s += %d", a.RegName(r), sp, size, sp, size)
	default:
		e.sp = size
		e.exact = fmt.Sprintf("%s = %s + %#x", sp, sp, size)
	}
	return true
}

// strings knows the string instructions by their operands.
func (e *expectation) strings(a *cpu.Arch, m string, t text) bool {
	regs := map[string]string{"movs": "si di", "cmps": "si di", "stos": "di", "scas": "di", "lods": "si ax", "ins": "di", "outs": "si"}
	for name, w := range regs {
		if !suffixed(m, name) || !strings.Contains(strings.Join(t.operands, " "), "%es:") && !strings.Contains(strings.Join(t.operands, " "), "si)") {
			continue
		}
		if (name == "movs" || name == "cmps") && len(t.operands) == 2 && strings.Contains(t.operands[0]+t.operands[1], "%xmm") {
			continue // movsd, cmpsd of SSE
		}
		if strings.Contains(t.operands[0], "%xmm") || len(t.operands) > 1 && !strings.Contains(t.operands[0]+t.operands[1], ":(") {
			continue // movsl and the like never name other operands
		}
		e.writes = old(a, w)
		if strings.Contains(t.prefixes, "rep") {
			e.writes |= old(a, "cx")
		}
		e.mem = ""
		return true
	}
	return false
}

// pairs knows the exchanges.
func (e *expectation) pairs(a *cpu.Arch, m string, t text) {
	if strings.HasPrefix(m, "cmpxchg") {
		e.writes = old(a, "ax")
		t.operands = t.operands[1:]
	}
	for _, o := range t.operands {
		if r, size, ok := register(a, o); ok {
			if len(t.operands) == 2 && t.operands[0] == t.operands[1] && suffixed(m, "xchg") && size != 4 && size != 1 {
				return // xchg %ax,%ax
			}
			e.writes = e.writes.With(r)
		}
	}
	e.mem = ""
}

// destination knows that the last operand is written.
func (e *expectation) destination(a *cpu.Arch, m string, t text, last string) {
	if strings.HasPrefix(m, "bts") || strings.HasPrefix(m, "btr") || strings.HasPrefix(m, "btc") {
		if len(t.operands) > 1 && t.operands[0][0] == '%' {
			e.mem = "" // a bit string, address unknown
		}
	}
	if r, _, ok := register(a, last); ok {
		e.writes = e.writes.With(r)
	}
	e.store = e.mem != "" && len(t.operands) > 0 && isMemory(last) && !hasPrefix(m, []string{"lea", "xlat"})
}

// exactly derives the whole effect of the plainest mnemonics.
func (e *expectation) exactly(a *cpu.Arch, m string, t text, next uint64) {
	if len(t.operands) != 2 || strings.Contains(t.prefixes, "addr32") {
		return
	}
	src, dst := t.operands[0], t.operands[1]
	d, size, ok := register(a, dst)
	if !ok || size < 4 {
		return
	}
	word := ""
	if size < a.RegSize {
		word = " word32"
	}
	name := a.RegName(d)
	s, _, srcIsReg := register(a, src)
	imm, _ := number(src)
	switch isImm := strings.HasPrefix(src, "$"); {
	case strings.HasPrefix(m, "cmov") && s == d && word == "":
		e.exact, e.writes = "nop", 0
	case (suffixed(m, "mov") || m == "movabs") && isImm:
		if size == 4 {
			imm = int64(uint32(imm))
		}
		e.exact = fmt.Sprintf("%s = %#x", name, uint64(imm))
	case suffixed(m, "mov") && srcIsReg && s == d && word == "":
		e.exact, e.writes = "nop padding", 0
	case suffixed(m, "mov") && srcIsReg:
		e.exact = name + " = " + a.RegName(s) + word
	case suffixed(m, "mov") && isMemory(src):
		if s, ok := memory(a, src, next); ok {
			e.exact = fmt.Sprintf("%s = %s.%d%s", name, s, size, word)
		} else {
			e.exact = "clobber " + name
		}
	case suffixed(m, "xor") && srcIsReg && s == d, suffixed(m, "sub") && srcIsReg && s == d:
		e.exact = name + " = 0x0"
	case suffixed(m, "add") && isImm:
		e.exact = fmt.Sprintf("%s = %s + %s%s", name, name, hexInt(signed(imm, size)), word)
	case suffixed(m, "sub") && isImm:
		e.exact = fmt.Sprintf("%s = %s + %s%s", name, name, hexInt(-signed(imm, size)), word)
	case suffixed(m, "and") && isImm && imm != 0:
		e.exact = fmt.Sprintf("%s = %s & %s%s", name, name, hexInt(signed(imm, size)), word)
	case suffixed(m, "add") && srcIsReg:
		e.exact = fmt.Sprintf("%s = %s + %s<<0%s", name, name, a.RegName(s), word)
	case suffixed(m, "sub") && srcIsReg:
		e.exact = fmt.Sprintf("%s = %s - %s<<0%s", name, name, a.RegName(s), word)
	case suffixed(m, "or") && srcIsReg && s == d && word == "", suffixed(m, "and") && srcIsReg && s == d && word == "":
		e.exact, e.writes = "nop", 0
	case suffixed(m, "shl") && isImm && imm < int64(8*size):
		e.exact = fmt.Sprintf("%s = %s << %d%s", name, name, imm, word)
	case suffixed(m, "shr") && isImm && imm < int64(8*size):
		e.exact = fmt.Sprintf("%s = %s >> %d%s", name, name, imm, word)
	case suffixed(m, "lea"):
		e.leaExactly(a, src, name, word, next)
	}
}

// leaExactly derives the forms with one register; others it leaves open.
func (e *expectation) leaExactly(a *cpu.Arch, src, name, word string, next uint64) {
	s, ok := memory(a, src, next)
	if !ok {
		return
	}
	s = strings.Trim(s, "[]")
	switch base, disp, two := strings.Cut(s, "+"); {
	case strings.Contains(src, "(%rip)") && word == "":
		e.exact = name + " = " + s + " address"
	case strings.Contains(src, "(%rip)") || strings.Contains(s, "*") || strings.HasPrefix(s, "0x"):
	case two:
		e.exact = name + " = " + base + " + " + disp + word
	case strings.Contains(s, "-"):
		base, disp, _ := strings.Cut(s, "-")
		e.exact = name + " = " + base + " + -" + disp + word
	case s == name && word == "":
		e.exact, e.writes = "nop padding", 0
	default:
		e.exact = name + " = " + s + word
	}
}

func signed(v int64, size int) int64 {
	if size == 4 {
		return int64(int32(v))
	}
	return v
}
