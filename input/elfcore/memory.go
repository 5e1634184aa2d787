package elfcore

import (
	"bytes"

	"github.com/backsight/backsight/target"
)

// memory builds the address space: what was captured, over the pages of the
// modules' files that nobody can have written to.
//
// A page of a writable segment that is missing stays missing. The kernel leaves
// it out only where it is as in the file, but QEMU leaves out RELRO pages, which
// the dynamic linker wrote to before it made them read-only; the file's bytes
// would be addresses without their bias.
func (c *core) memory(modules []*target.Module) *target.Memory {
	if len(modules) == 0 && c.mem != nil {
		return c.mem
	}
	var b target.Builder
	for _, m := range modules {
		if m.Image == nil {
			continue
		}
		for _, s := range m.Image.Segments {
			if !s.Write {
				b.Add(m.ToTarget(s.Addr), s.Data, 0, perm(s.Read, s.Write, s.Exec))
			}
		}
	}
	b.Grow(len(c.loads))
	for _, p := range c.loads {
		data := c.fileBytes(p.off, min(p.filesz, p.memsz))
		b.Add(p.vaddr&c.arch.AddrMask(), data, 0, p.perm())
	}
	return b.Memory(c.arch)
}

// mapped is the address space with what program headers say of it and no bytes.
func (c *core) mapped() *target.Memory {
	if c.ranges == nil {
		var b target.Builder
		b.Grow(len(c.loads))
		for _, p := range c.loads {
			b.Add(p.vaddr&c.arch.AddrMask(), nil, p.memsz, p.perm())
		}
		c.ranges = b.Memory(c.arch)
	}
	return c.ranges
}

func (p *phdr) perm() target.Perm {
	return perm(p.flags&pfR != 0, p.flags&pfW != 0, p.flags&pfX != 0)
}

func perm(r, w, x bool) (p target.Perm) {
	if r {
		p |= target.PermRead
	}
	if w {
		p |= target.PermWrite
	}
	if x {
		p |= target.PermExec
	}
	return p
}

// maxString bounds paths in memory: PATH_MAX.
const maxString = 4096

// cstring reads a string of captured memory, "" where it has no end.
func (c *core) cstring(addr uint64) string {
	var buf [maxString]byte
	n := c.mem.Read(addr, buf[:])
	if i := bytes.IndexByte(buf[:n], 0); i >= 0 {
		return string(buf[:i])
	}
	return ""
}
