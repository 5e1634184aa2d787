package callee

import "strings"

// nameNeverReturns tells whether the function of a name, as symbol tables spell it, never
// returns to its caller. own: the image defines the name, so that one that programs are
// free to use (err, errx) proves nothing.
//
// The names are those that the headers and sources of the libraries declare noreturn
// (_Noreturn, [[noreturn]], -> !). Left out is what returns on some condition: error(3),
// execve, setcontext, _Unwind_RaiseException, Rust's __rust_start_panic, Go's
// runtime.panicCheck1.
func nameNeverReturns(name string, own bool) bool {
	name, _, _ = strings.Cut(name, "@") // symbol versions: abort@@GLIBC_2.2.5
	name = strings.TrimPrefix(name, "__GI_")
	switch {
	case strings.HasPrefix(name, "_Z"):
		return cxxNeverReturns(name) || rustNeverReturns(name)
	case strings.HasPrefix(name, "_R"):
		return rustNeverReturns(name)
	case strings.HasPrefix(name, "runtime."):
		return goNeverReturns(name)
	case strings.HasPrefix(name, "__gnat_"):
		return adaNeverReturns(name)
	case strings.HasPrefix(name, "_gfortran_"), strings.HasPrefix(name, "_d_"):
		return gccNeverReturns(name)
	case strings.HasPrefix(name, "__ubsan_handle_"):
		return strings.HasSuffix(name, "_abort") || name == "__ubsan_handle_builtin_unreachable" || name == "__ubsan_handle_missing_return"
	}
	return cNeverReturns(name) || !own && freeName(name)
}

// cNeverReturns are the functions of C libraries and of the runtime support of
// compilers, under names that the C standard and the ABIs reserve.
func cNeverReturns(name string) bool {
	switch name {
	case "abort", "exit", "_exit", "_Exit", "quick_exit", "longjmp", "_longjmp", "siglongjmp", "pthread_exit", "thrd_exit",
		// glibc
		"__longjmp", "__longjmp_chk", "____longjmp_chk", "__libc_longjmp", "__libc_siglongjmp", "__pthread_exit", "__pthread_unwind",
		"__pthread_unwind_next", "__stack_chk_fail", "__stack_chk_fail_local", "__fortify_fail", "__chk_fail", "__libc_fatal",
		"__assert_fail", "__assert_fail_base", "__libc_assert_fail", "__assert", "__assert_perror_fail", "_dl_fatal_printf",
		"_dl_signal_error", "_dl_signal_exception", "_dl_reloc_bad_type",
		// BSD, newlib, bionic, uClibc
		"__assert2", "__assert_func", "__stack_smash_handler", "__chk_fail_overflow", "__fortify_chk_fail",
		// C++ ABI, libgcc, libunwind, ARM EHABI
		"__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_bad_typeid", "__cxa_throw_bad_array_new_length",
		"__cxa_throw_bad_array_length", "__cxa_call_unexpected", "__cxa_call_terminate", "__cxa_pure_virtual",
		"__cxa_deleted_virtual", "__cxa_end_cleanup", "__clang_call_terminate", "_Unwind_Resume", "_Unwind_SjLj_Resume",
		// Rust, unmangled
		"rust_begin_unwind", "rust_panic", "rust_oom", "__rust_alloc_error_handler", "__rg_oom", "__rdl_oom", "__rust_drop_panic",
		"__rust_foreign_exception":
		return true
	}
	return false
}

// adaNeverReturns are those functions of GNAT's run-time support that raise exceptions, all of which have pragma No_Return:
// the checks of a-except.adb, and what its specification lists.
func adaNeverReturns(name string) bool {
	switch name {
	case "__gnat_raise_exception", "__gnat_raise_from_controlled_operation", "__gnat_reraise_zcx", "__gnat_last_chance_handler",
		"__gnat_raise_constraint_error", "__gnat_raise_constraint_error_msg", "__gnat_raise_program_error", "__gnat_raise_program_error_msg",
		"__gnat_raise_storage_error", "__gnat_raise_storage_error_msg":
		return true
	}
	return strings.HasPrefix(name, "__gnat_rcheck_")
}

// gccNeverReturns are those functions of run-time support behind which GCC makes no code: of Fortran in
// gfc_build_builtin_function_decls (trans-decl.cc), of D with ECF_NORETURN in runtime.def.
func gccNeverReturns(name string) bool {
	switch name {
	case "_gfortran_runtime_error", "_gfortran_runtime_error_at", "_gfortran_os_error", "_gfortran_os_error_at", "_gfortran_stop_numeric",
		"_gfortran_stop_string", "_gfortran_error_stop_numeric", "_gfortran_error_stop_string",
		"_d_throw", "_d_assert", "_d_assertp", "_d_assert_msg", "_d_unittest", "_d_unittestp", "_d_unittest_msg", "_d_nullpointerp",
		"_d_arraybounds", "_d_arrayboundsp", "_d_arraybounds_slice", "_d_arraybounds_slicep", "_d_arraybounds_index", "_d_arraybounds_indexp":
		return true
	}
	return false
}

// freeName are library functions under names that a program may use for its own. Example: fatal of objdump ends
// in xexit of libiberty, which libbfd exports.
func freeName(name string) bool {
	switch name {
	case "err", "errx", "errc", "verr", "verrx", "verrc", "g_assertion_message_expr", "g_abort",
		"xexit", "xmalloc_failed", // libiberty.h
		"onRangeError", "onArraySliceError", "onArrayIndexError", "onOutOfMemoryError", "onInvalidMemoryOperationError", // core.exception of D
		"ada__exceptions__reraise_occurrence_always", "system__assertions__raise_assert_failure", // a-except.ads, s-assert.ads
		"objc_exception_throw",
		"panic", "do_exit", "make_task_dead", "kthread_exit", "kthread_complete_and_exit", "fortify_panic", "__fortify_panic", // Linux
		"OPENSSL_die",                                    // openssl/crypto.h
		"Py_Exit", "Py_FatalError", "_Py_FatalErrorFunc", // pylifecycle.h, pyerrors.h
		"zend_error_noreturn", "_zend_bailout", // PHP: zend.h
		"Perl_croak", "Perl_croak_nocontext", "Perl_croak_sv", "Perl_croak_no_modify", "Perl_croak_xs_usage", // perl's proto.h
		"rb_raise", "rb_exc_raise", "rb_exc_fatal", "rb_fatal", "rb_bug", "rb_exit", "rb_throw", "rb_throw_obj", "rb_jump_tag", // ruby.h
		"rb_sys_fail", "rb_sys_fail_str", "rb_memerror", "rb_eof_error", "rb_error_frozen", "rb_notimplement":
		return true
	}
	return false
}

// cxxNeverReturns are those of namespaces std and __cxxabiv1: terminate, and
// whatever the headers declare as __throw_…, by which inline code throws
// (_ZSt20__throw_length_errorPKc; libc++: _ZNSt3__120__throw_length_errorB…EPKc).
func cxxNeverReturns(name string) bool {
	switch name {
	case "_ZSt9terminatev", "_ZSt10unexpectedv", "_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE",
		"_ZSt17rethrow_exceptionSt13exception_ptr", "_ZN10__cxxabiv111__terminateEPFvvE", "_ZN10__cxxabiv112__unexpectedEPFvvE",
		"_ZSt21__glibcxx_assert_failPKciS0_S0_", "_ZSt15__verbose_abortPKcz", "_ZNSt3__122__libcpp_verbose_abortEPKcz":
		return true
	}
	rest, ok := strings.CutPrefix(name, "_ZSt")
	if !ok {
		rest, ok = strings.CutPrefix(name, "_ZNSt3__1")
	}
	return ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "__throw_")
}

// rustNeverReturns looks at the path of a mangled Rust name, which both schemes
// spell alike once what comes before it is cut: _ZN4core9panicking5panic17h…E, and
// _RNvNtCs…_4core9panicking5panic of v0 (RFC 2603).
func rustNeverReturns(name string) bool {
	path, ok := rustPath(name)
	if !ok {
		return false
	}
	for _, diverging := range rustDiverging {
		if strings.HasPrefix(path, diverging) {
			return true
		}
	}
	return false
}

// rustPath is the path's elements, each behind its length.
func rustPath(name string) (string, bool) {
	if path, ok := strings.CutPrefix(name, "_ZN"); ok {
		return path, true
	}
	path, ok := strings.CutPrefix(name, "_RNv")
	if !ok {
		path, ok = strings.CutPrefix(name, "_RINv") // generic arguments follow
	}
	if !ok {
		return "", false
	}
	for strings.HasPrefix(path, "Nt") {
		path = path[len("Nt"):]
	}
	if path, ok = strings.CutPrefix(path, "C"); !ok {
		return "", false
	}
	if strings.HasPrefix(path, "s") { // the crate's disambiguator
		_, path, ok = strings.Cut(path, "_")
	}
	return path, ok
}

// rustDiverging are the beginnings of the mangled paths of Rust functions that return "!": all of
// core::panicking, and the functions named here of other modules.
var rustDiverging = [...]string{
	"4core9panicking",
	"4core6option13expect_failed", "4core6option13unwrap_failed", "4core6result13unwrap_failed",
	"4core4cell22panic_already_borrowed", "4core4cell30panic_already_mutably_borrowed",
	"4core3str16slice_error_fail", "4core5slice5index26slice_start_index_len_fail", "4core5slice5index24slice_end_index_len_fail",
	"4core5slice5index22slice_index_order_fail", "4core5slice5index16slice_index_fail",
	"4core5slice5index31slice_start_index_overflow_fail", "4core5slice5index29slice_end_index_overflow_fail",
	"4core5slice29_$LT$impl$u20$$u5b$T$u5d$$GT$15copy_from_slice17len_mismatch_fail", "4core5slice20copy_from_slice_impl17len_mismatch_fail",
	"5alloc5alloc18handle_alloc_error", "5alloc7raw_vec12handle_error", "5alloc7raw_vec17capacity_overflow",
	"3std9panicking11begin_panic", "3std9panicking20rust_panic_with_hook", "3std9panicking19rust_panic_without_hook",
	"3std7process4exit", "3std7process5abort", "3std5alloc8rust_oom",
}

// goNeverReturns are the entry points of panics and fatal errors in Go's runtime;
// a recovered panic goes on in runtime.deferreturn, elsewhere in the function.
func goNeverReturns(name string) bool {
	switch name {
	case "runtime.gopanic", "runtime.throw", "runtime.fatal", "runtime.fatalthrow", "runtime.fatalpanic", "runtime.Goexit", "runtime.sigpanic":
		return true
	}
	rest, ok := strings.CutPrefix(name, "runtime.panic")
	return ok && !strings.HasPrefix(rest, "Check") || strings.HasPrefix(name, "runtime.goPanic")
}
