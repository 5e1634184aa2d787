package mips

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
)

var opNames = [...]string{
	"nop", "unknown", "clobber", "const", "insert", "move", "addimm", "add", "sub", "orimm", "andimm", "shlimm", "shrimm",
	"or", "load", "store", "loadmulti", "storemulti", "leave", "call", "jump", "return", "trap", "syscall", "compare",
}

var flagNames = [...]string{
	"cond", "slot", "likely", "memory", "table", "return", "exception", "padding", "entry", "signed",
	"w32", "addr", "getpc", "sign", "frame",
}

// format writes an instruction as the listings below have it: the op, then every
// field that is set.
func format(i *cpu.Insn) string {
	arch := Archs()[0]
	s := opNames[i.Op]
	reg := func(name string, r cpu.Reg) {
		if r != cpu.NoReg {
			s += " " + name + arch.RegName(r)
		}
	}
	reg("", i.Dst)
	reg("", i.Dst2)
	reg("<", i.Src)
	reg("<", i.Src2)
	if i.List != 0 {
		var names []string
		for l := i.List; l != 0; l = l.Without(l.First()) {
			names = append(names, arch.RegName(l.First()))
		}
		s += " {" + strings.Join(names, " ") + "}"
	}
	if i.Base != cpu.NoReg || i.Size != 0 {
		s += fmt.Sprintf(" [%s", arch.RegName(i.Base))
		if i.Index != cpu.NoReg {
			s += "+" + arch.RegName(i.Index)
		}
		s += fmt.Sprintf("]%d", i.Size)
	}
	if i.Scale != 0 {
		s += fmt.Sprintf(" *%d", 1<<i.Scale)
	}
	if i.Imm != 0 {
		s += fmt.Sprintf(" %#x", i.Imm)
	}
	if i.WB != 0 {
		s += fmt.Sprintf(" wb%+d", i.WB)
	}
	if i.Target != 0 {
		s += fmt.Sprintf(" @%#x", i.Target)
	}
	if i.TargetMode != 0 {
		s += " mode1"
	}
	for b, name := range flagNames {
		if i.Flags>>b&1 != 0 {
			s += " " + name
		}
	}
	return s
}

// listing decodes lines of "hex  text -> effects" at pc 0x1000 each and compares
// the effects; an instruction is written in the order of its bytes.
func listing(t *testing.T, d cpu.Decoder, mode cpu.Mode, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		left, want, ok := strings.Cut(line, "->")
		if !ok {
			t.Fatalf("no arrow in %q", line)
		}
		digits, _, _ := strings.Cut(left, " ")
		code, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		var out [2]cpu.Insn
		if n := d.Decode(code, 0x1000, mode, out[:]); n != 1 || int(out[0].Len) != len(code) {
			t.Errorf("%s: %d instructions, the first of %d bytes", left, n, out[0].Len)
			continue
		}
		if got := format(&out[0]); got != strings.TrimSpace(want) {
			t.Errorf("%s: got  %s\n%swant %s", left, got, strings.Repeat(" ", len(left)+2), want)
		}
	}
}

// archOf returns the descriptor of an ABI and variant.
func archOf(t testing.TB, abi string, big bool, v variant) *cpu.Arch {
	t.Helper()
	for _, a := range abis() {
		if a.name == abi {
			plain, _ := cpu.Set(Archs()).ByName(a.cpu, abi, big)
			return a.with(v, plain)
		}
	}
	t.Fatalf("no ABI %s", abi)
	return nil
}
