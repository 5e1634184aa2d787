// Package elfcore reads ELF core files of Linux programs, written by the kernel,
// by QEMU's user mode or by GDB's gcore, for every processor that the program
// knows; and those of NetBSD, FreeBSD and OpenBSD for some (bsd.go, openbsd.go).
//
//	PT_NOTE  NT_PRSTATUS (one a thread), NT_PRPSINFO, NT_SIGINFO, NT_AUXV, NT_FILE, …
//	PT_LOAD  what was written of each mapping; file pages that nobody wrote to are
//	         usually left out and come from the file
//
// The notes decide which files were mapped where; QEMU writes no NT_FILE, so that
// the auxiliary vector and the dynamic linker's list of modules stand in for it.
// What a damaged core still holds is used; what it lacks becomes an issue.
//
// Specifications: System V gABI chapters 4 and 5; Linux fs/binfmt_elf.c,
// include/uapi/linux/elfcore.h, auxvec.h; glibc's elf/link.h (r_debug).
package elfcore

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "elfcore", Sniff: sniff, Open: open, OpenStopped: openStopped}
}

// sniff: an ELF file of type ET_CORE.
func sniff(head []byte) bool {
	h, err := readHeader(head)
	return err == "" && h.typ == etCore
}

// open reads the whole core; it is one snapshot.
func open(ctx context.Context, capture *input.Capture, env *input.Env) (input.Stream, error) {
	pages, err := capture.Pages(ctx)
	if err != nil && pages.Size() == 0 {
		return nil, err
	}
	var found problems
	if err != nil {
		found.capture(capture.Name, "%v", err)
	}
	snap, err := read(ctx, file{name: capture.Name, pages: pages}, env, &found)
	if err != nil {
		return nil, err
	}
	return input.One(snap), nil
}

// read decodes a core: what the notes say of threads and mappings, the memory that was
// captured, then the binaries that were mapped.
func read(ctx context.Context, f file, env *input.Env, found *problems) (*target.Snapshot, error) {
	h, what := readHeader(f.pages.Bytes(0, headerSize))
	if what != "" {
		return nil, f.errorf(0, "%s", what)
	}
	f.header = h
	segs, err := f.segments(found)
	if err != nil {
		return nil, err
	}
	n := readNotes(&f, segs.notes, found)
	arch, err := findArch(&f, env.Archs, &n, found)
	if err != nil {
		return nil, err
	}
	if _, ok := arch.Layouts[n.system.carrier()]; !ok || n.system == openBSD && h.machine != emX86_64 {
		return nil, f.errorf(h.phoff, "a core of %s for %s, whose registers are not known", n.system, arch)
	}
	fault := readFault(&h, &n)
	threads := readThreads(&f, arch, &n, found)
	for i := range threads {
		threads[i].Crashed = fault != nil && threads[i].ID == fault.Thread
	}
	if end := h.phoff + f.count()*h.phentsize; len(threads) == 0 && end > f.pages.Size() {
		return nil, f.errorf(f.pages.Size(), "truncated: the program headers end at %#x", end)
	}
	if len(threads) == 0 {
		return nil, f.errorf(h.phoff, "a core file without any thread's registers (NT_PRSTATUS)")
	}
	if name := emulator(n.command); name != "" {
		found.capture(f.name, "%s: a core of %s itself, not of the program that it ran; that one's is called qemu_PROGRAM_TIME_PID.core", f.name, name)
	}
	s := newSpace(ctx, &f, arch, segs.loads)
	modules, arch := findModules(s, &n, env.Files, found)
	snap := &target.Snapshot{
		Arch: arch, OS: n.system.String(), Command: n.command, PID: n.pid,
		Threads: threads, Modules: modules, Memory: s.memory(modules),
		Fault: fault, CodeMask: n.codeMask, Issues: found.list,
	}
	if snap.PID == 0 {
		snap.PID = threads[0].ID
	}
	snap.Made = made(ctx, env.Files, snap.PID, n.files)
	snap.SortModules()
	return snap, nil
}

// emulator is the name of QEMU's user mode emulator where a command line is one's, else "". When the
// emulator itself dies, the kernel dumps that: a process of this machine's processor, whose stack
// is not the program's.
func emulator(command string) string {
	word, _, _ := strings.Cut(command, " ")
	name := path.Base(word)
	if strings.HasPrefix(name, "qemu-") && !strings.HasPrefix(name, "qemu-system-") {
		return name
	}
	return ""
}

// problems collects what is wrong with a core and with the binaries that it names.
type problems struct{ list []target.Issue }

// capture notes what is wrong with the core itself, which has this name.
func (p *problems) capture(name, format string, args ...any) {
	p.note(target.IssueCapture, name, 0, format, args)
}

// notUsed notes why a file is not the binary that the core calls name.
func (p *problems) notUsed(name, format string, args ...any) {
	p.note(target.IssueNotUsed, name, 0, format, args)
}

// notFound notes a binary that is mapped at addr, 0 where that is not known.
func (p *problems) notFound(name string, addr uint64, format string, args ...any) {
	p.note(target.IssueNotFound, name, addr, format, args)
}

func (p *problems) note(kind target.IssueKind, subject string, addr uint64, format string, args []any) {
	p.list = append(p.list, target.Issue{Kind: kind, Subject: subject, Addr: addr, Text: fmt.Sprintf(format, args...)})
}

// findArch finds the ABI of the header. Some writers leave e_flags 0 (GDB's gcore
// on MIPS), so that o32 and n32 look the same; the size of the register block
// tells them apart.
func findArch(f *file, archs cpu.Set, n *notes, found *problems) (*cpu.Arch, error) {
	h := &f.header
	a, ok := archs.ByELF(h.machine, h.class(), h.big, h.flags, 0)
	if !ok {
		if h.machine == emX86_64 && !h.wide {
			return nil, f.errorf(4, "a core of an x32 program (x86-64 with pointers of 4 bytes), which is not supported")
		}
		return nil, f.errorf(18, "a core file of an unsupported processor: e_machine %d, %d-bit, big-endian %t",
			h.machine, 8*h.word(), h.big)
	}
	if len(n.threads) == 0 || n.system != linux {
		return a, nil
	}
	block := len(n.threads[0].regs)
	if fits(a, block) {
		return a, nil
	}
	for _, b := range archs {
		m := b.ELF
		if m.Machine == h.machine && m.Class == h.class() && b.BigEndian == h.big && fits(b, block) {
			return b, nil
		}
	}
	found.capture(f.name, "%s: NT_PRSTATUS has room for %d bytes of registers, which no ABI of this processor has", f.name, block)
	return a, nil
}

// fits tells whether a register block of a plus pr_fpvalid, padded to the
// alignment of its longs, makes size bytes.
func fits(a *cpu.Arch, size int) bool {
	n := a.Layouts[cpu.LinuxPrstatus].Size
	return n > 0 && size >= n && size <= n+8
}
