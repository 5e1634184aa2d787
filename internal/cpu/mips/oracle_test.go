package mips

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// The oracle for the standard encoding derives effects from mnemonics: the first
// operand is written if it is a general register, except as stated here.
var (
	// writeNothing: stores, traps, moves to coprocessors, cache and system
	// instructions.
	writeNothing = words(`sb sh sw sd swl swr sdl sdr sbe she swe swle swre pref prefe cache cachee synci
		teq tge tgeu tlt tltu tne teqi tgei tgeiu tlti tltiu tnei
		mtc0 mtc1 mtc2 dmtc0 dmtc1 dmtc2 mthc0 mthc1 mthc2 ctcmsa ctc0 ctc1 ctc2 mttr mtgc0 dmtgc0 mthgc0
		wrpgpr mtm0 mtm1 mtm2 mtp0 mtp1 mtp2 saa saad copyw ucopyw fork wrdsp ginvi ginvt
		cmp.eq.pw cmp.lt.pw cmp.le.pw cmp.eq.qh cmp.lt.qh cmp.le.qh cmpu.eq.ob cmpu.lt.ob cmpu.le.ob cmp.eq.ph cmp.lt.ph cmp.le.ph cmpu.eq.qb cmpu.lt.qb cmpu.le.qb
		qmac.00 qmac.01 qmac.02 qmac.03 qmacs.00 qmacs.01 qmacs.02 qmacs.03 nop zcb zcbt synciobdma
		gssq gssble gssbgt gsshle gsshgt gsswle gsswgt gssdle gssdgt gssbx gsshx gsswx gssdx gsle gsgt
		swm sdm swp sdp wait`)
	// writeHiLo: also or only the multiply registers.
	writeHiLo = words(`mult multu div divu dmult dmultu ddiv ddivu madd maddu msub msubu`)
	// notMIPS16e: prefixes by themselves, and what MIPS16e has dropped or leaves free.
	notMIPS16e    = words(`extend entry exit asmacro`)
	setT8         = words(`slt sltu slti sltiu cmp cmpi`)
	coprocessor2  = words(`lwc2 ldc2 swc2 sdc2`)
	trapMnemonics = words(`break sigrie`)
	systemCalls   = words(`syscall sdbbp hypcall`)
)

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// encoding is what the bytes of a line are.
type encoding uint8

const (
	inWords encoding = iota
	inMIPS16
	inMicro
)

// expect is the oracle. skip is why an instruction is not compared, else "".
func expect(l line, enc encoding) (e effect, skip string) {
	m := l.mnemonic
	switch {
	case enc == inMIPS16 && notMIPS16e[m]:
		return e, "a prefix by itself, or what MIPS16e dropped or leaves free"
	case enc == inMicro && (m == "lwm" || m == "ldm") && l.operands[0] == "UNKNOWN",
		enc == inMicro && (m == "lwp" || m == "ldp") && l.operands[0] == "$31":
		return e, "a list or pair of registers that does not exist"
	case enc == inMIPS16 && setT8[m] && len(l.operands) == 2:
		e.writes = cpu.SetOf(T8)
		return e, ""
	case strings.HasPrefix(m, "."), strings.HasPrefix(m, "udi"), m == "c0" || m == "c1" || m == "c2":
		return e, "unknown to objdump, or free for an implementation to define"
	case coprocessor2[m] && enc == inWords && l.word.op() >= 0x32:
		return e, "loads and stores of coprocessor 2, read as Cavium's branches"
	case isTransfer(m):
		e = expectTransfer(l)
		if enc == inMIPS16 && e.kind == branch || enc == inMIPS16 && m == "b" {
			e.slot = false
		}
		return e, ""
	case m == "jraddiusp":
		e.kind = ret
		if l.operands[0] != "0" {
			e.writes = cpu.SetOf(SP)
		}
	case trapMnemonics[m]:
		e.kind = trap
	case systemCalls[m]:
		e.kind = system
	case m == "teq" && l.operands[0] == l.operands[1]:
		e.kind = trap
	case m == "eret" || m == "eretnc" || m == "deret":
		e.kind = ret
	default:
		e.writes = expectWrites(l)
	}
	return e, ""
}

func expectWrites(l line) (set cpu.RegSet) {
	m := l.mnemonic
	switch {
	case m == "save", m == "addiusp":
		return cpu.SetOf(SP)
	case m == "restore":
		for l.operands[0][0] == '$' { // arguments, which restore does not load
			l.operands = l.operands[1:]
		}
		set = registerList(l.operands)
		if l.operands[0] != "0" {
			set = set.With(SP)
		}
		return set
	case m == "lwm" || m == "ldm":
		return registerList(l.operands)
	case m == "lwp" || m == "ldp":
		r, _ := register(l.operands[0])
		return cpu.SetOf(r, r+1).Without(Zero)
	case m == "movep":
		return registerList(l.operands[:2])
	case writeNothing[m], coprocessor2[m], strings.HasPrefix(m, "mtt"), strings.HasPrefix(m, "ctt"):
		return 0
	case (m == "clz" || m == "clo" || m == "dclz" || m == "dclo") && !l.compressed && l.word.op() == 0x1c && l.word.rd() == Zero:
		return 0 // rt and rd must be equal before release 6; rd is zero here
	case m == "mthi" || m == "mtlo":
		if len(l.operands) > 1 && l.operands[1] != "$ac0" {
			return 0
		}
		if m == "mthi" {
			return cpu.SetOf(HI)
		}
		return cpu.SetOf(LO)
	case len(l.operands) > 0 && strings.HasPrefix(l.operands[0], "$ac"):
		if l.operands[0] == "$ac0" {
			set = cpu.SetOf(HI, LO)
		}
		return set
	case writeHiLo[m] && !release6Three(l):
		set = cpu.SetOf(HI, LO)
	}
	if len(l.operands) == 0 {
		return set
	}
	if m == "mthlip" && l.operands[1] == "$ac0" {
		return cpu.SetOf(HI, LO)
	}
	if m == "mthlip" || m == "dmthlip" {
		return 0
	}
	if selfMove(l) {
		return 0
	}
	dst, _, _ := strings.Cut(l.operands[0], " or ") // clz $4 or $5: both fields name it
	if r, ok := register(dst); ok && !(writeHiLo[m] && len(l.operands) == 2) {
		set = set.With(r)
	}
	if m == "gslq" || m == "llwp" || m == "lldp" || m == "llwpe" {
		if r, ok := register(l.operands[1]); ok {
			set = set.With(r)
		}
	}
	return set.Without(Zero)
}

// registerList is the set of "$16-$18,$31" among the operands.
func registerList(operands []string) (set cpu.RegSet) {
	for _, o := range operands {
		from, to, isRange := strings.Cut(o, "-")
		first, ok := register(from)
		if !ok {
			continue
		}
		last := first
		if isRange {
			last, _ = register(to)
		}
		for r := first; r <= last; r++ {
			if r <= S7 || r >= S8 { // in save and restore s8 follows s7
				set = set.With(r)
			}
		}
	}
	return set
}

// selfMove tells moves of a register to itself, which have no effect.
func selfMove(l line) bool {
	if len(l.operands) < 2 {
		return false
	}
	switch l.mnemonic {
	case "movz", "movn", "movf", "movt", "move":
		return l.operands[0] == l.operands[1]
	case "or", "addu", "daddu", "add", "dadd", "subu", "dsubu", "sub", "dsub":
		return len(l.operands) == 3 && (l.operands[0] == l.operands[1] && l.operands[2] == "$0" ||
			l.operands[0] == l.operands[2] && l.operands[1] == "$0" && !strings.Contains(l.mnemonic, "sub"))
	}
	return false
}

// release6Three tells release 6's three-operand div from the old one, which
// objdump writes with $0 in front.
func release6Three(l line) bool {
	marked := l.word.sa() != 0
	if l.compressed {
		marked = l.word.fn() == 0x18
	}
	return marked && len(l.operands) == 3 && strings.Contains(l.mnemonic, "div")
}

func isTransfer(m string) bool {
	switch m {
	case "jals", "jalrs", "jalrs.hb", "jrs", "jrs.hb", "bals",
		"j", "jal", "jalx", "jr", "jalr", "jr.hb", "jalr.hb", "jic", "jialc", "jrc", "jalrc", "jalrc.hb", "b", "bal", "bc", "balc", "nal":
		return true
	}
	if strings.HasPrefix(m, "bneg") { // of the MSA ASE
		return false
	}
	for _, p := range []string{"beq", "bne", "blez", "bgtz", "bltz", "bgez", "bgtu", "bltu", "bgeu", "blt", "bgt", "bge", "ble",
		"bc0", "bc1", "bc2", "bc3", "bposge", "bteqz", "btnez", "bbit", "bz.", "bnz.", "bovc", "bnvc", "bnzc"} {
		if strings.HasPrefix(m, p) {
			return true
		}
	}
	return false
}

func expectTransfer(l line) (e effect) {
	m := l.mnemonic
	e.slot = !compact(m)
	last := l.operands[len(l.operands)-1]
	switch m {
	case "jr", "jr.hb", "jrs", "jrs.hb":
		e.kind = jump
		if last == "$31" {
			e.kind = ret
		}
		return e
	case "jalr", "jalr.hb", "jalrs", "jalrs.hb", "jalrc", "jalrc.hb":
		link := RA
		if len(l.operands) == 2 {
			link, _ = register(l.operands[0])
		}
		e.kind, e.writes = call, cpu.SetOf(link).Without(Zero)
		if link == Zero {
			e.kind = jump
			if last == "$31" {
				e.kind = ret
			}
		}
		return e
	case "jic":
		e.kind = jump
		if l.operands[0] == "$31" && last == "0" {
			e.kind = ret
		}
		return e
	case "jrc":
		e.kind = jump
		if last == "$31" {
			e.kind = ret
		}
		return e
	case "jialc":
		e.kind, e.writes = call, cpu.SetOf(RA)
		return e
	case "nal", "bltzal", "bltzals", "bltzall":
		e.kind, e.writes = call, cpu.SetOf(RA)
		if m == "nal" || l.operands[0] == "$0" {
			return e // never branches
		}
	case "j", "b", "bc":
		e.kind = jump
	case "jal", "jals", "jalx", "bal", "bals", "balc":
		e.kind, e.writes = call, cpu.SetOf(RA)
	default:
		e.kind = branch
		if links(m) {
			e.kind, e.writes = call, cpu.SetOf(RA)
		}
		always := (m == "beq" || m == "beql") && l.operands[0] == l.operands[1] ||
			(m == "bgez" || m == "bgezl") && l.operands[0] == "$0"
		if always {
			e.kind = jump
		}
	}
	target, err := strconv.ParseUint(strings.TrimPrefix(last, "0x"), 16, 64)
	e.target, e.hasTarget = target&^1, err == nil
	return e
}

// compact branches end in c; the condition code of bc1f and the like does not.
func compact(m string) bool {
	return strings.HasSuffix(m, "c") || m == "jalrc.hb"
}

func links(m string) bool {
	switch m {
	case "bgezals", "bltzals", "bgezal", "bltzal", "bgezall", "bltzall", "bgezalc", "bltzalc", "blezalc", "bgtzalc", "beqzalc", "bnezalc":
		return true
	}
	return false
}
