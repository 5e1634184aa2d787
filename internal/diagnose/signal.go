package diagnose

import (
	"strconv"

	"github.com/backsight/backsight/report"
)

// codeNames are the names of si_code above 0, by signal (include/uapi/asm-generic/siginfo.h).
var codeNames = [...]struct {
	signal string
	codes  []string
}{
	{"SIGILL", []string{"ILL_ILLOPC", "ILL_ILLOPN", "ILL_ILLADR", "ILL_ILLTRP", "ILL_PRVOPC", "ILL_PRVREG", "ILL_COPROC", "ILL_BADSTK", "ILL_BADIADDR"}},
	{"SIGFPE", []string{"FPE_INTDIV", "FPE_INTOVF", "FPE_FLTDIV", "FPE_FLTOVF", "FPE_FLTUND", "FPE_FLTRES", "FPE_FLTINV", "FPE_FLTSUB",
		"", "", "", "", "", "FPE_FLTUNK", "FPE_CONDTRAP"}},
	{"SIGSEGV", []string{"SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR", "SEGV_ACCADI", "SEGV_ADIDERR", "SEGV_ADIPERR", "SEGV_MTEAERR",
		"SEGV_MTESERR", "SEGV_CPERR"}},
	{"SIGBUS", []string{"BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"}},
	{"SIGTRAP", []string{"TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT", "TRAP_UNK", "TRAP_PERF"}},
	{"SIGSYS", []string{"SYS_SECCOMP", "SYS_USER_DISPATCH"}},
}

// siKernel is the si_code of a signal for which the kernel states no reason.
const siKernel = 0x80

// codeName is the name of a signal's si_code, a number where it has no name. The first four names
// belong to signals that programs send. MIPS has other numbers for three of these
// (arch/mips/include/uapi/asm/siginfo.h), with which no crash comes.
func codeName(signal string, code int) string {
	switch code {
	case 0:
		return "SI_USER"
	case -1:
		return "SI_QUEUE"
	case -6:
		return "SI_TKILL"
	case siKernel:
		return "SI_KERNEL"
	}
	for i := range codeNames {
		of := &codeNames[i]
		if of.signal == signal && code > 0 && code <= len(of.codes) && of.codes[code-1] != "" {
			return of.codes[code-1]
		}
	}
	return "si_code " + strconv.Itoa(code)
}

// plainCodes are the values of si_code that tell the cause of a crash by themselves: the kind of the
// crash, and the cause in a sentence.
var plainCodes = [...]struct{ code, kind, text string }{
	{"FPE_INTDIV", report.CrashDivisionByZero, "an integer was divided by zero"},
	{"FPE_INTOVF", "", "an integer operation overflowed"},
	{"FPE_FLTDIV", report.CrashDivisionByZero, "a floating-point number was divided by zero"},
	{"FPE_FLTINV", "", "a floating-point operation was invalid"},
	{"ILL_ILLOPC", "", "the instruction is none of this processor"},
	{"ILL_ILLOPN", "", "the instruction, or one of its operands, is none of this processor"}, // Linux on x86: any that it does not know
	{"ILL_PRVOPC", "", "the instruction is reserved to the kernel"},
	{"SYS_SECCOMP", "", "the system call is forbidden to the program (seccomp)"},
	{"SEGV_MTEAERR", "", "the pointer's tag does not match the memory's (MTE, reported late)"},
	{"SEGV_MTESERR", "", "the pointer's tag does not match the memory's (MTE)"},
	{"SEGV_CPERR", "", "the return address differs from the one on the shadow stack (CET)"},
	{"BUS_ADRERR", "", "the file behind the mapping has no such page any more, or the address is none of memory"},
}
