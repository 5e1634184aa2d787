package riscv

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

var (
	rv64   = decoder{isa{rv64: true}}
	rv32   = decoder{}
	rv32zc = decoder{isa{zcmp: true}}
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
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	for name, file := range recorded.Programs(t, "riscv64/*", "naked") {
		t.Run(name, func(t *testing.T) { compareFile(t, rv64, name, file) })
	}
	for name, file := range recorded.Programs(t, "rv32imac/*", "naked") {
		t.Run(name, func(t *testing.T) { compareFile(t, rv32zc, name, file) })
	}
	wide := difftest.Files(elf.EM_RISCV, func(f *elf.File) bool { return f.Class == elf.ELFCLASS64 })
	for _, file := range append(wide, "/usr/riscv64-linux-gnu/lib/libc.so.6") {
		if _, err := os.Stat(file); err == nil {
			t.Run(file, func(t *testing.T) { compareFile(t, rv64, file, file) })
		}
	}
}

func compareFile(t *testing.T, d decoder, name, file string) {
	args := append(difftest.Sample(t, file, 0, 128<<10), "-d", "-z", "-w", "-M", "no-aliases,numeric", file)
	compare(t, d, name, args)
}

// TestRandomAgainstObjdump does the same with bytes that no compiler makes.
func TestRandomAgainstObjdump(t *testing.T) {
	n := 40_000
	if difftest.Long() {
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
	file := difftest.Raw(t, code)
	args := []string{"-D", "-z", "-w", "-M", "no-aliases,numeric", "-b", "binary", "-m"}
	t.Run("rv64", func(t *testing.T) { compare(t, rv64, "random words", append(args, "riscv:rv64", file)) })
	t.Run("rv32", func(t *testing.T) { compare(t, rv32, "random words", append(args, "riscv:rv32", file)) })
}

func compare(t *testing.T, d decoder, name string, args []string) {
	tally := difftest.Tally{CPU: map[bool]string{true: "riscv64", false: "riscv32"}[d.rv64], File: name}
	difftest.Objdump(t, "riscv64-linux-gnu-objdump", func(printed difftest.Line) {
		l, ok := parse(&printed)
		if !ok {
			return
		}
		tally.Compared++
		in := decodeAt(d, l.code, l.pc)
		what := l.disagreement(d, in)
		if reason := l.accepted(d, what); reason != "" {
			tally.Accept(reason)
		} else if what != "" {
			tally.Wrongly(t, "%x: %x %s %s: %s\n\tgot %s", l.pc, l.code, l.mnemonic, l.operands, what, show(in))
		}
	}, args...)
	tally.Log(t)
	if tally.Compared == 0 {
		t.Error("nothing was disassembled")
	}
}

var comment = regexp.MustCompile(`\s*(#.*|<.*>.*)$`)

// parse leaves out data, what objdump does not know, and the rest of an instruction
// that is cut off, which is printed in bytes.
func parse(printed *difftest.Line) (l line, ok bool) {
	if strings.HasPrefix(printed.Text, ".") || len(printed.Units) != 1 {
		return l, false
	}
	return line{
		pc: printed.Addr, code: printed.Code(binary.LittleEndian),
		mnemonic: printed.Mnemonic(), operands: comment.ReplaceAllString(printed.Operands(), ""),
	}, true
}

func names(s cpu.RegSet) string { return difftest.Names(Archs()[0], s) }

// show writes an effect as a formula; tables of expected effects use it.
func show(in *cpu.Insn) string { return difftest.Formula(Archs()[0], in) }

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
	if got, want := difftest.Flow(in), l.flow(); got != want {
		return "flow " + got + ", want " + want
	}
	if want, ok := l.target(); ok && in.Target != want {
		return "target"
	}
	if got, want := difftest.Written(in), l.written(); got != want && in.Op != cpu.OpSyscall {
		return "writes" + names(got) + ", want" + names(want)
	}
	if want, ok := l.constant(); ok && !sameConstant(d, in, want) {
		return "constant"
	}
	return l.memoryDisagreement(in)
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
