package discover

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

// prologues is four functions that compute gp = 0x418000 from their own addresses, of which
// a main function calls the first three. The fourth is a static function that data would
// name in the GOT only.
const prologues = `
	400000 <main>:
	400000: 0c100008  jal   400020
	400004: 00000000  nop
	400008: 0c100010  jal   400040
	40000c: 00000000  nop
	400010: 0c100018  jal   400060
	400014: 00000000  nop
	400020: 3c1c0001  lui   gp,0x1
	400024: 279c7fe0  addiu gp,gp,0x7fe0
	400028: 0399e021  addu  gp,gp,t9
	40002c: 03e00008  jr    ra
	400030: 00000000  nop
	400040: 3c1c0001  lui   gp,0x1
	400044: 279c7fc0  addiu gp,gp,0x7fc0
	400048: 0399e021  addu  gp,gp,t9
	40004c: 03e00008  jr    ra
	400050: 00000000  nop
	400060: 27bdffe0  addiu sp,sp,-32
	400064: 3c1c0001  lui   gp,0x1
	400068: 0399e021  addu  gp,gp,t9
	40006c: 279c7fa0  addiu gp,gp,0x7fa0
	400070: 03e00008  jr    ra
	400074: 27bd0020  addiu sp,sp,32
	400080: 27bdffe0  addiu sp,sp,-32
	400084: 3c1c0001  lui   gp,0x1
	400088: 279c7f80  addiu gp,gp,0x7f80
	40008c: 0399e021  addu  gp,gp,t9
	400090: 8f998010  lw    t9,-32752(gp)
	400094: 0320f809  jalr  t9
	400098: 00000000  nop`

// TestGPPrologues: functions agree on gp, which tells where another one begins.
func TestGPPrologues(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: prologues})
	if want := []uint64{0x400000, 0x400020, 0x400040, 0x400060, 0x400080}; !slices.Equal(e.Certain(), want) {
		t.Errorf("functions begin at %#x, want %#x", e.Certain(), want)
	}
	gp := e.code.Arch.Globals.First()
	if v, ok := e.certain().gp.get(gp); !ok || v != 0x418000 {
		t.Errorf("gp is %#x, known: %t", v, ok)
	}
}

// TestGPBehindMovedAddress: code that moves t9 along before the sum begins is named where it
// begins all the same (glibc's _dl_runtime_resolve).
func TestGPBehindMovedAddress(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: prologues + `
	4000c0: 03801825  move  v1,gp
	4000c4: 27bdffd8  addiu sp,sp,-40
	4000c8: 2739000c  addiu t9,t9,12
	4000cc: 3c1c0001  lui   gp,0x1
	4000d0: 279c7f34  addiu gp,gp,0x7f34
	4000d4: 0399e021  addu  gp,gp,t9
	4000d8: 03200008  jr    t9
	4000dc: 00000000  nop`})
	if !e.IsEntry(at(0x4000c0)) || e.IsEntry(at(0x4000cc)) {
		t.Errorf("functions begin at %#x", e.Certain())
	}
}

// TestNoPrologue: a sum names no function that begins behind the sum.
func TestNoPrologue(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: prologues + `
	4000c0: 3c1c0001  lui   gp,0x1
	4000c4: 279c7f20  addiu gp,gp,0x7f20
	4000c8: 0399e021  addu  gp,gp,t9
	4000e0: 03e00008  jr    ra
	4000e4: 00000000  nop`})
	if e.IsEntry(at(0x4000e0)) {
		t.Errorf("functions begin at %#x", e.Certain())
	}
}

// TestFewPrologues: two functions that agree on gp prove nothing.
func TestFewPrologues(t *testing.T) {
	e := entries(t, codetest.Program{CPU: "mips o32 big", Listing: `
		400000: 0c100008  jal   400020
		400004: 00000000  nop
		400008: 0c100010  jal   400040
		40000c: 00000000  nop
		400020: 3c1c0001  lui   gp,0x1
		400024: 279c7fe0  addiu gp,gp,0x7fe0
		400028: 0399e021  addu  gp,gp,t9
		400040: 3c1c0001  lui   gp,0x1
		400044: 279c7fc0  addiu gp,gp,0x7fc0
		400048: 0399e021  addu  gp,gp,t9
		40004c: 3c1c0001  lui   gp,0x1
		400050: 279c7f80  addiu gp,gp,0x7f80
		400054: 0399e021  addu  gp,gp,t9`})
	if e.certain().gp.known != 0 {
		t.Errorf("gp is taken to be known; functions at %#x", e.Certain())
	}
}

// TestFunctionByGOT: where gp is known, a load relative to gp from the GOT gives the
// address of a function.
func TestFunctionByGOT(t *testing.T) {
	const deep = 0x4000a0
	e := entries(t, codetest.Program{CPU: "mips o32 big", Data: map[uint64][]uint64{0x41_0010: {deep}},
		Listing: prologues + "\n4000a0: 03e00008 00000000"})
	if !e.candidate(at(deep)) {
		t.Errorf("%#x is not among %#x", deep, e.candidates().entries)
	}
}

// TestGPPrologues16: MIPS16 functions whose sums come to one gp begin where those do; one whose
// sum comes to another does not, nor does code of the ordinary instruction set.
func TestGPPrologues16(t *testing.T) {
	img := codetest.Program{CPU: "mips o32 big", Listing: `
		400000: f000 6a02 f000 0b10 f400 3240 e269 6500   li v0,2; la v1,400010; sll v0,16; addu v0,v1
		400010: f000 6a02 f000 0b00 f400 3240 e269 6500
		400020: f000 6a01 f000 0b10 f400 3240 e269 6500
		400030: f000 6a02 f7ff 0b00 f400 3240 e269 6500
		400040: 27bdffe8 03e00008 27bd0018`}.Image(t)
	if got, want := findUndeclared(disasm.Of(img), findListed(disasm.Of(img), nil)).entries.list(), (keys{0x400001, 0x400011, 0x400031}); !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}
