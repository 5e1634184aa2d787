package signature

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// runtimes are the libraries that programs are written against: what they do inside is no place in a program, and differs by
// the processor (memcpy) and by the system's release. A name ends at a dot, a dash or a digit.
var runtimes = []string{
	"libc", "libpthread", "libm", "librt", "libdl", "ld", "ld-linux", "ld-musl", "libgcc_s", "libstdc++", "libc++", "libc++abi", "libunwind",
	"linux-vdso", "linux-gate", "[vdso]", "libasan", "libubsan", "libtsan",
	"libsystem_kernel", "libsystem_c", "libsystem_malloc", "libsystem_platform", "libsystem_pthread", "libdyld", "dyld",
	"ntdll", "kernel32", "kernelbase", "ucrtbase", "msvcrt", "vcruntime",
}

// isRuntime tells whether a module is a run-time library.
func isRuntime(m *target.Module) bool {
	name := strings.ToLower(m.Base())
	return slices.ContainsFunc(runtimes, func(r string) bool {
		rest, ok := strings.CutPrefix(name, r)
		return ok && (rest == "" || strings.ContainsRune(".-_0123456789", rune(rest[0])))
	})
}

// maxMachinery bounds the frames between the signal that a program sends to itself and what wanted that.
const maxMachinery = 12

// sent tells whether a signal is one that programs send to themselves. A trap's place (SIGILL, SIGTRAP) is the instruction itself.
func sent(signal string) bool {
	return slices.Contains([]string{"SIGABRT", "SIGKILL", "SIGTERM", "SIGQUIT"}, signal)
}

// throws tells whether a frame of the program has called the C++ run-time to throw an exception (Itanium C++ ABI: Exception
// Handling, 2.4).
func (s *signer) throws(f *report.Frame) bool {
	return !f.Exact && !isRuntime(f.Module) && strings.HasPrefix(s.code.ImportCalled(f.Module, f.PC, f.Mode), "__cxa_")
}

// first is the frame where the program's own begin: behind the machinery that ends a program, in a thread that a signal of
// its own has ended. That machinery is functions that never return, and what these call.
//
//	pthread_kill ─► raise ─► abort ─► panic_at ─► check          panic_at never returns either
func (s *signer) first() int {
	if c := s.crash(); !sent(s.happened()) || c != nil && c.Kind == report.CrashKilled {
		return 0 // what another process has sent hits the program anywhere
	}
	frames := s.thread.Frames
	near := frames[:min(len(frames), maxMachinery)]
	from := 0
	for i := range near {
		if near[i].Method == unwind.MethodSigframe { // of a handler that ends the program in an order of its own
			from = i + 1
		}
	}
	end := from
	for i := from; i < len(near); i++ {
		if f := &near[i]; f.Trust == unwind.Guess || f.Module == nil {
			break
		} else if i > 0 && s.throws(&near[i]) {
			end = i
			break // where an exception is thrown is a place, though the function may do nothing else
		} else if fn := s.code.FunctionAt(f.Module, f.CallSite, f.Mode); fn != nil && fn.NeverReturns {
			end = i + 1
		} else if end > from {
			break // a function that goes on when nothing is wrong
		}
	}
	if end == len(frames) || end < len(frames) && frames[end].Trust == unwind.Guess {
		return from
	}
	return end
}
