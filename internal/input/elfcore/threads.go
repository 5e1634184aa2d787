package elfcore

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/signals"
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

// readPrstatus decodes NT_PRSTATUS, but for the registers.
func (h *header) readPrstatus(desc []byte) (t threadNotes) {
	r := bin.New(desc, h.big)
	r.Seek(12)
	t.signal = int(r.U16())
	r.Seek(uint64(12 + 4 + 2*h.word())) // pr_pid
	t.id = int(int32(r.U32()))
	t.regs = desc[min(h.regOffset(), len(desc)):]
	return t
}

// forgetEvery is after how many threads the pages of their notes are given back: a thread's registers take up to 12 kB (AMX), and Linux
// maps as much again around what is read.
const forgetEvery = 128

// forget does so, where as many threads were read as that.
func (f *file) forget(threads int) {
	if threads%forgetEvery == 0 && threads > 0 {
		f.pages.Forget()
	}
}

// readThreads decodes the register files. The kernel writes the thread that crashed
// first, and so does QEMU.
func readThreads(f *file, arch *cpu.Arch, n *notes, found *problems) (list []target.Thread) {
	layout, short := arch.Layouts[n.system.carrier()], 0
	for i := range n.threads {
		notes := &n.threads[i]
		f.forget(i)
		if len(notes.regs) < layout.Size || layout.Size == 0 {
			short++
			continue
		}
		if list == nil { // to grow would leave more than twice as much behind
			list = make([]target.Thread, 0, min(len(n.threads)-short, bin.Limit(f.pages.Size()/uint64(len(notes.regs)), len(n.threads))))
		}
		t := target.Thread{ID: notes.id, Name: notes.name, Regs: arch.Read(layout, notes.regs)}
		setShadow(arch, &t, notes.shadow)
		list = append(list, t)
	}
	if short > 0 {
		found.capture(f.name, "%s: %d of %d threads have no whole register block (NT_PRSTATUS)", f.name, short, len(n.threads))
	}
	return list
}

// setShadow makes top the pointer to the thread's shadow stack: a register where functions move the pointer.
func setShadow(arch *cpu.Arch, t *target.Thread, top uint64) {
	if ssp, ok := arch.RegByName("ssp"); ok && top != 0 {
		t.Regs.Set(ssp, top)
	} else {
		t.Shadow = top
	}
}

// readFault tells why the program stopped: NT_SIGINFO, else pr_cursig of the thread that crashed, the first if none is named.
// nil where it was no signal that ends a program: gcore leaves 0, or the signal that stopped the process for GDB.
func readFault(h *header, n *notes) *target.Fault {
	at := max(0, slices.IndexFunc(n.threads, func(t threadNotes) bool { return t.id == n.crashed }))
	if len(n.threads) == 0 {
		return nil
	}
	f := &target.Fault{Thread: n.threads[at].id, Signal: n.threads[at].signal}
	if n.system == linux {
		h.readSiginfo(n.siginfo, f)
	}
	f.Name = signals.Name(f.Signal, h.machine == emMIPS || n.system != linux)
	if f.Name == "" && f.Signal < firstRealTime {
		return nil
	}
	return f
}

// firstRealTime is the first of the signals without names, which end a program.
const firstRealTime = 32

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
	if signals.HasAddress(signals.Name(f.Signal, mips), f.Code) {
		f.Address, f.HasAddress = addr, true
	}
	if f.Code <= 0 { // sent by a process: si_pid and si_uid stand where si_addr would
		pid, uid := sender.U32(), sender.U32()
		if sender.Err() == nil {
			f.Sender = target.Sender{PID: int(pid), UID: int(uid)}
		}
	}
}
