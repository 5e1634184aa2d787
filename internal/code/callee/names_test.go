package callee

import (
	"strings"
	"testing"
)

// TestNames: names of functions that never return, as symbol tables spell them, and names
// that look like them.
func TestNames(t *testing.T) {
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
		__gnat_rcheck_CE_Overflow_Check __gnat_raise_exception _gfortran_runtime_error@@GFORTRAN_8 _d_throw _d_arraybounds_slicep
		runtime.gopanic runtime.throw runtime.goPanicIndex runtime.panicIndex runtime.panicSlice3C runtime.panicdivide`) {
		if !nameNeverReturns(name, true) {
			t.Errorf("%s never returns", name)
		}
	}
	for _, name := range strings.Fields(`
		abort_handler my_exit exit_group_info atexit setjmp _setjmp error execve raise _Unwind_RaiseException _Unwind_Resume_or_Rethrow __cxa_end_catch
		_ZSt17current_exceptionv _ZNSt6vectorIiSaIiEE9push_backEOi _ZSt4moveIRiE _ZN3foo9panickingEv _ZN62_$LT$core..panicking..AssertKind
		_ZN3std9panicking3try17h0123456789abcdefE _RNvCs5bvvyTXdgtQ_4main4main _RNvMs_NtCs5bvvyTXdgtQ_4core6optionNtB5_6Option _R _RNvC _RNvCs _ZN _Z
		__gnat_reraise_library_exception_if_any _gfortran_generate_error _gfortran_runtime_warning_at _d_arraycopy _d_arrayappendcTX
		runtime.panicCheck1 runtime.mallocgc __ubsan_handle_add_overflow __GI_ @ abort.c`) {
		if nameNeverReturns(name, false) {
			t.Errorf("%s may return", name)
		}
	}
	for _, name := range []string{"err", "xexit", "Perl_croak", "rb_raise", "OPENSSL_die", "onRangeError"} {
		if !nameNeverReturns(name, false) || nameNeverReturns(name, true) {
			t.Errorf("%s is the library's when it is imported, and anything where the image defines it", name)
		}
	}
	if nameNeverReturns("", false) {
		t.Error("no name")
	}
}
