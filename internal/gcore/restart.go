//go:build linux

package gcore

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Some system calls fail with EINTR when a thread that waits in them is stopped, signal or not (signal(7), "Interruption of system calls
// and library functions by stop signals"): epoll_wait, semop, sigtimedwait, io_getevents and their kin. The thread is set back
// before the call, as the kernel itself does with other calls. A signal that is really pending interrupts the call again.
//
// Only x86 tells what is needed for that: the first argument of other processors' calls is gone by then.

// calls are such system calls of a kind of programs, and where the registers are that a call needs: words of the register block.
type calls struct {
	size           int // of a word
	result, number int // rax and orig_rax
	pc             int
	numbers        []uint64
}

// callsOf are those of programs with a register block of a size: epoll_wait, epoll_pwait, epoll_pwait2, semop, semtimedop,
// rt_sigtimedwait, io_getevents, io_pgetevents (arch/x86/entry/syscalls/syscall_64.tbl, syscall_32.tbl).
func callsOf(block int) *calls {
	for _, c := range [...]struct {
		block int
		calls
	}{
		{27 * 8, calls{8, 10, 15, 16, []uint64{232, 281, 441, 65, 220, 128, 208, 333}}}, // x86-64
		{17 * 4, calls{4, 6, 11, 12, []uint64{256, 319, 441, 117, 420, 177, 247, 385}}}, // i386, with ipc for semop
	} {
		if c.block == block {
			return &c.calls
		}
	}
	return nil
}

// syscallSize is the size of syscall, and of int $0x80.
const syscallSize = 2

// again is a register block by which a thread makes the system call anew that its stop interrupted; nil where that is not needed.
func again(regs []byte) []byte {
	c := callsOf(len(regs))
	if c == nil {
		return nil
	}
	at := func(word int) []byte { return regs[word*c.size:][:c.size] }
	value := func(b []byte) int64 {
		if c.size == 4 {
			return int64(int32(binary.LittleEndian.Uint32(b)))
		}
		return int64(binary.LittleEndian.Uint64(b))
	}
	number := value(at(c.number))
	if value(at(c.result)) != -int64(unix.EINTR) || !slices.Contains(c.numbers, uint64(number)) {
		return nil
	}
	out := slices.Clone(regs)
	put := func(word int, v int64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(v))
		copy(out[word*c.size:][:c.size], b[:])
	}
	put(c.result, number)
	put(c.pc, value(at(c.pc))-syscallSize)
	return out
}

// setBack makes a thread that stands still repeat the system call that its stop interrupted.
func (t *thread) setBack() {
	if block := again(t.regs); block != nil && t.signal == 0 {
		iov := unix.Iovec{Base: &block[0]}
		iov.SetLen(len(block))
		_ = ptrace(unix.PTRACE_SETREGSET, t.id, prstatus, uintptr(unsafe.Pointer(&iov))) // it may have been killed
	}
}
