package callee

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/synth/codetest"
)

func effects(t testing.TB, p codetest.Program) *Effects { return New(disasm.Of(p.Image(t)), nil) }

func at(pc uint64) disasm.Addr { return disasm.Addr{PC: pc} }

// TestPLTStubs: the stubs of each processor that linkers make, and what the one of abort,
// and of a function that returns, says of calls.
func TestPLTStubs(t *testing.T) {
	for _, tt := range []struct {
		name, cpu string
		addr      uint64
		code      string
		slot      uint64
	}{
		{"x86-64", "x86_64", 0x1030, "ff 25 ca 2f 00 00 68 00 00 00 00 e9 e0 ff ff ff", 0x4000},
		{"x86-64, .plt.sec", "x86_64", 0x1030, "f3 0f 1e fa f2 ff 25 c5 2f 00 00", 0x4000},
		{"i386, position-dependent", "i386", 0x8049030, "ff 25 00 c0 04 08 68 00 00 00 00 e9 e0 ff ff ff", 0x804c000},
		{"AArch64", "aarch64", 0x2a40, "d0000170 f9406e11 91036211 d61f0220", 0x300d8},
		{"AArch64, bti", "aarch64", 0x2a40, "d503245f d0000170 f9406e11 91036211 d61f0220", 0x300d8},
		{"ARM", "arm", 0xd1a0, "e28fc600 e28cca0b e5bcff04", 0x190ac},
		{"RISC-V", "riscv64", 0x30e0, "00010e17 fc8e3e03 000e0367 00000013", 0x130a8},
		{"MIPS, -mplt", "mips o32 big", 0x400700, "3c0f0041 8df90720 03200008 25f80720", 0x410720},
		// The stub only knows the symbol's number; its address names it.
		{"MIPS, lazy binding", "mips o32 big", 0x24630, "8f998010 03e07825 0320f809 241804dc", 0x24630},
	} {
		for name, never := range map[string]bool{"abort": true, "malloc": false} {
			f := effects(t, codetest.Program{CPU: tt.cpu, Listing: fmt.Sprintf("%x: %s", tt.addr, tt.code), Imports: map[uint64]string{tt.slot: name}})
			if got := f.NeverReturns(at(tt.addr)); got != never {
				t.Errorf("%s: the stub of %s never returns: %t", tt.name, name, got)
			}
			if slot, ok := f.StubSlot(at(tt.addr)); tt.slot != tt.addr && (!ok || slot != tt.slot) {
				t.Errorf("%s: the stub jumps through %#x, want %#x", tt.name, slot, tt.slot)
			}
		}
	}
}

// TestNotStubs: functions that begin like a stub but do something first, or jump elsewhere
// than through the imported word.
func TestNotStubs(t *testing.T) {
	for name, code := range map[string]string{
		"pushes first":         "50 ff 25 c9 2f 00 00",
		"moves SP first":       "48 83 c4 08 ff 25 c6 2f 00 00",
		"tests first":          "85 ff 74 01 c3 ff 25 c5 2f 00 00",
		"through another word": "ff 25 d2 2f 00 00",
		"through a register":   "48 8b 05 c9 2f 00 00 ff e1",
		"a table":              "ff 24 fd 00 40 00 00",
		"cut off":              "ff 25 ca 2f",
		"calls":                "ff 15 ca 2f 00 00 c3",
	} {
		f := effects(t, codetest.Program{CPU: "x86_64", Listing: "1030: " + code, Imports: map[uint64]string{0x4000: "abort"}})
		if slot, ok := f.StubSlot(at(0x1030)); ok && slot == 0x4000 || !ok && slot != 0 {
			t.Errorf("%s: taken for a stub by %#x", name, slot)
		}
	}
}

// TestVeneer: GNU ld's veneer to a far function loads a second word last, not the one that
// the veneer jumps through.
func TestVeneer(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "aarch64", Listing: `
		4010f8: d503245f  bti   c
		4010fc: 580000b1  ldr   x17, 401110
		401100: 580000d2  ldr   x18, 401118
		401104: d61f0220  br    x17
		401110: 00401200 00000000
		401118: 00402000 00000000`})
	if slot, ok := f.StubSlot(at(0x4010f8)); ok || slot != 0 {
		t.Errorf("jumps through %#x", slot)
	}
}

// TestBound: the word that a stub jumps through has an import's name, under which a library
// exports a function.
func TestBound(t *testing.T) {
	f := effects(t, codetest.Program{CPU: "x86_64", Listing: "1030: ff 25 ca 2f 00 00", Imports: map[uint64]string{0x4000: "f"}})
	lib := codetest.Program{CPU: "x86_64", Listing: `
	2000 <g>:
	2010 <f>:
		2000: c3
		2010: c3`}.Image(t)
	for range 2 { // found, and remembered
		if to, ok := f.Bound(0x4000, lib); !ok || to.Addr != at(0x2010) {
			t.Errorf("f is bound to %#x", to.PC)
		}
		if to, ok := f.Bound(0x4008, lib); ok {
			t.Errorf("a word without a name is bound to %#x", to.PC)
		}
	}
}

// TestStubNeedsCaller: i386's position-independent stubs jump through ebx, which the caller
// sets to the GOT's address.
func TestStubNeedsCaller(t *testing.T) {
	for name, never := range map[string]bool{"abort": true, "malloc": false} {
		f := effects(t, codetest.Program{CPU: "i386", Imports: map[uint64]string{0x4010: name}, Listing: `
			1014: e8 27 00 00 00     call 1040 <abort@plt>
			1040: ff a3 10 00 00 00  jmp  *16(%ebx)`})
		m := absint.New(f.code)
		var st absint.State
		st.Start(f.code.Arch)
		var in cpu.Insn
		if !f.code.One(at(0x1014), &in) || f.CallNeverReturns(&m, &st, &in, at(0x1040), true) {
			t.Errorf("%s: where ebx is not known, the call is taken not to return", name)
		}
		ebx, _ := f.code.Arch.RegByName("ebx")
		st.Regs[ebx] = absint.Const(0x4000)
		if got := f.CallNeverReturns(&m, &st, &in, at(0x1040), true); got != never {
			t.Errorf("the call of %s never returns: %t", name, got)
		}
	}
}

// TestCallOfKernel: a module of a kernel for MIPS has the addresses of what it calls in the kernel in registers.
func TestCallOfKernel(t *testing.T) {
	for name, never := range map[string]bool{"__stack_chk_fail": true, "panic": true, "_printk": false} {
		f := effects(t, codetest.Program{CPU: "mips o32 big", Imports: map[uint64]string{0x4000: name}, Listing: "1000: 0040f809  jalr v0"})
		m := absint.New(f.code)
		var st absint.State
		st.Start(f.code.Arch)
		var in cpu.Insn
		v0, _ := f.code.Arch.RegByName("v0")
		if !f.code.One(at(0x1000), &in) || f.CallNeverReturns(&m, &st, &in, disasm.Addr{}, false) {
			t.Errorf("%s: where v0 is not known, the call is taken not to return", name)
		}
		st.Regs[v0] = absint.Const(0x4000)
		if got := f.CallNeverReturns(&m, &st, &in, disasm.Addr{}, false); got != never {
			t.Errorf("the call of %s never returns: %t", name, got)
		}
	}
}

// TestCallThroughGOT: a call that reads its target from a word that is bound to abort.
func TestCallThroughGOT(t *testing.T) {
	for name, never := range map[string]bool{"abort": true, "malloc": false} {
		f := effects(t, codetest.Program{CPU: "x86_64", Imports: map[uint64]string{0x4000: name}, Listing: `
			1030: 50                 push %rax
			1031: ff 15 c9 2f 00 00  call *0x4000(%rip)
			1037: 58                 pop  %rax
			1038: c3                 ret`})
		var in cpu.Insn
		if f.code.One(at(0x1031), &in); f.ReadsNoReturn(&in) != never {
			t.Errorf("the call of %s never returns: %t", name, !never)
		}
		if got := f.NeverReturns(at(0x1030)); got != never {
			t.Errorf("the wrapper of %s never returns: %t", name, got)
		}
	}
}
