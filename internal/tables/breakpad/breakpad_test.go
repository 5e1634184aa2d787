package breakpad

import (
	"bytes"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// program is a function whose frame comes and goes, one without a name, and one whose CFA is a
// DWARF expression.
func program() *tables.Program {
	arch := mips.Archs()[0]
	ra, _ := arch.RegByName("ra")
	s0, _ := arch.RegByName("s0")
	sp := func(off int64) rule.Register { return rule.Register{Kind: rule.RegPlus, Base: arch.SP, Off: off} }
	return &tables.Program{
		Image: image.New(image.Header{Path: "dir/fire ware.elf", Arch: arch, BuildID: []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
			Segments: []image.Segment{{Addr: 0x400000, Size: 0x1000, Exec: true}}}, nil),
		Rules: []tables.Rule{
			{CFA: sp(0), RA: rule.Register{Kind: rule.RegPlus, Base: ra}},
			{CFA: sp(32), RA: rule.Register{Kind: rule.AtCFA, Off: -4}, Regs: []rule.Register{{Kind: rule.AtCFA, Reg: s0, Off: -8}}},
			{RA: rule.Register{Kind: rule.Undefined}},
			{CFA: rule.Register{Kind: rule.ValExpression, Expr: []byte{0x30}}, RA: rule.Register{Kind: rule.AtCFA, Off: -4}},
		},
		Functions: []tables.Function{
			{Name: "hel\nlo\u202e", Start: 0x400100, End: 0x400120, Rows: []tables.Row{{Addr: 0x400100, Rule: 0}, {Addr: 0x400104, Rule: 1}, {Addr: 0x40011c, Rule: 0}}},
			{Start: 0x400120, End: 0x400150, Rows: []tables.Row{{Addr: 0x400120, Rule: 2}, {Addr: 0x400128, Rule: tables.None}, {Addr: 0x400130, Rule: 3}, {Addr: 0x400140, Rule: 0}}},
		},
	}
}

// TestWrite: the records of a small program, and what is refused of it.
func TestWrite(t *testing.T) {
	var b bytes.Buffer
	refused, err := Format().Write(&b, program())
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"MODULE Linux mips 0302010005040706" + "08090A0B0C0D0E0F0 fire_ware.elf",
		"INFO CODE_ID 000102030405060708090A0B0C0D0E0F10",
		"FUNC 100 20 0 hel?lo?",
		"PUBLIC 120 0 fn_400120",
		"STACK CFI INIT 100 20 .cfa: $sp 0 + .ra: $ra",
		"STACK CFI 104 .cfa: $sp 32 + .ra: .cfa -4 + ^ $s0: .cfa -8 + ^",
		"STACK CFI 11c .cfa: $sp 0 + .ra: $ra $s0: $s0",
		"STACK CFI INIT 120 8 .cfa: $sp 0 + .ra: 0",
		"STACK CFI INIT 140 10 .cfa: $sp 0 + .ra: $ra",
		"",
	}, "\n")
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	if len(refused) != 1 || refused[0].String() != "fn_400120: no row at 0x400130, for 16 bytes: a DWARF expression gives .cfa" {
		t.Errorf("refused: %v", refused)
	}
}

// TestFileName: stack walkers look for FILE/IDENTIFIER/FILE.sym.
func TestFileName(t *testing.T) {
	if got := Format().FileName(program()); got != "fire ware.elf/030201000504070608090A0B0C0D0E0F0/fire ware.elf.sym" {
		t.Error(got)
	}
}
