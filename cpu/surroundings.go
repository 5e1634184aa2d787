package cpu

// Surroundings is what code around a program does that no ABI says: the reset, profilers'
// hooks, the end of a thread.
type Surroundings struct {
	// ResetLR is the address that LR holds in the function that the hardware enters
	// first, ISA mode bit set; 0 where that tells nothing.
	ResetLR uint64
	// HookPops is by how many bytes the hook of a profiler, which -pg has called before or in
	// the prologue, raises SP before it returns to there: MIPS o32's _mcount, ARM's
	// __gnu_mcount_nc; 0 where it leaves SP alone.
	HookPops int64
	// HookKeeps is the register into which functions copy LR before they call such a hook,
	// which gives LR back: AArch64's x9 before Linux's ftrace_caller (mov x9,x30); 0 where
	// there is no such convention.
	HookKeeps Reg
	// ThreadExit is the system call by which Linux's C libraries end a thread whose function
	// came back.
	ThreadExit SystemCall
}

// SystemCall is a system call by its number, and the register that holds the number.
type SystemCall struct {
	Reg    Reg
	Number int64
}
