package elfcore

import (
	"context"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// openStopped reads a process that a debugger's server has stopped, by what a core has of one: the auxiliary vector, the
// table of mappings where the server reads files, else the dynamic linker's list.
func openStopped(ctx context.Context, p *input.Stopped, env *input.Env) (input.Stream, error) {
	if p.Auxv == nil {
		return nil, input.ErrUnrecognised
	}
	found := problems{list: p.Issues}
	f := file{name: p.Name, header: header{wide: p.Arch.ELF.Class == 2, big: p.Arch.BigEndian, machine: p.Arch.ELF.Machine}}
	n := notes{command: p.Exec, pid: p.PID, auxv: readAuxv(p.Auxv, &f.header), linked: p.Libraries, file: p.File}
	s := newStopped(ctx, &f, p, &n)
	modules, arch := findModules(s, &n, env.Files, &found)
	snap := &target.Snapshot{Arch: arch, OS: n.system.String(), Command: p.Exec, PID: p.PID, Threads: p.Threads,
		Modules: modules, Memory: s.memory(modules), Fault: p.Fault, Issues: found.list}
	if len(n.files) == 0 {
		boundStacks(arch, snap.Threads, n.auxv)
	}
	snap.CodeMask = target.AddressMask(arch, highest(s, snap))
	snap.SortModules()
	return input.One(snap), nil
}

// newStopped is the address space of a process, as far as mappings tell; else any address may be readable, and
// only those of modules have permissions.
func newStopped(ctx context.Context, f *file, p *input.Stopped, n *notes) *space {
	s := &space{ctx: ctx, file: f, arch: p.Arch, pages: p.Memory}
	for _, m := range mappingsOf(p, n.auxv) {
		perm := func(c string, flag uint32) uint32 {
			if strings.Contains(m.Perms, c) {
				return flag
			}
			return 0
		}
		s.loads = append(s.loads, phdr{typ: ptLoad, flags: perm("r", pfR) | perm("w", pfW) | perm("x", pfX), vaddr: m.Lo, memsz: m.Hi - m.Lo})
		if m.Inode != 0 && strings.HasPrefix(m.Name, "/") {
			n.files = append(n.files, fileMapping{m.Lo, m.Hi, m.Off, m.Name})
		}
	}
	if len(s.loads) == 0 {
		s.ranges = new(target.Memory)
		s.loads = []phdr{{typ: ptLoad, vaddr: nullPage, memsz: p.Arch.AddrMask() - nullPage}}
	}
	var b target.Builder
	s.add(&b)
	s.captured = b.Memory(p.Arch)
	return s
}

// highest is the highest address of a process, as far as is known.
func highest(s *space, snap *target.Snapshot) (addr uint64) {
	for _, p := range s.mapped().Segments() {
		addr = max(addr, p.Addr+p.Size())
	}
	for _, m := range snap.Modules {
		addr = max(addr, m.Hi)
	}
	for i := range snap.Threads {
		addr = max(addr, snap.StackOf(&snap.Threads[i]).Hi)
	}
	return addr
}

// nullPage is below what is ever mapped.
const nullPage = 4096

// mappingsOf are the mappings of a process, none where they are not to be had, or those of another process: a server that
// counts processes itself may have the number of another one.
func mappingsOf(p *input.Stopped, v auxv) (list []procfs.Mapping) {
	if p.File == nil || p.PID == 0 {
		return nil
	}
	list, err := procfs.ReadMaps(p.File, p.PID)
	if err != nil || !slices.ContainsFunc(list, func(m procfs.Mapping) bool { return m.Lo <= v[atPhdr] && v[atPhdr] < m.Hi }) {
		return nil
	}
	return list
}

const (
	// largestStack bounds a stack where nothing tells how large it is: Linux' default limit.
	largestStack = 8 << 20
	// redZone is what lies below SP and is in use: 128 bytes on x86-64, up to a page on others.
	redZone = nullPage
)

// boundStacks bounds the stacks of threads where no mappings do: the kernel puts the strings that auxv points to at the end of
// the first thread's stack, and a stack ends before another begins.
func boundStacks(arch *cpu.Arch, threads []target.Thread, v auxv) {
	end := max(v[atExecFn], v[atRandom], v[atPlatform])
	end = (end + nullPage) &^ (nullPage - 1)
	sps := make([]uint64, 0, len(threads))
	for i := range threads {
		sps = append(sps, threads[i].Regs.Val[arch.SP]&arch.AddrMask())
	}
	for i := range threads {
		sp := sps[i]
		if !threads[i].Regs.Known.Has(arch.SP) || sp < redZone {
			continue
		}
		t := &threads[i]
		t.Stack = target.RangeOf((sp-redZone)&^(nullPage-1), largestStack)
		if sp < end && end < t.Stack.Hi {
			t.Stack.Hi = end
		}
		for _, other := range sps {
			if sp < other && other < t.Stack.Hi {
				t.Stack.Hi = other
			}
		}
	}
}
