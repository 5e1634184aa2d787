package rtos

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/kernel"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

const (
	// beyondSP is how much above a stack pointer may be read where the server does not say what is memory, and belowSP
	// how much below: a stack, and not the registers of devices.
	beyondSP = 256 << 10
	belowSP  = 4 << 10
	// maxSearched bounds the memory in which tasks are looked for, maxHeap that behind variables: what microcontrollers have.
	maxSearched = 16 << 20
	maxHeap     = 1 << 20
)

// openStopped reads a machine without an operating system that a debugger's server has stopped: its processors are
// threads, and so are the tasks of a kernel. Or a kernel of which the server tells the threads (kgdb).
func openStopped(ctx context.Context, s *input.Stopped, env *input.Env) (input.Stream, error) {
	if s.Auxv != nil {
		return nil, input.ErrUnrecognised
	}
	p := firmware.Open(env, s.Arch)
	if len(p.Modules) == 0 {
		return nil, input.ErrUnrecognised
	}
	snap := &target.Snapshot{Arch: p.Arch, PID: s.PID, Threads: s.Threads, Modules: p.Modules, Fault: s.Fault, Issues: p.Issues}
	snap.SortModules()
	otherCode(snap, s.Memory)
	for i := range snap.Threads {
		if t := &snap.Threads[i]; t.Name == "" && s.Threads[i].ID == 0 {
			t.Name = "processor"
		}
	}
	var b target.Builder
	for _, r := range append(stacksOf(snap, s.Readable), s.Readable...) {
		b.AddPaged(r.Lo, r.Hi-r.Lo, s.Memory, target.PermUnknown)
	}
	snap.Issues = append(snap.Issues, addRAM(ctx, &b, s, searched(s, snap))...)
	for _, m := range snap.Modules {
		b.AddConstant(m)
	}
	snap.Memory = b.Memory(p.Arch)
	if snap.OS = AddTasks(ctx, snap); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return input.One(snap), nil
}

const (
	// compared is how many bytes of code are compared on either side of a PC, and tolerated how many of them may
	// differ: a debugger's breakpoints.
	compared  = 32
	tolerated = 8
)

// otherCode leaves binaries out whose code is not that of the machine where a processor stands. A kernel of Linux
// changes its own code.
func otherCode(snap *target.Snapshot, memory target.Pager) {
	for i := range snap.Threads {
		pc, _, _ := snap.Arch.PCOf(&snap.Threads[i].Regs)
		m, ok := snap.ModuleAt(pc)
		if !ok || kernel.Banner(m.Image) != "" {
			continue
		}
		seg, ok := m.Image.Segments.At(m.ToImage(pc))
		if !ok || seg.Write || !seg.Exec {
			continue
		}
		at := max(seg.Addr, m.ToImage(pc)-min(m.ToImage(pc), compared))
		want := seg.Data[min(at-seg.Addr, uint64(len(seg.Data))):]
		want = want[:min(len(want), 2*compared)]
		got := make([]byte, len(want))
		if n, _ := memory.ReadPage(m.ToTarget(at), got); n < len(got) {
			continue
		}
		if differing(got, want) > tolerated {
			snap.Modules = slices.DeleteFunc(snap.Modules, func(o *target.Module) bool { return o == m })
			snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueNotUsed, Subject: m.Name,
				Text: fmt.Sprintf("%s: another build than the machine's, whose code at %#x is not this one; not used", m.Name, m.ToTarget(at))})
		}
	}
}

func differing(a, b []byte) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// stacksOf are the surroundings of stack pointers that lie in no memory which the server tells of: those that a processor
// translates, or all.
func stacksOf(snap *target.Snapshot, known []target.Range) (list []target.Range) {
	for i := range snap.Threads {
		if sp, ok := snap.Threads[i].Regs.Lookup(snap.Arch.SP); ok {
			sp &= snap.Arch.AddrMask()
			if slices.ContainsFunc(known, func(r target.Range) bool { return r.Contains(sp - 1) }) {
				continue
			}
			r := target.RangeOf(sp&^(target.PageSize-1), beyondSP)
			r.Lo -= min(r.Lo, belowSP)
			list = append(list, r)
		}
	}
	return list
}

// searched is the memory in which tasks are looked for: all variables of the program, and the memory behind them that the
// server tells of, which is a heap's.
func searched(s *input.Stopped, snap *target.Snapshot) (list []target.Range) {
	for _, m := range snap.Modules {
		if m.Image == nil {
			continue
		}
		for _, seg := range m.Image.Segments {
			r := target.RangeOf(m.ToTarget(seg.Addr), seg.Size)
			if !seg.Write || r.Lo == r.Hi {
				continue
			}
			for _, ram := range s.RAM {
				if ram.Contains(r.Lo) {
					r.Hi = max(r.Hi, min(ram.Hi, r.Hi+maxHeap))
				}
			}
			list = append(list, r)
		}
	}
	return merged(list)
}

// merged are ranges without those that lie one over the other.
func merged(list []target.Range) (out []target.Range) {
	slices.SortFunc(list, func(a, b target.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for _, r := range list {
		if n := len(out) - 1; n >= 0 && r.Lo <= out[n].Hi {
			out[n].Hi = max(out[n].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// addRAM reads ranges as a whole.
func addRAM(ctx context.Context, b *target.Builder, s *input.Stopped, ranges []target.Range) (issues []target.Issue) {
	read := uint64(0)
	for _, r := range ranges {
		size := r.Hi - r.Lo
		if read+size > maxSearched || ctx.Err() != nil {
			return append(issues, target.Issue{Kind: target.IssueCapture, Subject: s.Name,
				Text: fmt.Sprintf("%s: tasks were looked for in %#x bytes of memory only", s.Name, read)})
		}
		read += size
		data := make([]byte, size)
		n := 0
		for n < len(data) {
			part := data[n:min(len(data), n+target.PageSize-int((r.Lo+uint64(n))%target.PageSize))]
			got, err := s.Memory.ReadPage(r.Lo+uint64(n), part)
			if n += got; got < len(part) || err != nil || ctx.Err() != nil {
				break
			}
		}
		b.Add(r.Lo, data[:n], 0, target.PermUnknown)
	}
	return issues
}
