// Package signals has the names of signals by their numbers, and which of them have an address.
package signals

// siKernel is sent where the processor does not tell the address: a non-canonical
// one on x86_64. si_addr is then 0 and means nothing.
const siKernel = 0x80

// HasAddress tells whether the si_addr of a signal of Linux, by its name and si_code, is an address: the kernel sent
// the signal for a fault.
func HasAddress(name string, code int) bool {
	if code <= 0 || code == siKernel {
		return false
	}
	switch name {
	case "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP":
		return true
	}
	return false
}

// Name names a signal by Linux's numbers (include/uapi/asm-generic/signal.h), or by those that MIPS has from
// System V, as BSD has (arch/mips/include/uapi/asm/signal.h); "" for one that ends no program.
func Name(n int, mips bool) string {
	switch n {
	case 1:
		return "SIGHUP"
	case 2:
		return "SIGINT"
	case 3:
		return "SIGQUIT"
	case 4:
		return "SIGILL"
	case 5:
		return "SIGTRAP"
	case 6:
		return "SIGABRT"
	case 8:
		return "SIGFPE"
	case 9:
		return "SIGKILL"
	case 11:
		return "SIGSEGV"
	case 13:
		return "SIGPIPE"
	case 14:
		return "SIGALRM"
	case 15:
		return "SIGTERM"
	}
	if mips {
		return map[int]string{7: "SIGEMT", 10: "SIGBUS", 12: "SIGSYS", 16: "SIGUSR1", 17: "SIGUSR2", 30: "SIGXCPU", 31: "SIGXFSZ"}[n]
	}
	return map[int]string{7: "SIGBUS", 10: "SIGUSR1", 12: "SIGUSR2", 16: "SIGSTKFLT", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS"}[n]
}
