package arm

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// The oracle reads what GNU objdump prints and tells, from mnemonic and operands
// alone, what the instruction must do. It shares nothing with the decoder.

// effect is what can be told from a line of disassembly.
type effect struct {
	flow   string // "", call, jump, return, trap, syscall
	target uint64
	direct bool // target is known
	mode   cpu.Mode
	cond   bool
	// condUntold: a vector mnemonic may end like a condition (vceq).
	condUntold bool
	writes     cpu.RegSet // PC left out
	spKnown    bool       // spDelta is what the instruction adds to SP
	spDelta    int64
	literal    uint64 // the address of a literal load or an adr, 0 if none
}

// rules say which operands a mnemonic writes.
var rules = func() map[string]string {
	m := map[string]string{}
	add := func(rule, names string) {
		for _, n := range strings.Fields(names) {
			m[n] = rule
		}
	}
	// With s: the mnemonic may carry the flag-setting suffix.
	add("1s", `and eor sub rsb add adc sbc rsc orr orn mov mvn bic lsl lsr asr ror rrx neg adr mul mla`)
	add("1", `movw mls sdiv udiv clz rbit rev rev16 revsh sxtb sxth sxtb16 sxtab sxtah sxtab16
		uxtb uxth uxtb16 uxtab uxtah uxtab16 sbfx ubfx bfc bfi ssat usat ssat16 usat16 pkhbt pkhtb sel
		qadd qsub qdadd qdsub usad8 usada8 addw subw movt mrs swp swpb
		smlabb smlabt smlatb smlatt smulbb smulbt smultb smultt smlawb smlawt smulwb smulwt
		smlad smladx smlsd smlsdx smuad smuadx smusd smusdx smmla smmlar smmls smmlsr smmul smmulr
		strex strexb strexh strexd stlex stlexb stlexh stlexd crc32b crc32h crc32w crc32cb crc32ch crc32cw
		csel csinc csinv csneg cset csetm cinc cinv cneg tt ttt tta ttat sqrshr sqshl uqrshl uqrshr srshr uqshl urshr pacg
		vaddv vaddva vminv vmaxv vminav vmaxav vmladav vmladava vmladavx vmladavax vmlsdav vmlsdava vmlsdavx vmlsdavax vmlav vmlava vabav
		vminnmv vmaxnmv vminnmav vmaxnmav`)
	for _, p := range strings.Fields("s q sh u uq uh") {
		for _, o := range strings.Fields("add8 add16 sub8 sub16 asx sax addsubx subaddx") {
			m[p+o] = "1"
		}
	}
	add("12s", "umull smull umlal smlal")
	add("12", `umaal smlalbb smlalbt smlaltb smlaltt smlald smlaldx smlsld smlsldx asrl lsll lsrl sqrshrl sqshll uqrshll uqshll srshrl urshrl
		vaddlv vaddlva vmlaldav vmlaldava vmlaldavx vmlaldavax vmlsldav vmlsldava vmlsldavx vmlsldavax vmlalv vmlalva
		vrmlaldavh vrmlaldavha vrmlaldavhx vrmlaldavhax vrmlsldavh vrmlsldavha vrmlsldavhx vrmlsldavhax vrmlalvh vrmlalvha`)
	add("load", `ldr ldrb ldrh ldrsb ldrsh ldrt ldrbt ldrht ldrsbt ldrsht ldrex ldrexb ldrexh lda ldab ldah ldaex ldaexb ldaexh`)
	add("load2", "ldrd ldrexd ldaexd")
	add("store", `str strb strh strt strbt strht strd stl stlb stlh vldr vstr ldc stc ldc2 stc2 ldcl stcl ldc2l stc2l
		ldfs ldfd ldfe ldfp stfs stfd stfe stfp lfm sfm
		vldrb vldrh vldrw vldrd vstrb vstrh vstrw vstrd`)
	add("multi", `ldm ldmia ldmib ldmda ldmdb ldmfd stm stmia stmib stmda stmdb stmfd push pop
		vpush vpop vldm vldmia vldmdb vstm vstmia vstmdb fldmiax fldmdbx fstmiax fstmdbx fldmdb fldmia`)
	add("simd", "vld1 vld2 vld3 vld4 vst1 vst2 vst3 vst4 vld20 vld21 vld40 vld41 vld42 vld43 vst20 vst21 vst40 vst41 vst42 vst43")
	add("none", `cmp cmn tst teq nop yield wfe wfi sev sevl dbg setend cps cpsid cpsie msr mcr mcr2 mcrr mcrr2 cdp cdp2
		dmb dsb isb sb ssbb pssbb csdb clrex esb it sg bti aut vlldm vlstm setpan autg vscclrm vctp lctp
		tstp teqp cmpp cmnp srs srsia srsib srsda srsdb vpst vpt psel bf bfl bfx bflx bfcsel pld pldw pli`)
	add("mrc", "mrc mrc2")
	add("mrrc", "mrrc mrrc2")
	add("vmov", "vmov vmrs fmrx fmrs")
	add("b", "b")
	add("call", "bl blx blxns")
	add("bx", "bx bxj bxns")
	add("cbz", "cbz cbnz")
	add("table", "tbb tbh")
	add("trap", "udf bkpt hlt")
	add("syscall", "svc hvc smc")
	add("eret", "eret rfe rfeia rfeib rfeda rfedb")
	add("pac", "pac pacbti")
	add("clrm", "clrm")
	add("loop", "dls wls dlstp wlstp")
	add("le", "le letp")
	add("bxaut", "bxaut")
	add("base2", "vidup vddup viwdup vdwdup")
	add("vshlc", "vshlc")
	return m
}()

const conditions = " eq ne cs cc mi pl vs vc hi ls ge lt gt le hs lo "

// split separates a mnemonic into its rule and whether it is conditional.
func split(mnemonic string) (base, rule string, cond, ok bool) {
	m, _, _ := strings.Cut(mnemonic, ".")
	if strings.HasPrefix(m, "it") && strings.Trim(m[1:], "te") == "" {
		return "it", "none", false, true
	}
	if r, ok := lookup(m); ok {
		return m, r, false, true
	}
	if n := len(m) - 2; n > 0 && strings.Contains(conditions, " "+m[n:]+" ") {
		if r, ok := lookup(m[:n]); ok {
			return m[:n], r, true, true
		}
	}
	if m[0] == 'v' || m[0] == 'f' {
		if r, ok := lookup(strings.TrimRight(m, "te")); ok { // in a VPT block
			return m, r, false, true
		}
		return m, "vector", false, true
	}
	return m, "", false, false
}

func lookup(m string) (string, bool) {
	if r, ok := rules[m]; ok {
		return strings.TrimSuffix(r, "s"), true
	}
	if b, cut := strings.CutSuffix(m, "s"); cut {
		if r, ok := rules[b]; ok && strings.HasSuffix(r, "s") {
			return strings.TrimSuffix(r, "s") + "S", true
		}
	}
	return "", false
}

var regNames = map[string]cpu.Reg{"sl": R10, "fp": R11, "ip": R12, "sp": SP, "lr": LR, "pc": PC, "sb": R9}

func reg(s string) cpu.Reg {
	s = strings.TrimRight(strings.TrimSpace(s), "!")
	if r, ok := regNames[s]; ok {
		return r
	}
	if n, ok := strings.CutPrefix(s, "r"); ok {
		if v, err := strconv.Atoi(n); err == nil && v < 16 {
			return cpu.Reg(v)
		}
	}
	return cpu.NoReg
}

// operands splits at commas outside brackets and braces.
func operands(s string) []string {
	var out []string
	depth, from := 0, 0
	for i, c := range s {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(out, strings.TrimSpace(s[from:]))
}

// list reads a register list; registers that are not general ones are counted
// in bytes.
func list(s string) (set cpu.RegSet, bytes int64) {
	s = strings.Trim(s, "{}^ ")
	for _, f := range strings.Split(s, ",") {
		f = strings.TrimSpace(f)
		a, b, isRange := strings.Cut(f, "-")
		if !isRange {
			b = a
		}
		a, b = strings.TrimSpace(a), strings.TrimSpace(b)
		if reg(a) != cpu.NoReg {
			for r := reg(a); r <= reg(b); r++ {
				set = set.With(r)
			}
			continue
		}
		if a == "" || a[0] != 'd' && a[0] != 's' {
			continue
		}
		x, _ := strconv.Atoi(a[1:])
		y, _ := strconv.Atoi(b[1:])
		unit := int64(8)
		if a[0] == 's' {
			unit = 4
		}
		bytes += unit * int64(y-x+1)
	}
	return set, bytes + 4*int64(set.Len())
}

var (
	hexTarget = regexp.MustCompile(`^(0x)?[0-9a-f]+$`)
	literalAt = regexp.MustCompile(`@ \(?(?:adr \w+, )?([0-9a-f]+) <`)
	immediate = regexp.MustCompile(`#(-?\d+)`)
)

// read is the oracle. It is false for what it does not know.
func read(mnemonic, text string, thumb bool) (effect, bool) {
	var e effect
	base, rule, cond, ok := split(mnemonic)
	if !ok {
		return e, false
	}
	e.cond, e.condUntold = cond, rule == "vector"
	if m := literalAt.FindStringSubmatch(text); m != nil {
		e.literal = number(m[1])
	}
	text, _, _ = strings.Cut(text, "@")
	ops := operands(strings.TrimSpace(text))
	if thumb {
		e.mode = 1
	}
	flagS := strings.HasSuffix(rule, "S")
	e.apply(base, strings.TrimSuffix(rule, "S"), ops, flagS)
	if e.writes.Has(PC) && e.flow == "" {
		e.flow = "jump"
	}
	e.writes = e.writes.Without(PC)
	return e, true
}

func (e *effect) apply(base, rule string, ops []string, flagS bool) {
	switch rule {
	case "1", "adr":
		e.writes = cpu.SetOf(reg(ops[0]))
		e.arithmetic(base, ops, flagS)
	case "12":
		e.writes = cpu.SetOf(reg(ops[0]), reg(ops[1]))
	case "load", "load2":
		e.writes = cpu.SetOf(reg(ops[0]))
		if rule == "load2" {
			second := reg(ops[1])
			if second == cpu.NoReg { // A32 leaves it out
				second = reg(ops[0]) + 1
			}
			e.writes = e.writes.With(second)
		}
		e.address(ops)
		if reg(ops[0]) == PC && strings.HasPrefix(ops[1], "[sp") {
			e.flow = "return"
		}
	case "store":
		e.address(ops)
	case "multi":
		e.multi(base, ops)
	case "simd":
		e.address(ops)
		if strings.HasSuffix(ops[len(ops)-1], "!") {
			e.spKnown = false
		}
	case "mrc":
		e.writes = cpu.SetOf(reg(ops[2]))
	case "mrrc":
		e.writes = cpu.SetOf(reg(ops[2]), reg(ops[3]))
	case "vmov":
		for _, o := range ops {
			if reg(o) == cpu.NoReg {
				break
			}
			e.writes = e.writes.With(reg(o))
		}
	case "pac":
		e.writes = cpu.SetOf(R12)
	case "clrm":
		e.writes, _ = list(ops[0])
	case "loop":
		e.writes = cpu.SetOf(LR)
	case "base2":
		e.writes = cpu.SetOf(reg(ops[1]))
	case "vshlc":
		e.writes = cpu.SetOf(reg(ops[1]))
	default:
		e.transfer(base, rule, ops)
	}
}

// number reads a hexadecimal number, with or without 0x, up to a blank.
func number(s string) uint64 {
	v, _ := strconv.ParseUint(strings.TrimPrefix(strings.Fields(s)[0], "0x"), 16, 64)
	return v
}

// transfer has the control flow.
func (e *effect) transfer(base, rule string, ops []string) {
	switch rule {
	case "b", "cbz", "le":
		e.flow = "jump"
		e.cond = e.cond || rule != "b"
		e.direct = true
		e.target = number(ops[len(ops)-1])
	case "call":
		e.flow = "call"
		e.writes = cpu.SetOf(LR)
		if f := strings.Fields(ops[0])[0]; reg(f) == cpu.NoReg && hexTarget.MatchString(f) {
			e.direct = true
			e.target = number(f)
			if base == "blx" {
				e.mode ^= 1
			}
		}
	case "bx", "bxaut":
		e.flow = "jump"
		i := 0
		if rule == "bxaut" {
			i = 1
		}
		if reg(ops[i]) == LR {
			e.flow = "return"
		}
	case "table":
		e.flow = "jump"
	case "trap", "syscall":
		e.flow = rule
		if base == "bkpt" && ops[0] == "0x00ab" || base == "hlt" && (ops[0] == "0x003c" || ops[0] == "0xf000") {
			e.flow = "syscall"
		}
		if base == "bkpt" {
			e.cond = false
		}
	case "eret":
		e.flow = "return"
		if strings.HasSuffix(ops[0], "!") {
			e.writes = cpu.SetOf(reg(ops[0]))
		}
	}
}

// arithmetic adds what is known of writing SP or PC.
func (e *effect) arithmetic(base string, ops []string, flagS bool) {
	switch reg(ops[0]) {
	case SP:
		last := immediate.FindStringSubmatch(ops[len(ops)-1])
		plain := len(ops) == 2 || len(ops) == 3 && reg(ops[1]) == SP
		if last == nil || !plain || len(last[0]) != len(ops[len(ops)-1]) {
			return
		}
		v, _ := strconv.ParseInt(last[1], 10, 64)
		switch base {
		case "add", "addw":
			e.spKnown, e.spDelta = true, v
		case "sub", "subw":
			e.spKnown, e.spDelta = true, -v
		}
	case PC:
		if flagS || base == "mov" && len(ops) == 2 && reg(ops[1]) == LR {
			e.flow = "return"
		}
		if base == "bic" && !flagS && reg(ops[1]) == LR && ops[2][0] == '#' {
			e.flow = "return"
		}
	}
}

// address reads the write-back of a memory operand.
func (e *effect) address(ops []string) {
	for i, o := range ops {
		if !strings.HasPrefix(o, "[") {
			continue
		}
		inner, after, _ := strings.Cut(strings.TrimPrefix(o, "["), "]")
		fields := strings.Split(inner, ",")
		base := reg(strings.Split(fields[0], ":")[0])
		var delta string
		switch {
		case strings.HasPrefix(after, "!"):
			delta = strings.TrimSpace(fields[len(fields)-1])
		case i+1 < len(ops) && ops[i+1][0] != '{':
			delta = ops[i+1]
		default:
			return
		}
		if base == PC {
			return
		}
		e.writes = e.writes.With(base)
		if m := immediate.FindStringSubmatch(delta); m != nil && base == SP && m[0] == delta {
			e.spKnown = true
			e.spDelta, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
}

// multi reads ldm, stm, push, pop and their floating point relatives.
func (e *effect) multi(base string, ops []string) {
	set, bytes := list(ops[len(ops)-1])
	user := strings.HasSuffix(ops[len(ops)-1], "^")
	rn, write := SP, true
	if len(ops) == 2 {
		rn, write = reg(ops[0]), strings.HasSuffix(ops[0], "!")
	}
	load := strings.Contains(base, "ld") || strings.HasSuffix(base, "pop")
	if load {
		e.writes = set
		if user && !set.Has(PC) {
			e.writes = set.Without(SP).Without(LR)
		}
		if set.Has(PC) {
			e.flow = "jump"
			if rn == SP || set.Has(SP) || user {
				e.flow = "return"
			}
		}
	}
	if !write {
		return
	}
	e.writes = e.writes.With(rn)
	if rn == SP && !(load && set.Has(SP)) && !strings.HasSuffix(base, "x") {
		down := strings.HasSuffix(base, "push") || strings.HasSuffix(base, "db") || strings.HasSuffix(base, "da")
		e.spKnown, e.spDelta = true, bytes
		if down {
			e.spDelta = -bytes
		}
	}
}
