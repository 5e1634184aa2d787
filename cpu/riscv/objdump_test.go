package riscv

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

const objdump = "riscv64-linux-gnu-objdump"

var (
	rv64   = decoder{rv64: true}
	rv32   = decoder{}
	rv32zc = decoder{zcmp: true}
)

// line is one instruction as objdump prints it without aliases, with registers
// by number.
type line struct {
	pc       uint64
	code     []byte
	mnemonic string
	operands string
}

// TestAgainstObjdump compares every instruction of real binaries with what its
// text says: length, control flow, direct target, registers written, constants,
// and memory operands.
func TestAgainstObjdump(t *testing.T) {
	wide, _ := filepath.Glob("../../../shared/truth/public/riscv64/*/naked.elf")
	narrow, _ := filepath.Glob("../../../shared/truth/public/rv32imac/*/naked.elf")
	wide = append(wide, "/usr/riscv64-linux-gnu/lib/libc.so.6")
	wide = append(wide, difftest.Files(elf.EM_RISCV, func(f *elf.File) bool { return f.Class == elf.ELFCLASS64 })...)
	for _, f := range wide {
		compareFile(t, rv64, f)
	}
	for _, f := range narrow {
		compareFile(t, rv32zc, f)
	}
}

func compareFile(t *testing.T, d decoder, file string) {
	if _, err := os.Stat(file); err != nil {
		return
	}
	t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
		args := []string{"-d", "-z", "-w", "-M", "no-aliases,numeric"}
		if os.Getenv("BACKSIGHT_LONG") == "" {
			args = append(args, sample(t, file)...)
		}
		compare(t, d, file, append(args, file))
	})
}

// sample chooses 128 KB out of the text.
func sample(t *testing.T, file string) []string {
	out, err := exec.Command(objdump, "-h", file).Output()
	if err != nil {
		t.Skip(err)
	}
	m := regexp.MustCompile(`\.text +\w+ +(\w+)`).FindSubmatch(out)
	if m == nil {
		t.Skip("no .text in", file)
	}
	base, _ := strconv.ParseUint(string(m[1]), 16, 64)
	hex := func(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }
	return []string{"--start-address=" + hex(base), "--stop-address=" + hex(base+128<<10)}
}

// TestRandomAgainstObjdump does the same with bytes that no compiler makes.
func TestRandomAgainstObjdump(t *testing.T) {
	n := 40_000
	if os.Getenv("BACKSIGHT_LONG") != "" {
		n = 4_000_000
	}
	rng := rand.New(rand.NewSource(1))
	code := make([]byte, n)
	rng.Read(code)
	for i := 0; i < n; i += 4 { // two thirds of 32-bit instructions
		if i%3 != 0 {
			code[i] |= 3
			code[i] &^= 0x10 >> (i & 4)
		}
	}
	file := filepath.Join(t.TempDir(), "random.bin")
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-D", "-z", "-w", "-M", "no-aliases,numeric", "-b", "binary", "-m"}
	t.Run("rv64", func(t *testing.T) { compare(t, rv64, "random words", append(args, "riscv:rv64", file)) })
	t.Run("rv32", func(t *testing.T) { compare(t, rv32, "random words", append(args, "riscv:rv32", file)) })
}

func compare(t *testing.T, d decoder, name string, args []string) {
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
	tally := difftest.Tally{CPU: map[bool]string{true: "riscv64", false: "riscv32"}[d.rv64], File: name}
	for scan := bufio.NewScanner(pipe); scan.Scan(); {
		l, ok := parse(scan.Text())
		if !ok {
			continue
		}
		tally.Compared++
		in := decodeAt(d, l.code, l.pc)
		what := l.disagreement(d, in)
		if reason := l.accepted(d, what); reason != "" {
			tally.Accept(reason)
		} else if what != "" {
			if tally.Wrong++; tally.Wrong <= 20 {
				t.Errorf("%x: %x %s %s: %s\n\tgot %s", l.pc, l.code, l.mnemonic, l.operands, what, show(in))
			}
		}
	}
	tally.Log(t)
	if tally.Compared == 0 {
		t.Skip("nothing disassembled")
	}
}

var comment = regexp.MustCompile(`\s*(#.*|<.*>.*)$`)

func parse(text string) (l line, ok bool) {
	f := strings.Split(text, "\t")
	if len(f) < 3 || !strings.HasSuffix(f[0], ":") {
		return l, false
	}
	pc, err1 := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(f[0], ":")), 16, 64)
	hex := strings.TrimSpace(f[1])
	v, err2 := strconv.ParseUint(hex, 16, 32)
	if err1 != nil || err2 != nil || strings.HasPrefix(f[2], ".") {
		return l, false // data, or what objdump does not know
	}
	l = line{pc: pc, code: binary.LittleEndian.AppendUint32(nil, uint32(v))[:len(hex)/2], mnemonic: f[2]}
	if len(f) > 3 {
		l.operands = comment.ReplaceAllString(strings.Join(f[3:], " "), "")
	}
	return l, true
}

func decodeAt(d decoder, code []byte, pc uint64) *cpu.Insn {
	var out [1]cpu.Insn
	d.Decode(code, pc, 0, out[:])
	return &out[0]
}

// accepted is why a difference stays.
func (l line) accepted(d decoder, what string) string {
	by, _ := l.constant()
	switch {
	case l.mnemonic == "c.addi16sp" && l.operands == "x2,0" && what != "" && what != "length":
		return "c.addi16sp by 0 is reserved; objdump prints it"
	case !d.rv64 && strings.TrimPrefix(l.mnemonic, "c.") == "slli" && by >= 32 && what == "constant":
		return "slli by 32 and more on RV32 is reserved or left to custom extensions; objdump prints it"
	}
	return ""
}

func (l line) disagreement(d decoder, in *cpu.Insn) string {
	if int(in.Len) != len(l.code) {
		return "length"
	}
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
	if want, ok := l.constant(); ok && !sameConstant(d, in, want) {
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

var branches = regexp.MustCompile(`^(b(eq|ne|lt|ge|ltu|geu)|c\.b(eqz|nez))$`)

func (l line) flow() string {
	switch m := l.mnemonic; {
	case branches.MatchString(m):
		return "branch"
	case m == "jal" && !strings.HasPrefix(l.operands, "x0,"), m == "c.jal", m == "c.jalr":
		return "call"
	case m == "jalr" && (strings.HasPrefix(l.operands, "x1,") || strings.HasPrefix(l.operands, "x5,")):
		return "call"
	case m == "c.jr" && (l.operands == "x1" || l.operands == "x5"):
		return "return"
	case m == "jalr" && (l.operands == "x0,0(x1)" || l.operands == "x0,0(x5)"):
		return "return"
	case m == "jal", m == "jalr", m == "c.j", m == "c.jr":
		return "jump"
	case m == "mret", m == "sret", m == "uret", m == "dret":
		return "return"
	case m == "ebreak", m == "c.ebreak", m == "c.unimp", m == "unimp":
		return "trap"
	}
	return ""
}

func (l line) target() (uint64, bool) {
	if l.mnemonic != "jal" && l.mnemonic != "c.j" && l.mnemonic != "c.jal" && l.flow() != "branch" {
		return 0, false
	}
	f := strings.Split(l.operands, ",")
	v, err := strconv.ParseUint(strings.TrimPrefix(f[len(f)-1], "0x"), 16, 64)
	return v, err == nil
}

// written is every register that an Insn says it writes.
func written(in *cpu.Insn) cpu.RegSet {
	s := cpu.SetOf(in.Dst, in.Dst2)
	if in.Op == cpu.OpClobber || in.Op == cpu.OpLoadMulti {
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

// oneReg parses xN; x0 is NoReg.
func oneReg(s string) cpu.Reg {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "x"))
	if err != nil || !strings.HasPrefix(s, "x") || n == 0 {
		return cpu.NoReg
	}
	return cpu.Reg(n)
}

// noResult are the exceptions to "the first operand is written if it is a
// general register".
var noResult = regexp.MustCompile(`^(s[bhwd]|c\.s[wd](sp)?|b.*|c\.b.*|c\.jr|sfence\..*|fence.*|h?fence.*|sinval.*|hsv.*|cbo.*|prefetch.*|vs[es].*)$`)

func (l line) written() cpu.RegSet {
	switch {
	case l.mnemonic == "c.jal", l.mnemonic == "c.jalr":
		return cpu.SetOf(RA)
	case noResult.MatchString(l.mnemonic):
		return 0
	case l.mnemonic == "jalr" && l.flow() == "jump":
		return 0 // a link in a register that is not for links: of no interest
	}
	return cpu.SetOf(oneReg(strings.Split(l.operands, ",")[0]))
}

// constant is the immediate of instructions that the decoder must understand.
func (l line) constant() (int64, bool) {
	f := strings.Split(l.operands, ",")
	if oneReg(f[0]) == cpu.NoReg {
		return 0, false
	}
	v, err := strconv.ParseInt(f[len(f)-1], 0, 64)
	switch l.mnemonic {
	case "lui", "c.lui":
		return int64(int32(v << 12)), true
	case "auipc":
		return int64(l.pc) + int64(int32(v<<12)), true
	case "addi", "c.addi", "c.li", "addiw", "c.addiw", "c.addi16sp", "c.addi4spn", "andi", "c.andi", "ori", "sltiu",
		"slli", "slliw", "c.slli":
		return v, err == nil
	}
	return 0, false
}

func sameConstant(d decoder, in *cpu.Insn, want int64) bool {
	switch in.Op {
	case cpu.OpConst, cpu.OpAddImm, cpu.OpCompareImm, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm:
		return in.Imm == want || !d.rv64 && uint32(in.Imm) == uint32(want) && in.Flags == cpu.FlagAddress
	case cpu.OpMove:
		return want == 0
	}
	return false
}

var memory = regexp.MustCompile(`,(-?\d+)\((x\d+)\)$`)

// memoryDisagreement compares base and offset of loads and stores.
func (l line) memoryDisagreement(in *cpu.Insn) string {
	m := memory.FindStringSubmatch(l.operands)
	if m == nil || in.Op != cpu.OpLoad && in.Op != cpu.OpStore {
		return ""
	}
	if off, _ := strconv.ParseInt(m[1], 10, 64); in.Base != oneReg(m[2]) || in.Imm != off {
		return "memory operand"
	}
	return ""
}
