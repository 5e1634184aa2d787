package cpu

// Surroundings is how code around a program behaves, of which the ABI says nothing: the reset,
// profilers' hooks, the end of a thread.
type Surroundings struct {
	// ResetLR is the address that LR holds in the function that the hardware enters
	// first, ISA mode bit set; 0 where that tells nothing.
	ResetLR uint64
	// OtherState is the address that LR holds where code of another security state has called, ISA mode bit set; 0 where there are no
	// such states. The call itself is on the other state's stack.
	OtherState uint64
	// HookPops is by how many bytes a profiler's hook raises SP before it returns. With -pg a
	// function calls the hook before or in its prologue: MIPS o32's _mcount, ARM's
	// __gnu_mcount_nc. 0 where the hook leaves SP as it was.
	HookPops int64
	// HookKeeps is the register into which a function copies LR before it calls such a hook,
	// and from which the hook restores LR: AArch64's x9 before Linux's ftrace_caller
	// (mov x9,x30), at before _mcount of MIPS' 64-bit ABIs (move at,ra). 0 where there is no such convention.
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
