package arm64

import (
	"debug/elf"
	"encoding/binary"
	"math/rand"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/difftest"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// line is one instruction as objdump prints it.
type line struct {
	pc       uint64
	word     uint32
	mnemonic string
	operands string
}

// TestAgainstObjdump compares every instruction of real binaries with what its
// text says: control flow, direct target, registers written, constants, and
// memory operands.
func TestAgainstObjdump(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for name, file := range recorded.Programs(t, "aarch64/*", "naked") {
		t.Run(name, func(t *testing.T) { compareFile(t, name, file) })
	}
	for _, file := range append(difftest.Files(elf.EM_AARCH64, nil), "/usr/aarch64-linux-gnu/lib/libc.so.6") {
		if _, err := os.Stat(file); err == nil {
			t.Run(file, func(t *testing.T) { compareFile(t, file, file) })
		}
	}
}

func compareFile(t *testing.T, name, file string) {
	args := append(difftest.Sample(t, file, 0x1000, 160<<10), "-d", "-z", "-w", file)
	compare(t, name, args)
}

// TestRandomAgainstObjdump does the same with words that no compiler makes, in
// the classes where general registers are rare among vector ones.
func TestRandomAgainstObjdump(t *testing.T) {
	n := 20_000
	if difftest.Long() {
		n = 1_000_000
	}
	rng := rand.New(rand.NewSource(1))
	code := make([]byte, 4*n)
	for i := 0; i < n; i++ {
		w := rng.Uint32()
		// Half of the words from the SVE and the memory classes.
		switch i & 3 {
		case 0:
			w = w&^(15<<25) | 2<<25
		case 1:
			w = w&^(5<<25) | 4<<25
		}
		binary.LittleEndian.PutUint32(code[4*i:], w)
	}
	compare(t, "random words", []string{"-D", "-z", "-w", "-b", "binary", "-m", "aarch64", difftest.Raw(t, code)})
}

func compare(t *testing.T, name string, args []string) {
	tally := difftest.Tally{CPU: "aarch64", File: name}
	difftest.Objdump(t, "aarch64-linux-gnu-objdump", func(printed difftest.Line) {
		l, ok := parse(&printed)
		if !ok {
			return
		}
		tally.Compared++
		if what := l.disagreement(); what != "" {
			tally.Wrongly(t, "%x: %08x %s %s: %s\n\tgot %s", l.pc, l.word, l.mnemonic, l.operands, what, show(decodeWord(l.word, l.pc)))
		}
	}, args...)
	tally.Log(t)
	if tally.Compared == 0 {
		t.Error("nothing was disassembled")
	}
}

var comment = regexp.MustCompile(`\s*(//.*|<.*>.*)$`)

// parse leaves out data, and words that objdump does not know.
func parse(printed *difftest.Line) (l line, ok bool) {
	if strings.HasPrefix(printed.Text, ".") || strings.Contains(printed.Text, "undefined") {
		return l, false
	}
	return line{
		pc: printed.Addr, word: binary.LittleEndian.Uint32(printed.Code(binary.LittleEndian)),
		mnemonic: printed.Mnemonic(), operands: comment.ReplaceAllString(printed.Operands(), ""),
	}, true
}

func names(s cpu.RegSet) string { return difftest.Names(Archs()[0], s) }

// show writes an effect as a formula; tables of expected effects use it.
func show(in *cpu.Insn) string { return difftest.Formula(Archs()[0], in) }

func decodeWord(w uint32, pc uint64) *cpu.Insn {
	var code [4]byte
	var out [1]cpu.Insn
	binary.LittleEndian.PutUint32(code[:], w)
	decoder{}.Decode(code[:], pc, 0, out[:])
	return &out[0]
}

func (l line) disagreement() string {
	in := decodeWord(l.word, l.pc)
	if in.Op == cpu.OpUnknown {
		return "known to objdump"
	}
	if got, want := difftest.Flow(in), l.flow(); got != want {
		return "flow " + got + ", want " + want
	}
	if want, ok := l.target(); ok && in.Target != want {
		return "target"
	}
	if got, want := difftest.Written(in), l.written(); got != want && in.Op != cpu.OpSyscall {
		return "writes" + names(got) + ", want" + names(want)
	}
	if want, ok := l.constant(); ok && !sameConstant(in, want) {
		return "constant"
	}
	return l.memoryDisagreement(in)
}

func (l line) flow() string {
	switch m := l.mnemonic; {
	case (m == "br" || m == "blr") && l.operands == "xzr", m == "ret" && l.operands == "xzr":
		return "trap"
	case m == "bl", strings.HasPrefix(m, "blr"):
		return "call"
	case m == "b", m == "b.al", m == "b.nv", m == "bc.al", m == "bc.nv", branchRegisterName.MatchString(m):
		if strings.HasSuffix(l.operands, "xzr") && !strings.Contains(l.operands, ",") {
			return "trap"
		}
		return "jump"
	case strings.HasPrefix(m, "b."), strings.HasPrefix(m, "bc."), m == "cbz", m == "cbnz", m == "tbz", m == "tbnz":
		return "branch"
	case strings.HasPrefix(m, "ret"), strings.HasPrefix(m, "eret"), m == "drps":
		return "return"
	case m == "brk", m == "udf", m == "hlt" && l.operands != "#0xf000":
		return "trap"
	}
	return ""
}

var branchRegisterName = regexp.MustCompile(`^br(aa|ab|aaz|abz)?$`)

var direct = regexp.MustCompile(`^(b|bl|b\..*|bc\..*|cbn?z|tbn?z)$`)

func (l line) target() (uint64, bool) {
	if !direct.MatchString(l.mnemonic) {
		return 0, false
	}
	f := strings.Split(l.operands, ", ")
	v, err := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	return v, err == nil
}

// oneReg parses an operand that is a general register; xzr is NoReg.
func oneReg(s string) cpu.Reg {
	if s == "sp" || s == "wsp" {
		return SP
	}
	if len(s) < 2 || s[0] != 'x' && s[0] != 'w' {
		return cpu.NoReg
	}
	n, err := strconv.Atoi(s[1:])
	if err != nil || n > 30 {
		return cpu.NoReg
	}
	return cpu.Reg(n)
}

// The exceptions to "the first operand is written if it is a general register".
var (
	noResult     = regexp.MustCompile(`^(st.*|cmp|cmn|tst|ccmp|ccmn|cmpp|msr|c?bn?z|tbn?z|br.*|blr.*|ret|prfu?m|dc|ic|at|tlbi|sys|cfp|cpp|dvp|wf.t|ctermeq|ctermne|setf8|setf16|rmif|tcancel)$`)
	status       = regexp.MustCompile(`^(stl?x[rp][bh]?|st64bv0?)$`)
	secondResult = regexp.MustCompile(`^(swp|ldadd|ldclr|ldeor|ldset|ld[su](max|min))(a?l?)[bh]?$`)
	twoResults   = regexp.MustCompile(`^(ldn?p|ldpsw|lda?xp|casp.*)$`)
	onX30        = regexp.MustCompile(`^(pac|aut)i[ab](sp|z)$|^xpaclri$|^blr?`)
	on17         = regexp.MustCompile(`^(pac|aut)i[ab]1716$`)
	copies       = regexp.MustCompile(`^(cpy|set)[gf]?[pme]`)
	updates      = regexp.MustCompile(`\[(\w+)(?:, #-?\w+)?\]!|\[(\w+)\], [#x]`)
	bang         = regexp.MustCompile(`(\w+)\]?!`)
)

func (l line) written() cpu.RegSet {
	m := l.mnemonic
	f := strings.Split(l.operands, ", ")
	f = append(f, "", "")
	var s cpu.RegSet
	switch {
	case l.flow() == "trap":
	case onX30.MatchString(m):
		s = cpu.SetOf(X30)
	case on17.MatchString(m):
		s = cpu.SetOf(X17)
	case m == "hint" && f[0] == "#0x28":
		s = cpu.SetOf(X16)
	case m == "ld64b":
		s = 0xff << oneReg(f[0]) & (1<<SP - 1)
	case copies.MatchString(m):
		for _, r := range bang.FindAllStringSubmatch(l.operands, -1) {
			s = s.With(oneReg(r[1]))
		}
		return s
	case secondResult.MatchString(m):
		s = cpu.SetOf(oneReg(f[1]))
	case twoResults.MatchString(m):
		s = cpu.SetOf(oneReg(f[0]), oneReg(f[1]))
	case noResult.MatchString(m) && !status.MatchString(m):
	default:
		s = cpu.SetOf(oneReg(f[0]))
	}
	if u := updates.FindStringSubmatch(l.operands); u != nil {
		zero := strings.HasSuffix(l.operands, "], #0") || strings.HasSuffix(l.operands, ", #0]!") || strings.HasSuffix(l.operands, "]!") && u[1] != "" && !strings.Contains(l.operands, ", #")
		if !zero {
			s = s.With(oneReg(u[1])).With(oneReg(u[2]))
		}
	}
	return s
}

var immediate = regexp.MustCompile(`, #(-?0x[0-9a-f]+|-?\d+)(?:, lsl #(\d+))?$`)

// constant is the immediate of instructions that the decoder must understand.
func (l line) constant() (int64, bool) {
	if l.mnemonic == "adr" || l.mnemonic == "adrp" {
		f := strings.Split(l.operands, ", ")
		v, err := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
		return int64(v), err == nil && f[0] != "xzr"
	}
	m := immediate.FindStringSubmatch(l.operands)
	if m == nil || oneReg(strings.Split(l.operands, ", ")[0]) == cpu.NoReg {
		return 0, false
	}
	v, err := strconv.ParseInt(m[1], 0, 64)
	if err != nil {
		u, _ := strconv.ParseUint(m[1], 0, 64)
		v = int64(u)
	}
	shift, _ := strconv.Atoi(m[2])
	v <<= shift
	reg := strings.Count(l.operands, ",") > 1+strings.Count(m[0], "lsl") // register source
	switch l.mnemonic {
	case "mov", "movk", "add", "adds", "cmp":
		return v, true
	case "sub", "subs", "cmn":
		return -v, true
	case "and", "ands", "orr":
		return v, !strings.Contains(l.operands, "zr") && reg
	case "lsl":
		return v, true
	}
	return 0, false
}

func sameConstant(in *cpu.Insn, want int64) bool {
	switch in.Op {
	case cpu.OpConst, cpu.OpAddImm, cpu.OpCompareImm, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm:
		return in.Imm == want || uint32(in.Imm) == uint32(want) && in.Imm == int64(uint32(want))
	case cpu.OpInsert:
		return in.Imm<<in.Scale == want
	case cpu.OpMove:
		return want == 0
	}
	// A shifted register operand, which may also be more than Scale can say.
	return in.Op == cpu.OpOr || in.Op == cpu.OpAdd || in.Op == cpu.OpSub || in.Op == cpu.OpClobber
}

var memory = regexp.MustCompile(`\[(\w+)(?:, #(-?\d+))?\](!?)(?:, #(-?\d+))?$`)

// memoryDisagreement compares base, offset and write-back of loads and stores.
func (l line) memoryDisagreement(in *cpu.Insn) string {
	if in.Op != cpu.OpLoad && in.Op != cpu.OpStore {
		return ""
	}
	m := memory.FindStringSubmatch(l.operands)
	if m == nil || in.Index != cpu.NoReg {
		return ""
	}
	off, _ := strconv.ParseInt(m[2], 10, 64)
	post, _ := strconv.ParseInt(m[4], 10, 64)
	wb := post
	if m[3] == "!" {
		wb = off
	}
	if in.Op == cpu.OpLoad && twoResults.MatchString(l.mnemonic) && oneReg(l.operands[:strings.Index(l.operands, ",")]) == cpu.NoReg {
		off += int64(in.Size) // the half that is loaded
	}
	if in.Base != oneReg(m[1]) || in.Imm != off || int64(in.WB) != wb {
		return "memory operand"
	}
	return ""
}
