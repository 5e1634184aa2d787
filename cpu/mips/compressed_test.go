package mips

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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
	source := halves(300_000, "mips16", func(r *rand.Rand) uint16 {
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
	source := halves(150_000, "micromips", microHalves())
	object := assemble(t, source, "-mips64r2", "-mabi=64", "-mmicromips")
	lines := objdump(t, true, "-d", "-m", "mips:micromips", object)
	check(t, archOf(t, "n64", true, microMIPS), inMicro, lines)
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
		first, second = h, !short(h)
		return h
	}
}
