package elfcore

import (
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// space is the address space of the program.
type space struct {
	ctx   context.Context // ends the making of memory
	file  *file
	arch  *cpu.Arch
	loads []phdr
	// captured is what the core itself holds of memory.
	captured *target.Memory
	// pages reads the memory of a process that is stopped; nil for a core.
	pages target.Pager
	// ranges has the permissions of every mapping, captured or not, and no bytes; nil
	// until somebody asks.
	ranges *target.Memory
}

func newSpace(ctx context.Context, f *file, arch *cpu.Arch, loads []phdr) *space {
	s := &space{ctx: ctx, file: f, arch: arch, loads: loads}
	var b target.Builder
	b.Until(ctx)
	s.add(&b)
	s.captured = b.Memory(arch)
	return s
}

// memory is what was captured, over the pages of the modules' files that nobody can
// have written to.
//
// A page of a writable segment that is missing stays missing. The kernel leaves
// it out only where it is as in the file, but QEMU leaves out RELRO pages, which
// the dynamic linker wrote to before it made them read-only; the file's bytes
// would be addresses without their bias.
func (s *space) memory(modules []*target.Module) *target.Memory {
	if len(modules) == 0 {
		return s.captured
	}
	var b target.Builder
	b.Until(s.ctx)
	if s.pages != nil {
		s.add(&b) // what files have is not asked for
	}
	for _, m := range modules {
		b.AddConstant(m)
	}
	if s.pages == nil {
		s.add(&b)
	}
	return b.Memory(s.arch)
}

// add adds what was captured to b. Memory that the program could not access is none to it: Linux dumps the page below a thread's
// stack that guards it, as zeros. A writer of cores that knows no permissions states none.
func (s *space) add(b *target.Builder) {
	b.Grow(len(s.loads))
	stated := uint32(0)
	for _, p := range s.loads {
		stated |= p.flags
	}
	for _, p := range s.loads {
		if stated != 0 && p.flags == 0 {
			continue
		}
		if s.pages != nil {
			b.AddPaged(p.vaddr, p.memsz, s.pages, p.perm())
			continue
		}
		s.file.pages.Add(b, p.vaddr&s.arch.AddrMask(), p.off, min(p.filesz, p.memsz), p.perm())
	}
}

// mapped is the address space with what program headers say of it and no bytes.
func (s *space) mapped() *target.Memory {
	if s.ranges == nil {
		var b target.Builder
		b.Until(s.ctx)
		b.Grow(len(s.loads))
		for _, p := range s.loads {
			b.Add(p.vaddr&s.arch.AddrMask(), nil, p.memsz, p.perm())
		}
		s.ranges = b.Memory(s.arch)
	}
	return s.ranges
}

func (p *phdr) perm() target.Perm {
	return target.PermOf(p.flags&pfR != 0, p.flags&pfW != 0, p.flags&pfX != 0)
}

// maxString bounds paths in memory: PATH_MAX.
const maxString = 4096
