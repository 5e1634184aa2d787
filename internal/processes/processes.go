// Package processes finds the programs of a stopped Linux kernel in its memory: which tasks share an address space, what is mapped there
// out of which files, its page tables, and the registers that were saved when a task entered the kernel. Kernels are built in a thousand
// ways, and few come with types: where fields lie is found by what they hold, as package tasks finds tasks. Types (BTF), where the
// kernel has some, are only asked first.
//
//	task_struct ─► mm: what is mm and active_mm of tasks, and has an auxiliary vector
//	mm ─┬─► saved_auxv: AT_PHDR, AT_PAGESZ, AT_ENTRY
//	    ├─► VMAs: a list (to Linux 6.0) or a maple tree (since 6.1) of what points back to mm
//	    │     └─► vm_flags, vm_pgoff, vm_file ─► dentries, mounts ─► a path
//	    └─► pgd: the tables that translate the program's entry and its stack
//	top of a task's stack ─► pt_regs: a PC in mapped code, user mode
//
// Specifications: Linux include/linux/sched.h, mm_types.h, maple_tree.h, dcache.h, fs/mount.h, and the processors' ptrace.h.
package processes

import (
	"context"
	"errors"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// Kernel is a kernel whose processes are looked for.
type Kernel struct {
	Arch   *cpu.Arch
	Memory *target.Memory // the kernel's address space
	// Compat is the processor of 32-bit programs on a 64-bit kernel, nil where there are none.
	Compat *cpu.Arch
	// Physical is physical memory, in the processor's byte order, and At the physical address that one of the kernel shows.
	Physical *target.Memory
	At       func(virtual uint64) (physical uint64, ok bool)
	// Schemes are the layouts that page tables of processes may have.
	Schemes []paging.Scheme
	// Types says where a field lies in a structure, where the kernel has types; nil elsewhere.
	Types func(structure string, path ...string) (offset uint64, ok bool)
	// Lazy: a system call saves only the registers that functions do not preserve (x86-64 until Linux 4.16).
	Lazy bool
}

// Process is a program's address space, and the tasks in it.
type Process struct {
	// Tasks are indices of the tasks that were given, in their order.
	Tasks []int
	// Regs are the registers with which each of Tasks entered the kernel; none are known where they were not found.
	Regs []cpu.Registers
	// Below is how many bytes below the top of the tasks' stacks these were saved.
	Below uint64
	// Maps are the mappings, by address.
	Maps []Mapping
	// Auxv is the auxiliary vector, of words of Word bytes: 4 of a 32-bit program, on any kernel.
	Auxv []byte
	Word int
	// Tables are the page tables.
	Tables paging.Tables
	mm     uint64
}

// Mapping is a part of an address space.
type Mapping struct {
	target.Range
	Perm target.Perm
	// Offset is where in the file it begins, in bytes. Path is "" where no file is mapped.
	Offset uint64
	Path   string
}

// ErrNone is that of a memory in which no processes were found.
var ErrNone = errors.New("no address spaces of programs were found")

const (
	// leastWork and bytesPerStep bound the looks at mappings, nodes and names: each takes some memory of the machine, and is looked at
	// some times.
	leastWork, bytesPerStep = 1 << 20, 32
	// maxPaths bounds the files whose paths are kept.
	maxPaths = 1 << 16
	// maxVoters bounds how many tasks vote on where a field lies, maxSpaces how many address spaces.
	maxVoters, maxSpaces = 48, 16
)

// Find finds the processes, in the order of their first tasks. The error beside processes says what is missing of them.
func Find(ctx context.Context, k *Kernel, list []tasks.Task) ([]Process, error) {
	f := finder{reader: reader{Kernel: k, ctx: ctx, word: uint64(k.Arch.AddrSize)},
		work: budget.New("looks at processes", leastWork, k.Physical.Size()/bytesPerStep), paths: map[uint64]string{}}
	f.work.Until(ctx)
	found := f.spaces(list)
	if len(found) == 0 || !f.findMappings(found) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, ErrNone
	}
	f.findTables(found)
	for i := range found {
		p := &found[i]
		p.Tables.Root, _ = f.root(p.mm)
		p.Tables.Scheme, p.Tables.Physical = f.scheme, k.Physical
		p.Maps = f.mappings(p.mm)
	}
	f.findRegisters(found, list)
	if !f.pgd.known {
		return found, errors.New("no page tables of programs were found; their memory is missing")
	}
	return found, f.work.Err()
}

// field is where a field of a structure lies.
type field struct {
	at    uint64
	known bool
}

// finder is the search for processes.
type finder struct {
	reader
	work  budget.Budget
	auxv  field // of mm_struct, as are vmas and pgd
	vmas  field // mmap, or mm_mt.ma_root where maple
	maple bool
	pgd   field
	vma   vmaFields
	files fileFields
	paths map[uint64]string // of struct file

	scheme paging.Scheme
	layout cpu.Layout
	user   userMode
}
