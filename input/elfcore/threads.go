package elfcore

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// regOffset is the offset of pr_reg in struct elf_prstatus: behind the signal
// (12+4 bytes), two longs, four pids and four timevals of two longs. n32 has
// 64-bit registers behind 32-bit longs.
func (h *header) regOffset() int {
	if h.wide {
		return 112
	}
	return 72
}

// readThreads decodes the register files. The kernel writes the thread that crashed
// first, and so does QEMU.
func readThreads(f *file, arch *cpu.Arch, prstatus [][]byte, found *problems) (list []target.Thread) {
	h, layout := &f.header, arch.Layouts[cpu.LinuxPrstatus]
	short := 0
	for _, desc := range prstatus {
		if len(desc) < h.regOffset()+layout.Size || layout.Size == 0 {
			short++
			continue
		}
		if list == nil { // to grow would leave more than twice as much behind
			list = make([]target.Thread, 0, min(len(prstatus)-short, len(f.data)/len(desc)))
		}
		r := bin.New(desc, h.big)
		r.Seek(uint64(12 + 4 + 2*h.word())) // pr_pid
		t := target.Thread{ID: int(int32(r.U32())), Crashed: len(list) == 0}
		t.Regs = arch.Read(layout, desc[h.regOffset():])
		list = append(list, t)
	}
	if short > 0 {
		found.capture(f.name, "%s: %d of %d threads have no whole register block (NT_PRSTATUS)", f.name, short, len(prstatus))
	}
	return list
}

// readFault tells why the program stopped: NT_SIGINFO, else pr_cursig of the first
// thread. nil where it was not a signal (gcore).
func readFault(h *header, n *notes, thread int) *target.Fault {
	f := &target.Fault{Thread: thread}
	r := bin.New(n.prstatus[0], h.big)
	r.Seek(12)
	f.Signal = int(r.U16())
	h.readSiginfo(n.siginfo, f)
	if f.Signal == 0 {
		return nil
	}
	f.Name = target.SignalName(f.Signal, h.machine == emMIPS)
	return f
}

// readSiginfo decodes si_signo, si_code and si_addr of siginfo_t. MIPS has
// si_code before si_errno (arch/mips/include/uapi/asm/siginfo.h). si_addr is
// behind these three, aligned to the word.
func (h *header) readSiginfo(siginfo []byte, f *target.Fault) {
	r, mips := bin.New(siginfo, h.big), h.machine == emMIPS
	signo, second, third := r.U32(), r.U32(), r.U32()
	r.Align(h.word())
	sender := r
	addr := r.Uint(h.word())
	if r.Err() != nil || signo == 0 {
		return
	}
	f.Signal, f.Code = int(int32(signo)), int(int32(third))
	if mips {
		f.Code = int(int32(second))
	}
	if target.SignalHasAddress(target.SignalName(f.Signal, mips), f.Code) {
		f.Address, f.HasAddress = addr, true
	}
	if f.Code <= 0 { // sent by a process: si_pid and si_uid stand where si_addr would
		pid, uid := sender.U32(), sender.U32()
		if sender.Err() == nil {
			f.Sender = target.Sender{PID: int(pid), UID: int(uid)}
		}
	}
}
