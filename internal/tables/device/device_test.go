package device

import (
	"bytes"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// listCode lists the rules of an image by its code.
func listCode(t testing.TB, img *image.Image) *tables.Program {
	t.Helper()
	analysis := code.New(nil)
	p, err := rows.List(t.Context(), img, rows.Code{Entries: analysis.Entries, Modes: analysis.Modes}, rows.Source{Name: "code", RuleSource: analysis, Part: table.Part{Method: unwind.MethodCode, List: analysis.Rows}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// encoded is the table of a program, read back.
func encoded(t testing.TB, p *tables.Program) *Table {
	t.Helper()
	b, _, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	return decode(b, p.Image.Arch)
}

// TestEveryInstruction: at each instruction the table has the rule that the program has: the
// same CFA, the return address in the same place or, where a prologue or an epilogue runs, in the slot
// beside the register or in the link register that nothing has written since the function began. Nothing
// else is unknown than what Encode refuses and the frames that are found by rare registers.
func TestEveryInstruction(t *testing.T) {
	for _, name := range []string{"cortexm3/bare-gcc-Os", "rv32imac/*"} {
		programs := recorded.Cases(t, name)[:1]
		file, ok := recorded.Program(t, &programs[0], "naked")
		if !ok {
			t.Fatal(name)
		}
		img, err := elf.Open(file, image.Options{Archs: captured.Archs(), NoDebugFiles: true})
		if err != nil {
			t.Fatal(err)
		}
		p := listCode(t, img)
		c := comparison{Table: encoded(t, p), program: p}
		c.all(t)
		if c.right == 0 || c.missing > c.right/50 {
			t.Errorf("%s: %d instructions have their rule, %d have none", name, c.right, c.missing)
		}
		t.Logf("%s: %d right, %d missing", name, c.right, c.missing)
		_ = img.Close()
	}
}

// comparison counts instructions.
type comparison struct {
	*Table
	program        *tables.Program
	right, missing int
	linked         bool // no instruction from the function's beginning on writes the link register
}

func (c *comparison) all(t *testing.T) {
	p := c.program
	for i := range p.Functions {
		f := &p.Functions[i]
		c.linked = true
		for at := f.Start; at < f.End; {
			var insns [1]cpu.Insn
			if p.Image.Arch.Decoder.Decode(p.Image.Segments.Code(at), at, f.Mode, insns[:]) == 0 {
				break
			}
			c.at(t, at)
			at += uint64(insns[0].Len)
			c.linked = c.linked && !writes(&place{Insn: insns[0]}, p.Image.Arch.LR)
		}
	}
}

func (c *comparison) at(t *testing.T, pc uint64) {
	want := c.program.At(pc)
	var got rule.Rule
	found := c.Lookup(pc, &got)
	switch {
	case want == nil && !found:
	case want == nil:
		t.Errorf("%#x: a rule where there is none: %s", pc, got.Format(c.arch))
	case !found:
		c.missing++
	case want.RA.Kind == rule.Undefined && got.RA.Kind == rule.Undefined:
		c.right++
	case got.CFA.Format(c.arch) != want.CFA.Format(c.arch), !c.samePlace(got.RA, want.RA, want.CFA):
		t.Errorf("%#x: %s, want CFA=%s RA=%s", pc, got.Format(c.arch), want.CFA.Format(c.arch), want.RA.Format(c.arch))
	default:
		c.right++
	}
}

// samePlace tells whether got is where want says or, want saying a register, in a slot.
func (c *comparison) samePlace(got, want, cfa rule.Register) bool {
	switch want.Kind {
	case rule.AtReg:
		return got.Kind == rule.AtCFA && got.Off == want.Off-cfa.Off
	case rule.RegPlus:
		return got.Kind == rule.AtCFA || got.Kind == rule.RegPlus && got.Base == want.Base
	}
	return got.Kind == want.Kind && got.Off == want.Off || c.linked && got.Kind == rule.RegPlus && got.Base == c.arch.LR
}

// saving is a function of RISC-V that saves ra and s0, calls and returns.
const saving = `
	80000000 <f>:
		80000000: 1141      addi sp,sp,-16
		80000002: c606      sw ra,12(sp)
		80000004: c422      sw s0,8(sp)
		80000006: 842a      mv s0,a0
		80000008: 00000097  auipc ra,0
		8000000c: 014080e7  jalr 20(ra)
		80000010: 8522      mv a0,s0
		80000012: 40b2      lw ra,12(sp)
		80000014: 4422      lw s0,8(sp)
		80000016: 0141      addi sp,sp,16
		80000018: 8082      ret
		8000001a: 0001      nop
		8000001c: 8082      ret`

// TestTwoPlaces: from the store on, the return address is in its slot, and still is there when it
// was loaded again; in its register it stays up to the call: four rows instead of six.
func TestTwoPlaces(t *testing.T) {
	p := codetest.Program{CPU: "riscv32 ilp32", Listing: saving}
	img := p.Image(t)
	tab := encoded(t, listCode(t, img))
	for pc, want := range map[uint64]string{
		0x80000000: "CFA=sp RA=ra", 0x80000002: "CFA=sp+16 RA=ra",
		0x80000004: "CFA=sp+16 RA=ra", 0x80000008: "CFA=sp+16 RA=ra",
		0x8000000c: "CFA=sp+16 RA=[CFA-4]", 0x80000010: "CFA=sp+16 RA=[CFA-4]",
		0x80000014: "CFA=sp+16 RA=[CFA-4]", 0x80000016: "CFA=sp+16 RA=[CFA-4]", 0x80000018: "CFA=sp RA=ra",
	} {
		var r rule.Rule
		if !tab.Lookup(pc, &r) || r.Format(img.Arch) != want {
			t.Errorf("%#x: %s, want %s", pc, r.Format(img.Arch), want)
		}
	}
}

// TestPackedRows: rows of all lengths and rules come back, over blocks and pages.
func TestPackedRows(t *testing.T) {
	var rules []int
	var lengths []uint64
	for i := range 4000 {
		rules = append(rules, i*i%7+i%13*i%1000)
		lengths = append(lengths, []uint64{1, 31, 32, 33, 286, 287, 288, 70_000}[i*i%8])
	}
	var w packer
	at := uint64(0)
	for i, n := range lengths {
		w.row(at, n, rules[i])
		at += n
	}
	tab := &Table{head: header{units: uint32(at), pages: int(at>>pageShift) + 1, blocks: len(w.starts)}}
	index := w.index(tab.head.pages)
	tab.parts.pages, tab.parts.starts, tab.parts.stream = index[:2*tab.head.pages+2], index[2*tab.head.pages+2:], w.stream
	at = 0
	for i, n := range lengths {
		for _, unit := range []uint64{at, at + n/2, at + n - 1} {
			if got, ok := tab.row(unit); !ok || got != rules[i] {
				t.Fatalf("unit %d of row %d: rule %d, %t; want %d", unit, i, got, ok, rules[i])
			}
		}
		at += n
	}
	if _, ok := tab.row(at); ok {
		t.Error("a rule behind the last row")
	}
}

// TestIdentity: a table has the first bytes of its image's build ID or digest.
func TestIdentity(t *testing.T) {
	img := codetest.Program{CPU: "riscv32 ilp32", Listing: saving}.Image(t)
	if tab := encoded(t, listCode(t, img)); !bytes.Equal(tab.identity, img.Identity()[:maxIdentity]) {
		t.Errorf("identity %x", tab.identity)
	}
}
