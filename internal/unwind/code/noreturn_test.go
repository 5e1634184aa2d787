package code

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

func TestNamesThatNeverReturn(t *testing.T) {
	for _, name := range strings.Fields(`
		abort abort@GLIBC_2.2.5 abort@@GLIBC_2.2.5 __GI_abort __GI___assert_fail exit _exit longjmp __longjmp_chk siglongjmp pthread_exit
		__stack_chk_fail __assert_fail __assert_func __cxa_throw __cxa_rethrow __cxa_call_terminate __clang_call_terminate
		_Unwind_Resume@GCC_3.0 __cxa_end_cleanup __ubsan_handle_builtin_unreachable __ubsan_handle_add_overflow_abort
		_ZSt9terminatev _ZSt20__throw_length_errorPKc _ZSt24__throw_out_of_range_fmtPKcz@GLIBCXX_3.4.20 _ZSt17__throw_bad_allocv
		_ZNSt3__120__throw_length_errorB8ne180100EPKc
		_ZN4core9panicking5panic17h0123456789abcdefE _ZN4core9panicking18panic_bounds_check17h0123456789abcdefE
		_ZN4core6result13unwrap_failed17h0123456789abcdefE _ZN5alloc5alloc18handle_alloc_error17h0123456789abcdefE
		_RNvNtCs5bvvyTXdgtQ_4core9panicking5panic _RINvNtCs5bvvyTXdgtQ_4core9panicking13assert_failedjjECs1_1f
		_RNvNtCs5bvvyTXdgtQ_4core6option13unwrap_failed _RNvNtNtCs5bvvyTXdgtQ_4core5slice5index22slice_index_order_fail
		runtime.gopanic runtime.throw runtime.panicIndex runtime.panicSlice3C runtime.panicdivide`) {
		if !neverReturns(name, true) {
			t.Errorf("%s never returns", name)
		}
	}
	for _, name := range strings.Fields(`
		abort_handler my_exit exit_group_info atexit setjmp _setjmp error execve raise _Unwind_RaiseException _Unwind_Resume_or_Rethrow __cxa_end_catch
		_ZSt17current_exceptionv _ZNSt6vectorIiSaIiEE9push_backEOi _ZSt4moveIRiE _ZN3foo9panickingEv _ZN62_$LT$core..panicking..AssertKind
		_ZN3std9panicking3try17h0123456789abcdefE _RNvCs5bvvyTXdgtQ_4main4main _RNvMs_NtCs5bvvyTXdgtQ_4core6optionNtB5_6Option _R _RNvC _RNvCs _ZN _Z
		runtime.panicCheck1 runtime.mallocgc __ubsan_handle_add_overflow __GI_ @ abort.c`) {
		if neverReturns(name, false) {
			t.Errorf("%s may return", name)
		}
	}
	if !neverReturns("err", false) || neverReturns("err", true) {
		t.Error("err is the library's when it is imported, and anything where it is defined")
	}
	if neverReturns("", false) {
		t.Error("no name")
	}
}

// withImport is a program of one segment at addr that imports a function through
// the word at slot.
func withImport(a *cpu.Arch, addr uint64, code string, slot uint64, name string) *analysis {
	b, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
	if err != nil {
		panic(err)
	}
	seg := image.Segment{Addr: addr, Size: uint64(len(b)), Data: b, Read: true, Exec: true}
	return New(nil).of(image.New(image.Header{Arch: a, Segments: []image.Segment{seg}}, &functionsOnly{imports: map[uint64]string{slot: name}}))
}

// TestPLTStubs: the stubs of each processor that linkers make, and what the one
// of abort, and of a function that returns, says of its callers.
func TestPLTStubs(t *testing.T) {
	for _, tt := range []struct {
		name, arch, abi string
		big             bool
		addr            uint64
		code            string // as it stands in memory
		slot            uint64
	}{
		{"x86-64", "x86_64", "", false, 0x1030, "ff25ca2f0000 6800000000 e9e0ffffff", 0x4000},
		{"x86-64, .plt.sec", "x86_64", "", false, 0x1030, "f30f1efa f2ff25c52f0000", 0x4000},
		{"i386, position-dependent", "i386", "", false, 0x8049030, "ff2500c00408 6800000000 e9e0ffffff", 0x804c000},
		{"AArch64", "aarch64", "", false, 0x2a40, "700100d0 116e40f9 11620391 20021fd6", 0x300d8},
		{"AArch64, bti", "aarch64", "", false, 0x2a40, "5f2403d5 700100d0 116e40f9 11620391 20021fd6", 0x300d8},
		{"ARM", "arm", "", false, 0xd1a0, "00c68fe2 0bca8ce2 04ffbce5", 0x190ac},
		{"RISC-V", "riscv64", "", false, 0x30e0, "170e0100 033e8efc 67030e00 13000000", 0x130a8},
		{"MIPS, -mplt", "mips", "o32", true, 0x400700, "3c0f0041 8df90720 03200008 25f80720", 0x410720},
		// The stub only knows the symbol's number; its address names it.
		{"MIPS, lazy binding", "mips", "o32", true, 0x24630, "8f998010 03e07825 0320f809 241804dc", 0x24630},
	} {
		for name, never := range map[string]bool{"abort": true, "malloc": false} {
			a := arch(t, tt.arch, tt.abi, tt.big)
			an := withImport(a, tt.addr, tt.code, tt.slot, name)
			if got := an.neverReturns(jump{tt.addr, 0}); got != never {
				t.Errorf("%s: the stub of %s never returns: %t", tt.name, name, got)
			}
		}
	}
}

// TestNotStubs: functions that begin like a stub but do something first, or jump
// elsewhere than through the imported word.
func TestNotStubs(t *testing.T) {
	for name, code := range map[string]string{
		"pushes first":         "50 ff25c92f0000",
		"tests first":          "85ff 7401 c3 ff25c52f0000",
		"through another word": "ff25d22f0000",
		"through a register":   "488b05c92f0000 ffe1",
		"a table":              "ff24fd00400000",
		"cut off":              "ff25ca2f",
		"calls":                "ff15ca2f0000 c3",
	} {
		an := withImport(arch(t, "x86_64", "", false), 0x1030, code, 0x4000, "abort")
		var st state
		st.reset(an.arch)
		m := newMachine(an.img)
		if slot, ok := m.stubSlot(&st, jump{0x1030, 0}); ok && slot == 0x4000 {
			t.Errorf("%s: taken for a stub", name)
		}
	}
}

// TestStubNeedsCaller: i386's position-independent stubs jump through ebx, which
// the caller sets to the GOT's address.
func TestStubNeedsCaller(t *testing.T) {
	const caller, thunk, stub = 0x1000, 0x1020, 0x1040
	code := "53 e81a000000 81c3fa2f0000" + // push %ebx; call thunk; add $0x2ffa,%ebx
		"83ec08 e82c000000" + // sub $8,%esp; call abort@plt
		"83c408 5b c3 90 90 90 90 90 90 90" + // add $8,%esp; pop %ebx; ret
		"8b1c24 c3" + strings.Repeat("90", 28) + // thunk: mov (%esp),%ebx; ret
		"ffa310000000" // stub: jmp *16(%ebx)
	for name, never := range map[string]bool{"abort": true, "malloc": false} {
		an := withImport(arch(t, "i386", "", false), caller, code, 0x4010, name)
		f := an.function(caller, 0)
		if b, _ := f.at(0x1014); (b == nil) != never {
			t.Errorf("goes on behind the call of %s: %t", name, b != nil)
		}
	}
}

// TestNamedFunction: a function of the image itself never returns when its name
// says so, whatever its code does.
func TestNamedFunction(t *testing.T) {
	for name, never := range map[string]bool{"abort": true, "err": false, "f": false} {
		seg := image.Segment{Addr: text, Size: 8, Data: words(jrRA, nop), Read: true, Exec: true}
		an := New(nil).of(image.New(image.Header{Arch: arch(t, "mips", "o32", true), Segments: []image.Segment{seg}},
			&functionsOnly{labels: map[uint64]string{text: name}}))
		if got := an.neverReturns(jump{text, 0}); got != never {
			t.Errorf("%s never returns: %t", name, got)
		}
	}
}

// TestWrapper: a function whose every path ends in an imported one.
func TestWrapper(t *testing.T) {
	for name, never := range map[string]bool{"exit": true, "malloc": false} {
		an := withImport(arch(t, "x86_64", "", false), 0x1030, "50 ff15c92f0000 58 c3", 0x4000, name)
		if got := an.neverReturns(jump{0x1030, 0}); got != never {
			t.Errorf("a wrapper of %s never returns: %t", name, got)
		}
	}
}
