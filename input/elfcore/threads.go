package elfcore

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// regOffset is the offset of pr_reg in struct elf_prstatus: behind the signal
// (12+4 bytes), two longs, four pids and four timevals of two longs. n32 has
// 64-bit registers behind 32-bit longs.
func (c *core) regOffset() int {
	if c.header.wide {
		return 112
	}
	return 72
}

// threads decodes the register files. The kernel writes the thread that crashed
// first, and so does QEMU.
func (c *core) threads() (list []target.Thread) {
	layout := c.arch.Layouts[cpu.LinuxPrstatus]
	short := 0
	for _, desc := range c.notes.prstatus {
		if len(desc) < c.regOffset()+layout.Size || layout.Size == 0 {
			short++
			continue
		}
		r := bin.New(desc, c.header.big)
		r.Seek(uint64(12 + 4 + 2*c.header.word())) // pr_pid
		t := target.Thread{ID: int(int32(r.U32())), Crashed: len(list) == 0}
		t.Regs = c.arch.Read(layout, desc[c.regOffset():])
		list = append(list, t)
	}
	if short > 0 {
		c.issue("%s: %d of %d threads have no whole register block (NT_PRSTATUS)", c.name, short, len(c.notes.prstatus))
	}
	return list
}

// fault is why the program stopped: NT_SIGINFO, else pr_cursig of the first
// thread. nil where it was not a signal (gcore).
func (c *core) fault(thread int) *target.Fault {
	f := &target.Fault{Thread: thread}
	r := bin.New(c.notes.prstatus[0], c.header.big)
	r.Seek(12)
	f.Signal = int(r.U16())
	c.readSiginfo(f)
	if f.Signal == 0 {
		return nil
	}
	f.Name = signalName(f.Signal, c.header.machine == emMIPS)
	return f
}

// readSiginfo decodes si_signo, si_code and si_addr of siginfo_t. MIPS has
// si_code before si_errno (arch/mips/include/uapi/asm/siginfo.h). si_addr is
// behind these three, aligned to the word.
func (c *core) readSiginfo(f *target.Fault) {
	r := bin.New(c.notes.siginfo, c.header.big)
	signo, second, third := r.U32(), r.U32(), r.U32()
	r.Align(c.header.word())
	sender := r
	addr := r.Uint(c.header.word())
	if r.Err() != nil || signo == 0 {
		return
	}
	f.Signal, f.Code = int(int32(signo)), int(int32(third))
	if c.header.machine == emMIPS {
		f.Code = int(int32(second))
	}
	if faults(signalName(f.Signal, c.header.machine == emMIPS)) && f.Code > 0 && f.Code != siKernel {
		f.Address, f.HasAddress = addr, true
	}
	if f.Code <= 0 { // sent by a process: si_pid and si_uid stand where si_addr would
		pid, uid := sender.U32(), sender.U32()
		if sender.Err() == nil {
			f.Sender = target.Sender{PID: int(pid), UID: int(uid)}
		}
	}
}

// siKernel is sent where the processor does not tell the address: a non-canonical
// one on x86_64. si_addr is then 0 and means nothing.
const siKernel = 0x80

// faults tells whether a signal's si_addr is an address, if si_code says that the
// kernel sent it.
func faults(name string) bool {
	switch name {
	case "SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGTRAP":
		return true
	}
	return false
}

// signalName names a signal by Linux's numbers (include/uapi/asm-generic/signal.h,
// arch/mips/include/uapi/asm/signal.h); "" for one that ends no program.
func signalName(n int, mips bool) string {
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
