package arm64

import (
	"bufio"
	"debug/elf"
	"encoding/binary"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/difftest"
)

const objdump = "aarch64-linux-gnu-objdump"

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
	files, _ := filepath.Glob("../../../shared/truth/public/aarch64/*/naked.elf")
	files = append(files, "/usr/aarch64-linux-gnu/lib/libc.so.6")
	files = append(files, difftest.Files(elf.EM_AARCH64, nil)...)
	for _, f := range files {
		if _, err := os.Stat(f); err == nil {
			t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) { compareFile(t, f) })
		}
	}
}

func compareFile(t *testing.T, file string) {
	args := []string{"-d", "-z", "-w"}
	if os.Getenv("BACKSIGHT_LONG") == "" {
		start, stop := sample(t, file)
		args = append(args, "--start-address="+start, "--stop-address="+stop)
	}
	compare(t, file, append(args, file))
}

// sample chooses 160 KB out of the text.
func sample(t *testing.T, file string) (start, stop string) {
	out, err := exec.Command(objdump, "-h", file).Output()
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(`\.text +\w+ +(\w+)`).FindSubmatch(out)
	if m == nil {
		t.Skip("no .text in", file)
	}
	base, _ := strconv.ParseUint(string(m[1]), 16, 64)
	base += 0x1000
	return "0x" + strconv.FormatUint(base, 16), "0x" + strconv.FormatUint(base+160<<10, 16)
}

// TestRandomAgainstObjdump does the same with words that no compiler makes, in
// the classes where general registers are rare among vector ones.
func TestRandomAgainstObjdump(t *testing.T) {
	n := 20_000
	if os.Getenv("BACKSIGHT_LONG") != "" {
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
	file := filepath.Join(t.TempDir(), "random.bin")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	compare(t, "random words", []string{"-D", "-z", "-w", "-b", "binary", "-m", "aarch64", file})
}

func compare(t *testing.T, name string, args []string) {
	if _, err := exec.LookPath(objdump); err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(objdump, args...)
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	tally := difftest.Tally{CPU: "aarch64", File: name}
	for scan := bufio.NewScanner(pipe); scan.Scan(); {
		l, ok := parse(scan.Text())
		if !ok {
			continue
		}
		tally.Compared++
		if what := l.disagreement(); what != "" {
			if tally.Wrong++; tally.Wrong <= 20 {
				t.Errorf("%x: %08x %s %s: %s\n\tgot %s", l.pc, l.word, l.mnemonic, l.operands, what, show(decodeWord(l.word, l.pc)))
			}
		}
	}
	tally.Log(t)
	if tally.Compared == 0 {
		t.Skip("nothing disassembled")
	}
}

var comment = regexp.MustCompile(`\s*(//.*|<.*>.*)$`)

func parse(text string) (l line, ok bool) {
	f := strings.Split(text, "\t")
	if len(f) < 3 || !strings.HasSuffix(f[0], ":") {
		return l, false
	}
	pc, err1 := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(f[0], ":")), 16, 64)
	word, err2 := strconv.ParseUint(strings.TrimSpace(f[1]), 16, 32)
	if err1 != nil || err2 != nil || strings.HasPrefix(f[2], ".") {
		return l, false // data, or a word that objdump does not know
	}
	l = line{pc: pc, word: uint32(word), mnemonic: f[2]}
	if strings.Contains(text, "undefined") {
		return l, false
	}
	if len(f) > 3 {
		l.operands = comment.ReplaceAllString(strings.Join(f[3:], " "), "")
	}
	return l, true
}

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
	if got, want := flow(in), l.flow(); got != want {
		return "flow " + got + ", want " + want
	}
	if want, ok := l.target(); ok && in.Target != want {
		return "target"
	}
	if got, want := written(in), l.written(); got != want && in.Op != cpu.OpSyscall {
		return "writes " + names(got) + ", want " + names(want)
	}
	if want, ok := l.constant(); ok && !sameConstant(in, want) {
		return "constant"
	}
	return l.memoryDisagreement(in)
}

func flow(in *cpu.Insn) string {
	switch in.Op {
	case cpu.OpCall:
		return "call"
	case cpu.OpJump:
		if in.Flags&cpu.FlagConditional != 0 {
			return "branch"
		}
		return "jump"
	case cpu.OpReturn:
		return "return"
	case cpu.OpTrap:
		return "trap"
	}
	return ""
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

// written is every register that an Insn says it writes.
func written(in *cpu.Insn) cpu.RegSet {
	s := cpu.SetOf(in.Dst, in.Dst2)
	if in.Op == cpu.OpClobber {
		s |= in.List
	}
	if in.WB != 0 {
		s = s.With(in.Base)
	}
	return s
}

func names(s cpu.RegSet) string {
	var b strings.Builder
	for ; s != 0; s = s.Without(s.First()) {
		b.WriteString(" " + name(s.First()))
	}
	return b.String()
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
