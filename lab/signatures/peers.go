package signatures

import (
	"regexp"
	"strings"
)

// apport is the signature of apport (apport/report.py, crash_signature): the program, the signal and the five innermost functions
// outside of the frames of a signal handler and of abort; where a function has no name, the places of all frames
// (crash_signature_addresses).
func apport(c *crash) string {
	head := []string{c.source, c.report.Crash.Type}
	named, all := 0, append([]string{}, head...)
	top := append([]string{}, head...)
	for _, f := range c.frames() {
		all = append(all, f.Module+f.ModuleOffset)
		if f.Own.Method == "sigframe" || f.Function == "abort" || f.Function == "__GI_abort" {
			top, named = append([]string{}, head...), 0
			continue
		}
		if len(top) == len(head)+5 {
			continue
		}
		if top = append(top, f.Function); f.Function != "" {
			named++
		}
	}
	if named+len(head) < len(top) {
		return strings.Join(all, ":")
	}
	return strings.Join(top, ":")
}

// irrelevant and prefix are of Socorro's lists of such names (socorro/signature/siglists) those of the C and C++ libraries.
var (
	irrelevant = regexp.MustCompile(`^(__assert|__chk_fail|__cxa_rethrow|__cxa_throw|__fortify_fail|__GI|__libc_fatal|__libc_message|__memcmp|__memcpy|__memmove|` +
		`__memset|operator==|_pthread_|__pthread_|pthread_cond_wait|__stack_chk_fail|std::__|std::terminate|std::unique_ptr|__str|_Unwind_Resume|__futex_abstimed_wait)`)
	prefix = regexp.MustCompile(`^(.*abort|.*alloc_impl|.*calloc|.*free|gsignal|kill|libc\.so|libc-|malloc|memcmp|memcpy|memmove|memset|` +
		`operator new|pthread_mutex_lock|pthread_kill|_purecall|raise|realloc|recv|send|std::_Func|strcat|strchr|strcmp|strcpy|.*strdup|strlen|strn|strstr|syscall)`)
)

// socorro is the signature of Socorro (socorro/signature/README.rst, the rule SignatureGenerationRule): names of frames, without the
// irrelevant ones, up to the first that is no prefix; module@offset where there is no name.
func socorro(c *crash) string {
	var list []string
	for _, f := range c.frames() {
		name := f.Function
		if name == "" {
			name = f.Module + "@" + f.ModuleOffset
		}
		if name, _, _ = strings.Cut(name, "("); irrelevant.MatchString(name) {
			continue
		}
		if list = append(list, name); !prefix.MatchString(name) {
			break
		}
	}
	s := strings.Join(list, " | ")
	const longest = 255
	return s[:min(len(s), longest)]
}
