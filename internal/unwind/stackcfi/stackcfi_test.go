package stackcfi

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// records are a Container with the records of one function at 0x1000, 0x100 bytes long.
type records struct{ init, changes string }

func (r records) StackCFI(addr uint64) (uint64, []byte, []byte, bool) {
	return 0x1000, []byte(r.init), []byte(r.changes), addr-0x1000 < 0x100
}
func (records) Section(string) (image.Section, bool)          { return image.Section{}, false }
func (records) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (records) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (records) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (records) Close() error                                  { return nil }

func archNamed(t testing.TB, name string) *cpu.Arch {
	for _, set := range [][]*cpu.Arch{mips.Archs(), arm64.Archs(), riscv.Archs(), x86.Archs()} {
		if a, ok := cpu.Set(set).ByName(name, "", false); ok {
			return a
		}
	}
	t.Fatal(name)
	return nil
}

func ruleAt(arch *cpu.Arch, r records, pc uint64) string {
	img := image.New(image.Header{Arch: arch, Tables: []image.Table{{Kind: image.StackCFI, Range: image.Range{Size: 0x1100}}}}, r)
	var out stackwalk.Rule
	out.Reset()
	if v := (Source{}).Rule(&stackwalk.Query{Image: img, Arch: arch, PC: pc}, &out); v != unwind.Found {
		return v.String()
	}
	return out.Format(arch)
}

// TestRule: what holds at an address, as each processor's symbol files write it.
func TestRule(t *testing.T) {
	const again = "\nSTACK CFI INIT 2000 10 .cfa: nothing\n"
	for _, c := range []struct {
		arch, init, changes string
		pc                  uint64
		want                string
	}{
		{"x86_64", ".cfa: $rsp 8 + .ra: .cfa -8 + ^", "\nSTACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\r\nSTACK CFI 1004 .cfa: $rbp 16 +" + again, 0x1000, "CFA=rsp+8 RA=[CFA-8]"},
		{"x86_64", ".cfa: $rsp 8 + .ra: .cfa -8 + ^", "\nSTACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\r\nSTACK CFI 1004 .cfa: $rbp 16 +" + again, 0x1001, "CFA=rsp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{"x86_64", ".cfa: $rsp 8 + .ra: .cfa -8 + ^", "\nSTACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\r\nSTACK CFI 1004 .cfa: $rbp 16 +" + again, 0x1080, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]"},
		{"aarch64", ".cfa: sp 0 + .ra: x30", "\nSTACK CFI 1004 .cfa: sp 32 + x29: .cfa -32 + ^ .ra: .cfa -24 + ^", 0x1008, "CFA=sp+32 RA=[CFA-24] x29=[CFA-32]"},
		{"aarch64", ".cfa: sp 0 + x19: x19 .ra: x30 d8: d8", "", 0x1000, "CFA=sp RA=x30 x19=same"},
		{"riscv64", ".cfa: sp 0 + .ra: .ra", "", 0x1000, "CFA=sp RA=ra"},      // dump_syms
		{"mips", ".cfa: $sp 39792944 + .ra: $ra", "", 0x1000, "CFA=sp RA=ra"}, // dump_syms
		{"mips", ".cfa: $sp 39792944 + $s0: $s0 .ra: $ra", "", 0x1000, "CFA=sp RA=ra s0=same"},
		{"mips", ".cfa: $sp 32 + .ra: .cfa -4 + ^", "", 0x1000, "CFA=sp+32 RA=[CFA-4]"},                // no function's beginning
		{"mips", ".cfa: $sp 32 + .ra: $ra $s0: .cfa -8 + ^", "", 0x1000, "CFA=sp+32 RA=ra s0=[CFA-8]"}, // the same
		{"x86_64", ".cfa: $rsp 8 + .ra: 0", "", 0x1000, "CFA=rsp+8 RA=undefined"},                      // nobody called the function
		{"x86_64", ".cfa: $rsp 8 + ^ 16 - .ra: .cfa -8 + ^ $rbx: 7", "", 0x1000, "CFA=[rsp+8]-16 RA=[CFA-8] rbx=0x7"},
		{"x86_64", ".cfa: 8 .ra: .cfa -8 + ^", "", 0x1000, "unsupported"},
		{"mips", ".cfa: $sp 0 + .ra: $ra", "\nSTACK CFI 1004 .cfa: $fp 16 -", 0x1004, "CFA=s8-16 RA=ra"},
		{"x86_64", ".cfa: $rsp 8 +", "", 0x1000, "malformed"},
		{"x86_64", ".cfa: $rsp 8 * .ra: .cfa", "", 0x1000, "unsupported"},
		{"x86_64", ".cfa: .cfa 8 + .ra: .cfa", "", 0x1000, "unsupported"},
		{"x86_64", "junk", "", 0x1000, "unsupported"},
		{"x86_64", ".ra: .ra .cfa: $rsp 8 +", "", 0x1000, "unsupported"},
		{"x86_64", ".cfa: $rsp 8 + .ra: .cfa -8 + ^", "", 0x1100, "not covered"},
	} {
		if got := ruleAt(archNamed(t, c.arch), records{c.init, c.changes}, c.pc); got != c.want {
			t.Errorf("%s %s at %#x: %s, not %s", c.arch, c.init, c.pc, got, c.want)
		}
	}
}

// FuzzRule: any text is a rule or none.
func FuzzRule(f *testing.F) {
	f.Add(".cfa: $rsp 8 + .ra: .cfa -8 + ^", "\nSTACK CFI 1001 .cfa: $rsp 16 + $rbp: .cfa -16 + ^\n")
	f.Add(strings.Repeat("$rbp: .cfa ", 50), "")
	f.Fuzz(func(t *testing.T, init, changes string) {
		ruleAt(archNamed(t, "x86_64"), records{init, changes}, 0x1010)
	})
}
