package elfcore

import (
	"strconv"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// system is whose kernel wrote the core.
type system uint8

const (
	linux system = iota
	netBSD
	freeBSD
	openBSD // whose registers of x86-64 are put as NetBSD has them
	solaris
)

func (s system) String() string {
	return [...]string{"Linux", "NetBSD", "FreeBSD", "OpenBSD", "Solaris or illumos"}[s]
}

// noCarrier has no layout.
const noCarrier cpu.Carrier = 1<<8 - 1

// carrier is how the system lays out a thread's registers.
func (s system) carrier() cpu.Carrier {
	return [...]cpu.Carrier{cpu.LinuxPrstatus, cpu.NetBSDRegs, cpu.FreeBSDRegs, cpu.NetBSDRegs, noCarrier}[s]
}

// Notes of NetBSD (sys/sys/exec_elf.h), those of a thread numbered as ptrace's requests of a machine, from firstMach on.
const (
	netBSDProcinfo = 1
	netBSDAuxv     = 2
	firstMach      = 32
)

// netBSD reads a note of NetBSD. Notes of a thread carry the thread's ID.
func (r *noteReader) netBSD(lwp string, typ uint32, desc []byte) {
	n, h := &r.notes, &r.file.header
	n.system = netBSD
	getRegs := uint32(firstMach + 1)
	if h.machine == emAArch64 {
		getRegs = firstMach
	}
	id, err := strconv.Atoi(lwp)
	switch {
	case err == nil && typ == getRegs:
		n.thread(id, desc)
	case err == nil:
	case typ == netBSDProcinfo: // struct netbsd_elfcore_procinfo
		d := n.procinfo(desc, h.big, 80, 124)
		n.crashed = int(int32(d.U32()))
	case typ == netBSDAuxv:
		n.auxv = readAuxv(desc, h)
		n.auxv[atExecFn] = n.auxv[atSunExecName]
	}
}

// procinfo reads what the kernel says of a process, which stands first: the signal, and where the system has them, the process's number
// and name. It returns what is behind the name.
func (n *notes) procinfo(desc []byte, big bool, pid, name uint64) bin.Reader {
	d := bin.New(desc, big)
	d.Seek(8)
	n.signal = int(d.U32())
	d.Seek(pid)
	n.pid = int(int32(d.U32()))
	d.Seek(name)
	n.fname = text(d.Bytes(32))
	n.command = n.fname
	return d
}

// thread adds a thread. The process's signal is that of the thread that crashed, the first where nothing says which.
func (n *notes) thread(id int, regs []byte) {
	n.threads = append(n.threads, threadNotes{id: id, regs: regs})
	if id == n.crashed || n.crashed == 0 && len(n.threads) == 1 {
		n.threads[len(n.threads)-1].signal = n.signal
	}
}

// Notes of FreeBSD (sys/sys/elf_common.h) beside those that System V has; what the kernel says of a process begins with a
// record's size.
const (
	freeBSDThrmisc = 7
	freeBSDVMMap   = 10
	freeBSDAuxv    = 16
)

// freeBSD reads a note of FreeBSD. The thread that crashed comes first.
func (r *noteReader) freeBSD(typ uint32, desc []byte) {
	n, h := &r.notes, &r.file.header
	n.system = freeBSD
	d, w := bin.New(desc, h.big), h.word()
	switch typ {
	case ntPrstatus: // version; sizes of the struct, of registers, of floating-point registers; osreldate, signal, thread ID
		d.Seek(uint64(4 * w))
		d.Skip(4)
		t := threadNotes{signal: int(d.U32()), id: int(int32(d.U32()))}
		d.Align(w)
		t.regs = d.Bytes(uint64(d.Len()))
		n.threads = append(n.threads, t)
	case ntPrpsinfo: // version, size, pr_fname[17], pr_psargs[81], pr_pid
		d.Seek(uint64(2 * w))
		n.fname, n.command = text(d.Bytes(17)), text(d.Bytes(81))
		d.Align(4)
		n.pid = int(int32(d.U32()))
	case freeBSDThrmisc:
		if i := len(n.threads) - 1; i >= 0 {
			n.threads[i].name = text(d.Bytes(20))
		}
	case freeBSDAuxv:
		n.auxv = readAuxv(desc[min(4, len(desc)):], h)
		n.auxv[atExecFn] = n.auxv[atFreeBSDExecPath]
	case freeBSDVMMap:
		r.vmMap(desc)
	}
}

// vmMap reads struct kinfo_vmentry of FreeBSD 12 and later (sys/sys/user.h), each cut behind its path.
func (r *noteReader) vmMap(desc []byte) {
	d := bin.New(desc, r.file.header.big)
	d.Skip(4)
	files := budget.New("mappings of files", filesFloor, r.file.pages.Size()/bytesPerFile)
	for d.Len() > 0 {
		e := d
		size := uint64(e.U32())
		e.Skip(4)
		m := fileMapping{start: e.U64(), end: e.U64(), off: e.U64()}
		e.Skip(136 - 32)
		if m.path = e.CString(); e.Err() != nil || size < 136 {
			return
		}
		if d.Skip(size); !files.Draw(1) {
			r.found.capture(r.file.name, "%s: NT_PROCSTAT_VMMAP: %v; the others are left out", r.file.name, files.Err())
			return
		}
		if m.path != "" && m.start < m.end {
			r.notes.files = append(r.notes.files, m)
		}
	}
}
