package child

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// forbidden are system calls by which a process reaches the network, other processes or other programs. None of them is needed to
// backtrace; io_uring would do what others are refused for.
func forbidden() []uint32 {
	return []uint32{
		unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG,
		unix.SYS_SENDMMSG, unix.SYS_IO_URING_SETUP, unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV,
		unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_SEND_SIGNAL,
		unix.SYS_PRLIMIT64, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_ADD_KEY, unix.SYS_KEYCTL, unix.SYS_REQUEST_KEY,
		unix.SYS_MOUNT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	}
}

// Places in what a filter sees: struct seccomp_data of linux/seccomp.h; the arguments' lower halves, for little-endian machines.
const callAt, archAt, firstAt = 0, 4, 16

// filter is the program that the kernel runs at each system call: another machine's calls and forbidden ones fail, and a signal is
// for this process alone, which Go's runtime needs.
func filter(pid int) ([]bpf.RawInstruction, error) {
	const fail, pass = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ALLOW
	list := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: machine(), SkipTrue: 1},
		bpf.RetConstant{Val: fail},
		bpf.LoadAbsolute{Off: callAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: fail},
	}
	for _, call := range forbidden() {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: call, SkipTrue: 1}, bpf.RetConstant{Val: fail})
	}
	return bpf.Assemble(append(list,
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.SYS_TGKILL, SkipTrue: 3},
		bpf.LoadAbsolute{Off: firstAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(pid), SkipTrue: 1},
		bpf.RetConstant{Val: fail},
		bpf.RetConstant{Val: pass},
	))
}

// machine is how seccomp(2) calls the processor.
func machine() uint32 {
	switch runtime.GOARCH {
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64
	case "riscv64":
		return unix.AUDIT_ARCH_RISCV64
	}
	return unix.AUDIT_ARCH_X86_64
}

// x32 is the bit of calls of x86-64's other ABI; no machine has as many calls.
const x32 = 0x40000000

// confine has all threads of this process fail at forbidden system calls, where the kernel has filters: seccomp(2).
func confine() error {
	program, err := filter(os.Getpid())
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the first promise is a thread's own
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	list := make([]unix.SockFilter, len(program))
	for i, p := range program {
		list[i] = unix.SockFilter{Code: p.Op, Jt: p.Jt, Jf: p.Jf, K: p.K}
	}
	f := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&f)))
	switch {
	case errors.Is(errno, unix.ENOSYS), errors.Is(errno, unix.EINVAL): // a kernel without it
		return nil
	case errno != 0:
		return fmt.Errorf("seccomp: %w", errno)
	case thread != 0:
		return fmt.Errorf("seccomp: thread %d has a filter of its own", thread)
	}
	return nil
}
