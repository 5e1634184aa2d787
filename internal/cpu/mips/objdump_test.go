package mips

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/synth/difftest"
)

// line is one instruction as objdump prints it, with numeric register names and
// without aliases.
type line struct {
	addr     uint64
	code     []byte // in memory order
	word     word   // its value
	mnemonic string
	// compressed: printed in halfwords, hence MIPS16e or microMIPS
	compressed bool
	operands   []string
	text       string
}

// objdump disassembles; the test is skipped where the tool is missing.
func objdump(t *testing.T, big bool, args ...string) (lines []line) {
	t.Helper()
	order := binary.ByteOrder(binary.LittleEndian)
	if big {
		order = binary.BigEndian
	}
	difftest.Objdump(t, "mips-linux-gnu-objdump", func(l difftest.Line) { lines = append(lines, parseLine(&l, order)) },
		append([]string{"-z", "-M", "gpr-names=numeric,cp0-names=numeric,no-aliases"}, args...)...)
	return lines
}

func parseLine(l *difftest.Line, order binary.ByteOrder) line {
	out := line{addr: l.Addr, code: l.Code(order), mnemonic: l.Mnemonic(), text: fmt.Sprintf("%x: %s %s", l.Addr, l.Units, l.Text)}
	for _, unit := range l.Units {
		out.compressed = len(unit) == 4
	}
	for _, b := range l.Code(binary.BigEndian) {
		out.word = out.word<<8 | word(b)
	}
	if ops, _, _ := strings.Cut(l.Operands(), " <"); ops != "" {
		out.operands = strings.Split(strings.TrimSpace(ops), ",")
	}
	return out
}

// kind is control flow as a mnemonic tells it.
type kind uint8

const (
	other kind = iota
	jump
	branch
	call
	ret
	trap
	system
)

// effect is what objdump's text implies.
type effect struct {
	kind      kind
	slot      bool
	target    uint64
	hasTarget bool
	writes    cpu.RegSet
}

// kindOf is the kind of a decoded instruction.
func kindOf(i *cpu.Insn) kind {
	switch i.Op {
	case cpu.OpCall:
		return call
	case cpu.OpReturn:
		return ret
	case cpu.OpTrap:
		return trap
	case cpu.OpSyscall:
		return system
	case cpu.OpJump:
		if i.Flags&cpu.FlagConditional != 0 {
			return branch
		}
		return jump
	case cpu.OpLoadMulti:
		if i.List.Has(PC) {
			return ret
		}
	}
	return other
}

// writesOf lists the registers that a decoded instruction writes.
func writesOf(i *cpu.Insn) cpu.RegSet {
	set := difftest.Written(i)
	if i.Op == cpu.OpReturn && i.Imm != 0 {
		set = set.With(SP)
	}
	return set.Without(Zero).Without(PC)
}

// compare checks a decoded instruction against the text; it returns what differs.
func compare(l line, i *cpu.Insn, want effect) string {
	switch got := kindOf(i); {
	case int(i.Len) != len(l.code):
		return "length"
	case got != want.kind:
		return "kind"
	case want.kind != other && want.kind != trap && want.kind != system && (i.Flags&cpu.FlagDelaySlot != 0) != want.slot:
		return "slot"
	case want.hasTarget && i.Target != want.target:
		return "target"
	case want.kind != system && writesOf(i) != want.writes:
		return "writes"
	}
	return compareOperands(l, i)
}

// compareOperands checks the address of a load or store and the constants of the
// additions that move stack pointers.
func compareOperands(l line, i *cpu.Insn) string {
	if len(l.operands) == 0 {
		return ""
	}
	last := l.operands[len(l.operands)-1]
	switch i.Op {
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		offset, base, ok := strings.Cut(strings.TrimSuffix(last, ")"), "($")
		imm, err := strconv.ParseInt(offset, 0, 64)
		if !ok || err != nil || base == "pc" {
			return ""
		}
		unaligned := i.Op == cpu.OpStore && i.Src == cpu.NoReg
		if r, _ := register("$" + base); r != i.Base || imm != i.Imm && !(unaligned && imm&^7 == i.Imm&^7) {
			return "address"
		}
	case cpu.OpAddImm:
		imm, err := strconv.ParseInt(last, 0, 64)
		if err == nil && strings.HasSuffix(strings.TrimSuffix(l.mnemonic, "sp"), "addiu") && imm != i.Imm {
			return "constant"
		}
	}
	return ""
}

func register(s string) (cpu.Reg, bool) {
	if !strings.HasPrefix(s, "$") {
		return cpu.NoReg, false
	}
	n, err := strconv.ParseUint(s[1:], 10, 8)
	if err != nil || n > 31 {
		return cpu.NoReg, false
	}
	return cpu.Reg(n), true
}

// check decodes each line, where compressed is what mode 1 is, and fails on the first few differences of each kind.
func check(t *testing.T, a *cpu.Arch, compressed encoding, lines []line) {
	t.Helper()
	seen := map[string]int{}
	tally := difftest.Tally{CPU: a.Name + " " + a.ABI + map[encoding]string{inMIPS16: " MIPS16", inMicro: " microMIPS"}[compressed], File: t.Name()}
	for _, l := range lines {
		enc, mode := inWords, cpu.Mode(0)
		if l.compressed {
			enc, mode = compressed, 1
		}
		want, skip := expect(l, enc)
		if skip != "" {
			tally.Accept(skip)
			continue
		}
		tally.Compared++
		want.target &= a.AddrMask()
		var out [1]cpu.Insn
		if a.Decoder.Decode(l.code, l.addr, mode, out[:]) != 1 {
			t.Fatalf("%s: not decoded", l.text)
		}
		if diff := compare(l, &out[0], want); diff != "" {
			tally.Wrong++
			key := diff + " " + l.mnemonic
			if seen[key]++; seen[key] <= 2 && len(seen) < 40 {
				t.Errorf("%s: %s, got %s, want %+v", diff, l.text, format(&out[0]), want)
			}
		}
	}
	if tally.Compared == 0 {
		t.Fatal("objdump printed nothing")
	}
	tally.Log(t)
}
