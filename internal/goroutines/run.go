package goroutines

import (
	"sort"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// run finds the threads that run goroutines, by the IDs that the runtime has of threads. In a container these are others than outside:
// then by the stack on which a thread is.
func (p *program) run(list []goroutine) {
	ids := make(map[uint64]*target.Thread, len(p.snap.Threads))
	for i := range p.snap.Threads {
		ids[uint64(p.snap.Threads[i].ID)] = &p.snap.Threads[i]
	}
	p.learnProcID(list, ids)
	onStack := p.byStack()
	for i := range list {
		g := &list[i]
		if g.m == 0 || g.status != running && g.status != syscall {
			continue
		}
		if p.procID != 0 {
			g.thread = ids[p.uint64(g.m+uint64(p.procID))]
		} else {
			g.thread = onStack(g.stack)
		}
	}
}

// byStack finds the thread that is on a stack.
func (p *program) byStack() func(target.Range) *target.Thread {
	type at struct {
		sp uint64
		t  *target.Thread
	}
	var list []at
	for i := range p.snap.Threads {
		t := &p.snap.Threads[i]
		if sp, ok := t.Regs.Lookup(p.snap.Arch.SP); ok {
			list = append(list, at{sp, t})
		}
	}
	sort.Slice(list, func(x, y int) bool { return list[x].sp < list[y].sp })
	return func(stack target.Range) *target.Thread {
		i := sort.Search(len(list), func(i int) bool { return list[i].sp >= stack.Lo })
		if i == len(list) || !stack.Contains(list[i].sp) {
			return nil
		}
		return list[i].t
	}
}

// learnProcID finds where m.procid is: behind g0, morebuf of six or seven words, divmod and what aligns it.
func (p *program) learnProcID(list []goroutine, ids map[uint64]*target.Thread) {
	best := 0
	for at := 8 * p.Word; at <= 10*p.Word; at += p.Word {
		n := 0
		for i := range list {
			if list[i].m != 0 && ids[p.uint64(list[i].m+uint64(at))] != nil {
				n++
			}
		}
		for i := range p.snap.Threads {
			t := &p.snap.Threads[i]
			if m := p.own(t); m != 0 && p.uint64(m+uint64(at)) == uint64(t.ID) {
				n++
			}
		}
		if n > best {
			best, p.procID = n, at
		}
	}
}

// own is the m of a thread that runs no goroutine, by the g0 that its register has; 0 if that is none.
func (p *program) own(t *target.Thread) (m uint64) {
	addr, ok := t.Regs.Lookup(Register(p.snap.Arch))
	if !ok || addr == 0 {
		return 0
	}
	if m = p.WordAt(addr + uint64(mOf*p.Word)); m == 0 || p.WordAt(m) != addr {
		return 0
	}
	return m
}

func (p *program) uint64(addr uint64) uint64 {
	var b [8]byte
	if p.Read(addr, b[:]) < 8 {
		return 0
	}
	return p.order().Uint64(b[:])
}

// idle tells whether a thread is one of the runtime's that runs no goroutine.
func (p *program) idle(t *target.Thread) bool {
	return p.own(t) != 0
}

// Register is the register that has g in Go code, NoReg where thread-local storage has it (cmd/compile/abi-internal.md).
func Register(arch *cpu.Arch) cpu.Reg {
	switch arch.Name {
	case "x86_64":
		return 14
	case "aarch64":
		return 28
	case "arm":
		return 10
	case "riscv64":
		return 27
	case "mips", "mips64":
		return 30
	}
	return cpu.NoReg
}
