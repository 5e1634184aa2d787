package goroutines

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/target"
)

// Add makes the goroutines of a snapshot's Go programs threads of it. A thread that runs a goroutine becomes that goroutine. Threads of
// the runtime that run none are left out: they stand in the scheduler; but not one that crashed.
func Add(ctx context.Context, snap *target.Snapshot) {
	for _, m := range snap.Modules {
		if m.Image == nil || pclntab.Of(m.Image) == nil || m.Image.Arch.AddrSize != snap.Arch.AddrSize || ctx.Err() != nil {
			continue
		}
		if p := find(ctx, snap, m); p != nil {
			p.add()
		}
	}
}

// program is a Go program in a snapshot.
type program struct {
	Reader
	ctx     context.Context
	snap    *target.Snapshot
	module  *target.Module
	table   *pclntab.Table
	list    List
	goid    int // places in a g, in bytes
	startPC int
	procID  int // in an m, 0: not known
	reasons []string
	parents bool // g has parentGoid
}

// find finds the goroutines of a module.
func find(ctx context.Context, snap *target.Snapshot, m *target.Module) *program {
	p := &program{Reader: Reader{snap.Memory, snap.Arch.AddrSize, snap.Arch.BigEndian}, ctx: ctx, snap: snap, module: m, table: pclntab.Of(m.Image)}
	var data []target.Range
	for _, s := range m.Image.Segments {
		if s.Write {
			data = append(data, captured(snap.Memory, target.RangeOf(m.ToTarget(s.Addr), s.Size))...)
		}
	}
	main, ok := p.table.Named("runtime.main")
	if !ok {
		return nil
	}
	g := make([]byte, p.SizeG())
	if p.list, ok = p.Find(data, func(l List) bool {
		return ctx.Err() != nil || p.G(p.WordAt(l.Array), g) && p.main(g, m.ToTarget(main.Lo))
	}); !ok || p.goid == 0 {
		return nil
	}
	p.reasons = p.waitReasons(data)
	return p
}

// maxData bounds the data that is searched: the linker puts small variables in front of large ones.
const maxData = 64 << 20

// captured is what a capture has of a range.
func captured(m *target.Memory, r target.Range) (list []target.Range) {
	r.Hi = min(r.Hi, r.Lo+maxData)
	segs := m.Segments()
	first := sort.Search(len(segs), func(i int) bool { return segs[i].Addr+segs[i].Size() > r.Lo })
	for i := first; i < len(segs) && segs[i].Addr < r.Hi; i++ {
		list = append(list, target.Range{Lo: max(r.Lo, segs[i].Addr), Hi: min(r.Hi, segs[i].Addr+segs[i].Size())})
	}
	return list
}

// main learns from the g of the main goroutine where fields are; false if it is another's.
func (p *program) main(g []byte, entry uint64) bool {
	p.goid = p.layout(g)
	for at := p.goid + 8; at+p.Word <= len(g) && p.goid > 0; at += p.Word {
		if p.at(g[at:], 0) == entry {
			p.startPC = at
			return true
		}
	}
	p.goid = 0
	return false
}

// waitReasons is runtime.waitReasonStrings.
func (p *program) waitReasons(data []target.Range) (list []string) {
	const second, most = "GC assist marking", 64
	buf := make([]byte, 2*most*p.Word)
	text := func(block []byte) (string, bool) {
		n := p.at(block, 1)
		b := make([]byte, min(n, 80))
		return string(b), n < 80 && p.Read(p.at(block, 0), b) == len(b)
	}
	p.words(data, func(addr uint64, block []byte) bool {
		if p.at(block, 1) != uint64(len(second)) {
			return true
		}
		if s, ok := text(block); !ok || s != second {
			return true
		}
		n := p.Read(addr, buf) / (2 * p.Word)
		list = []string{""}
		for i := range n {
			s, ok := text(buf[2*i*p.Word:])
			if !ok || s == "" {
				break
			}
			list = append(list, s)
		}
		return len(list) < 3
	})
	return list
}

// g is a goroutine as the runtime has it.
type goroutine struct {
	addr, sp, pc, m uint64
	stack           target.Range
	status          uint32
	what            target.Goroutine
	lr              uint64
	thread          *target.Thread
}

// Statuses of a goroutine.
const (
	runnable, running, syscall, waiting, dead = 1, 2, 3, 4, 6
	copystack, preempted, leaked, deadExtra   = 8, 9, 10, 11
)

// read decodes a g.
func (p *program) read(addr uint64, b []byte) (g goroutine) {
	_, g.stack = p.Stack(b)
	g.addr, g.sp, g.pc, g.m = addr, p.at(b, schedSP), p.at(b, schedPC), p.M(b)
	g.status = p.order().Uint32(b[p.goid-8:]) &^ 0x1000
	g.what.ID, g.what.Record = p.order().Uint64(b[p.goid:]), addr
	g.what.State = p.state(g.status, int(b[p.goid+16+p.Word])) // goid, schedlink, waitsince, waitreason
	if g.what.ID != 1 {                                        // the start of the program
		g.what.Created = p.at(b[p.startPC-2*p.Word:], 0)
	}
	g.what.Parent = p.order().Uint64(b[p.startPC-2*p.Word-8:])
	g.what.Start, g.what.Panic = p.at(b[p.startPC:], 0), p.at(b, panicOf)
	for _, i := range [...]int{schedPC + 3, schedPC + 4} { // sched.lr, behind sched.ret up to Go 1.24
		if f, ok := p.function(p.at(b, i)); ok && f.Name() == "runtime.goexit" {
			g.lr = p.at(b, i)
		}
	}
	return g
}

// function is the function of Go at a target address.
func (p *program) function(pc uint64) (pclntab.Function, bool) {
	return p.table.At(p.module.ToImage(pc) & p.snap.Arch.AddrMask())
}

// add makes the goroutines threads.
func (p *program) add() {
	allowance := budget.New("goroutines", 1<<16, p.snap.Memory.Size()/(2<<10))
	var list []goroutine
	seen := map[uint64]bool{}
	missing := p.Each(p.list, func(addr uint64, b []byte) bool {
		g := p.read(addr, b)
		if g.status == 0 || g.status == dead || g.status == deadExtra || g.what.ID == 0 || seen[g.what.ID] {
			return p.ctx.Err() == nil
		}
		seen[g.what.ID] = true
		if !allowance.Draw(1) {
			p.snap.Issues = append(p.snap.Issues, target.Issue{Kind: target.IssueCapture, Text: allowance.Err().Error() + "; the others are left out"})
			return false
		}
		list = append(list, g)
		return p.ctx.Err() == nil
	})
	if missing > 0 {
		p.snap.Issues = append(p.snap.Issues, target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf("%d goroutines are not in the capture", missing)})
	}
	p.parents = p.haveParents(list)
	p.run(list)
	p.replace(list)
}

// haveParents tells whether a g has parentGoid, in front of gopc (Go 1.21): of all but the main goroutine another's number.
func (p *program) haveParents(list []goroutine) bool {
	most := uint64(0)
	for i := range list {
		most = max(most, list[i].what.ID)
	}
	for i := range list {
		w := &list[i].what
		if w.ID != 1 && (w.Parent == 0 || w.Parent > most+1<<20 || w.Parent == w.ID) {
			return false
		}
	}
	return len(list) > 1
}

// replace makes the snapshot's threads: what crashed first, the program's goroutines, the runtime's, other threads.
func (p *program) replace(list []goroutine) {
	sort.Slice(list, func(x, y int) bool { return list[x].what.ID < list[y].what.ID })
	taken := map[*target.Thread]bool{}
	var out, system, others []target.Thread
	for i := range list {
		g := &list[i]
		t := p.thread(g)
		taken[g.thread] = true
		if t.Task.Goroutine.System && !t.Crashed {
			system = append(system, t)
		} else {
			out = append(out, t)
		}
	}
	for i := range p.snap.Threads {
		if t := &p.snap.Threads[i]; !taken[t] && (t.Crashed || !p.idle(t)) {
			others = append(others, *t)
		}
	}
	p.snap.Threads = append(append(out, system...), others...)
	all := p.snap.Threads
	sort.SliceStable(all, func(x, y int) bool { return all[x].Crashed && !all[y].Crashed })
}

// thread is a goroutine as a thread.
func (p *program) thread(g *goroutine) (t target.Thread) {
	w := &g.what
	if !p.parents {
		w.Parent = 0
	}
	if f, ok := p.function(w.Start); ok {
		name := f.Name()
		w.System = strings.HasPrefix(name, "runtime.") && name != "runtime.main" && name != "runtime.handleAsyncEvent"
	}
	switch {
	case g.thread != nil:
		t = *g.thread
		w.Runs = true
	case g.status == running: // on a thread that is not in the capture: g.sched is older than its stack
		t.ID = int(min(w.ID, 1<<31-1))
	default:
		t.ID = int(min(w.ID, 1<<31-1))
		p.stand(g, &t)
	}
	task := target.Task{State: taskState(g.status), Goroutine: w}
	if t.Task != nil {
		task.Call, task.Channel = t.Task.Call, t.Task.Channel
	}
	t.Task = &task
	return t
}

// stand sets the registers of a goroutine that does not run: it has called the scheduler, or a system call, or has not begun.
func (p *program) stand(g *goroutine, t *target.Thread) {
	arch := p.snap.Arch
	t.Regs.Set(arch.SP, g.sp)
	t.Regs.Set(arch.PC, g.pc)
	if r := Register(arch); r != cpu.NoReg {
		t.Regs.Set(r, g.addr)
	}
	f, ok := p.function(g.pc)
	t.Waits = !ok || p.module.ToTarget(f.Lo) != g.pc // one that has not begun stands at its function
	if !t.Waits && arch.LR != cpu.NoReg {
		t.Regs.Set(arch.LR, g.lr)
	}
}

// state is a status in the runtime's words.
func (p *program) state(status uint32, reason int) string {
	if (status == waiting || status == leaked) && reason > 0 && reason < len(p.reasons) {
		return p.reasons[reason]
	}
	switch status {
	case runnable:
		return "runnable"
	case running:
		return "running"
	case syscall:
		return "syscall"
	case copystack:
		return "copystack"
	case preempted:
		return "preempted"
	case leaked:
		return "leaked"
	}
	return "waiting"
}

// taskState is a status in a Task's words.
func taskState(status uint32) string {
	switch status {
	case runnable, preempted:
		return "ready"
	case running, copystack:
		return "running"
	}
	return "waiting"
}
