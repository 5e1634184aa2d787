// Package elfcore reads ELF core files of Linux programs, written by the kernel,
// by QEMU's user mode or by GDB's gcore, for every processor that the program
// knows.
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

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "elfcore", Sniff: sniff, Open: open}
}

// sniff: an ELF file of type ET_CORE.
func sniff(head []byte) bool {
	h, err := readHeader(head)
	return err == "" && h.typ == etCore
}

// open reads the whole core; it is one snapshot.
func open(ctx context.Context, capture *input.Capture, env *input.Env) (input.Stream, error) {
	data, err := capture.Bytes(ctx)
	if data == nil || ctx.Err() != nil {
		return nil, err
	}
	c := core{name: capture.Name, data: data, env: env}
	if err != nil {
		c.issue("%v", err)
	}
	snap, err := c.read()
	if err != nil {
		return nil, err
	}
	return input.One(snap), nil
}

// core is a core file while it is read.
type core struct {
	name   string
	data   []byte
	env    *input.Env
	header header
	arch   *cpu.Arch
	loads  []phdr
	notes  notes
	// noteBytes is how much has been read as notes.
	noteBytes int
	// mem is what was captured, without what files add.
	mem *target.Memory
	// ranges has the permissions of every mapping, captured or not; see mapped.
	ranges  *target.Memory
	modules []*target.Module
	issues  []target.Issue
}

// issue notes what is wrong with the core itself.
func (c *core) issue(format string, args ...any) {
	c.issues = append(c.issues, target.Issue{Kind: target.IssueCapture, Subject: c.name, Text: fmt.Sprintf(format, args...)})
}

// notUsed notes why a file is not the binary that the core calls name.
func (c *core) notUsed(name, format string, args ...any) {
	c.issues = append(c.issues, target.Issue{Kind: target.IssueNotUsed, Subject: name, Text: fmt.Sprintf(format, args...)})
}

// notFound notes a binary that is mapped at addr, 0 where that is not known.
func (c *core) notFound(name string, addr uint64, format string, args ...any) {
	c.issues = append(c.issues, target.Issue{Kind: target.IssueNotFound, Subject: name, Addr: addr, Text: fmt.Sprintf(format, args...)})
}

func (c *core) errorf(off uint64, format string, args ...any) error {
	return &input.Error{Path: c.name, Offset: int64(off), Reason: fmt.Sprintf(format, args...)}
}

func (c *core) read() (*target.Snapshot, error) {
	h, what := readHeader(c.data)
	if what != "" {
		return nil, c.errorf(0, "%s", what)
	}
	c.header = h
	if err := c.readSegments(); err != nil {
		return nil, err
	}
	if err := c.findArch(); err != nil {
		return nil, err
	}
	threads := c.threads()
	if len(threads) == 0 {
		return nil, c.errorf(c.header.phoff, "a core file without any thread's registers (NT_PRSTATUS)")
	}
	c.mem = c.memory(nil)
	c.findModules()
	snap := &target.Snapshot{
		Arch: c.arch, OS: "Linux", Command: c.notes.command, PID: c.notes.pid,
		Threads: threads, Modules: c.modules, Memory: c.memory(c.modules),
		CodeMask: c.notes.codeMask, Issues: c.issues,
	}
	if snap.PID == 0 {
		snap.PID = threads[0].ID
	}
	snap.Fault = c.fault(threads[0].ID)
	snap.SortModules()
	return snap, nil
}

// findArch finds the ABI of the header. Some writers leave e_flags 0 (GDB's gcore
// on MIPS), so that o32 and n32 look the same; the size of the register block
// tells them apart.
func (c *core) findArch() error {
	h := &c.header
	a, ok := c.env.Archs.ByELF(h.machine, h.class(), h.big, h.flags, 0)
	if !ok {
		return c.errorf(18, "a core file of an unsupported processor: e_machine %d, %d-bit, big-endian %t",
			h.machine, 8*h.word(), h.big)
	}
	c.arch = a
	if len(c.notes.prstatus) == 0 {
		return nil
	}
	block := len(c.notes.prstatus[0]) - c.regOffset()
	if fits(a, block) {
		return nil
	}
	for _, b := range c.env.Archs {
		m := b.ELF
		if m.Machine == h.machine && m.Class == h.class() && b.BigEndian == h.big && fits(b, block) {
			c.arch = b
			return nil
		}
	}
	c.issue("%s: NT_PRSTATUS has room for %d bytes of registers, which no ABI of this processor has", c.name, block)
	return nil
}

// fits tells whether a register block of a plus pr_fpvalid, padded to the
// alignment of its longs, makes size bytes.
func fits(a *cpu.Arch, size int) bool {
	n := a.Layouts[cpu.LinuxPrstatus].Size
	return n > 0 && size >= n && size <= n+8
}
