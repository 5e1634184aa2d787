package mips

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// assemble makes an object file of a source; it skips the test where the
// assembler is missing.
func assemble(t *testing.T, source string, args ...string) string {
	t.Helper()
	const tool = "mips-linux-gnu-as"
	if _, err := exec.LookPath(tool); err != nil {
		t.Skip(tool + " is not installed")
	}
	object := filepath.Join(t.TempDir(), "code.o")
	cmd := exec.Command(tool, append(args, "-o", object, "-")...)
	cmd.Stdin, cmd.Stderr = strings.NewReader(source), os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return object
}

// halves is a function of random halfwords in a compressed encoding.
func halves(n int, set string, next func(*rand.Rand) uint16) string {
	var s strings.Builder
	fmt.Fprintf(&s, ".set %s\n.text\n.globl f\n.ent f\n.type f,@function\nf:\n.insn\n", set)
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		fmt.Fprintf(&s, ".2byte %#x\n", next(r))
	}
	s.WriteString(".end f\n")
	return s.String()
}

// TestRandomMIPS16 compares with objdump over random halfwords, a third of them
// prefixes.
func TestRandomMIPS16(t *testing.T) {
	source := halves(sample(60_000), "mips16", func(r *rand.Rand) uint16 {
		h := uint16(r.Uint32())
		if r.IntN(3) == 0 {
			h = 0xf000 | h&0x7ff
		}
		return h
	})
	object := assemble(t, source, "-mips64r2", "-mabi=64", "-mips16")
	for _, machine := range []string{"mips:isa64r2", "mips:interaptiv-mr2"} {
		var lines []line
		for _, l := range objdump(t, true, "-d", "-m", machine, object) {
			if !reserved16(l, machine == "mips:interaptiv-mr2") {
				lines = append(lines, l)
			}
		}
		check(t, archOf(t, "n64", true, plain), inMIPS16, lines)
	}
}

// reserved16 tells extended instructions with bits that are reserved (before
// MIPS16e2), and that objdump does not look at.
func reserved16(l line, e2 bool) bool {
	if l.word>>27 != opExtend16 {
		return false
	}
	switch op := l.word >> 11 & 31; op {
	case 0x00, 0x0d, 0x12, 0x1a:
		return !e2 && l.word&0xe0 != 0
	case 0x06:
		return !e2 && l.word&0x1c != 0
	case 0x0c: // save and restore with the aregs that no combination uses
		return l.word&0x000f_0700 == 0x000f_0400
	}
	return false
}

// TestRandomMicroMIPS compares with objdump over random words, the pools with
// many functions more often than the others.
func TestRandomMicroMIPS(t *testing.T) {
	source := halves(sample(60_000), "micromips", microHalves())
	object := assemble(t, source, "-mips64r2", "-mabi=64", "-mmicromips")
	lines := objdump(t, true, "-d", "-m", "mips:micromips", object)
	check(t, archOf(t, "n64", true, microMIPS), inMicro, lines)
}

// TestRandomMicroMIPSR6 compares release 6 with LLVM, binutils does not know it.
func TestRandomMicroMIPSR6(t *testing.T) {
	lines := llvmDisassemble(t, sample(20_000), microHalves(), "-triple=mips-unknown-linux", "-mcpu=mips32r6",
		"-mattr=+micromips,+dsp,+dspr2,+dspr3,+eva,+virt,+ginv")
	lines = slices.DeleteFunc(lines, func(l line) bool {
		// LLVM neither maps the register of lwgp nor extends its sign, unlike
		// binutils; and it puts lsa's destination elsewhere than MD00594 does.
		return l.code[0]>>2 == 0x19 || l.mnemonic == "lsa"
	})
	check(t, archOf(t, "o32", true, release6), inMicro, lines)
}

// llvmDisassemble prints random instructions with llvm-mc, which leaves out what
// it does not know, and rewrites its text as objdump's.
func llvmDisassemble(t *testing.T, n int, next func(*rand.Rand) uint16, args ...string) []line {
	t.Helper()
	tool, err := exec.LookPath("llvm-mc")
	if err != nil {
		if tool, err = exec.LookPath("llvm-mc-14"); err != nil {
			t.Skip("llvm-mc is not installed")
		}
	}
	var input strings.Builder
	r := rand.New(rand.NewPCG(5, 6))
	for range n {
		h := next(r)
		fmt.Fprintf(&input, "%#02x %#02x", h>>8, h&0xff)
		if first := micro(h) << 16; first.size() == 4 {
			h = next(r)
			fmt.Fprintf(&input, " %#02x %#02x", h>>8, h&0xff)
		}
		input.WriteByte('\n')
	}
	cmd := exec.Command(tool, append(args, "--disassemble", "--show-encoding")...)
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []line
	for text := range strings.Lines(string(out)) {
		if l, ok := parseLLVM(text); ok {
			lines = append(lines, l)
		}
	}
	return lines
}

// parseLLVM reads "\tjrc16\t$ra   # encoding: [0x47,0xe3]". The number that a
// branch ends in is relative there; it is dropped.
func parseLLVM(text string) (line, bool) {
	text = strings.TrimSpace(text)
	instruction, encoded, ok := strings.Cut(text, "# encoding: [")
	if !ok {
		return line{}, false
	}
	encoded = strings.NewReplacer("0x", "", ",", "", "]", "").Replace(encoded)
	code, err := hex.DecodeString(encoded)
	if err != nil {
		return line{}, false
	}
	mnemonic, operands, _ := strings.Cut(strings.TrimSpace(instruction), "\t")
	mnemonic = strings.TrimSuffix(strings.TrimSuffix(mnemonic, "16"), "32")
	switch {
	case mnemonic == "bposge": // its number is no size
		mnemonic = "bposge32"
	case mnemonic == "jalr" && len(code) == 2:
		mnemonic = "jalrc"
	case mnemonic == "jrcaddiusp":
		mnemonic = "jraddiusp"
	}
	numeric := strings.NewReplacer("$zero", "$0", "$gp", "$28", "$sp", "$29", "$fp", "$30", "$ra", "$31", " ", "")
	l := line{code: code, compressed: true, mnemonic: mnemonic, text: text}
	for _, b := range code {
		l.word = l.word<<8 | word(b)
	}
	l.operands = strings.Split(numeric.Replace(operands), ",")
	if isTransfer(mnemonic) && mnemonic[0] == 'b' {
		l.operands[len(l.operands)-1] = "?"
	}
	return l, true
}

// microHalves yields whole instructions, halfword by halfword.
func microHalves() func(*rand.Rand) uint16 {
	var second bool
	var first uint16
	return func(r *rand.Rand) uint16 {
		h := uint16(r.Uint32())
		if second {
			second = false
			if op := first >> 10; (op == 0x00 || op == 0x16) && r.IntN(2) == 0 {
				h = h&^63 | [...]uint16{0x3c, 0x3c, 0x3c, 0x10, 0x00, 0x16, 0x05, 0x0d}[r.IntN(8)]
			}
			return h
		}
		if r.IntN(2) == 0 {
			h = h&0x3ff | [...]uint16{0x00, 0x00, 0x16, 0x15, 0x08, 0x18, 0x10, 0x11}[r.IntN(8)]<<10
		}
		first, second = h, (micro(h)<<16).size() == 4
		return h
	}
}
