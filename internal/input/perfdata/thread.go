package perfdata

import (
	"context"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// sample adds a sample to those of its process.
func (s *stream) sample(ctx context.Context, ev *event) {
	l := s.rec.attrs.of(ev, s.rec.big)
	if l == nil {
		return
	}
	one, ok := l.readSample(ev.body, s.rec.big)
	if ok && s.rec.begin == 0 {
		s.rec.begin = one.time
	}
	t, arch := s.thread(&one, l, ev.misc&modeBits)
	if !ok || arch == nil {
		s.lacks.skipped++
		return
	}
	p := s.process(one.pid)
	if p.pending != nil && (p.pending.Arch != arch || len(p.pending.Threads) >= maxSamples || p.captured >= maxCaptured) {
		s.flush(ctx, p)
	}
	if p.pending == nil {
		p.pending = &target.Snapshot{Arch: arch, OS: "Linux", PID: int(p.pid), Memory: new(target.Memory), Sampled: true}
		if len(s.pending) < fewProcesses {
			p.pending.Threads = make([]target.Thread, 0, p.last)
		}
		if p.captured = 0; !p.listed {
			p.listed, s.pending = true, append(s.pending, p)
		}
	}
	t.ID, t.Name = int(one.tid), p.name(one.tid)
	t.Moment = &target.Moment{Time: one.time, First: s.rec.begin, CPU: one.cpu, Period: one.period, Event: s.rec.attrs.name(l, s.rec.names)}
	p.pending.Threads = append(p.pending.Threads, t)
	if p.pending.Command == "" {
		p.pending.Command = p.name(p.pid)
	}
	size := perSample + len(ev.body) + perCall*len(one.chain)
	p.captured += size
	if s.held += size; s.held >= maxHeld {
		s.flushAll(ctx)
	}
}

// thread is a sample as a thread; arch is nil where there is nothing to walk.
func (s *stream) thread(one *sample, l *layout, mode uint16) (t target.Thread, arch *cpu.Arch) {
	regs := s.registersOf(one.abi, l.regs)
	if arch = regs.arch; arch == nil && one.abi == abiNone {
		arch = s.rec.unknown
	}
	if arch == nil {
		s.lacks.machine = true
		return t, nil
	}
	if one.abi != abiNone {
		regs.read(one.regs, s.rec.big, &t.Regs)
	}
	t.Memory = new(target.Memory)
	if sp, ok := t.Regs.Lookup(arch.SP); ok {
		t.Memory.Hold(arch, sp, one.stack)
	}
	_, walks := t.Regs.Lookup(arch.PC)
	walks = walks && one.abi != abiNone
	t.Inner, t.Listed = calls(one.chain, s.rec.big)
	if l.fields&hasRegsUser != 0 && one.abi == abiNone { // simpleperf has walked, and takes the registers away
		for i := range t.Listed {
			t.Listed[i].Within = true
		}
	}
	if len(t.Inner)+len(t.Listed) == 0 && one.ip != 0 && (mode != userMode || !walks) { // no calls were recorded
		t.Inner, t.Listed = here(one.ip, mode)
	}
	switch {
	case walks:
		t.Listed = nil
	case len(t.Inner)+len(t.Listed) == 0:
		return t, nil
	}
	return t, arch
}

// registersOf are the registers of samples with these bits, mostly those that the last sample had.
func (s *stream) registersOf(abi, mask uint64) *registers {
	r := s.rec
	if abi == abiNone {
		abi = abi64
	}
	if r.regs.abi != abi || r.regs.mask != mask {
		r.regs = registers{abi: abi, mask: mask}
		if m := findMachine(r.machine, s.env.Files.Raw(), mask); m != nil {
			r.regs = m.registersOf(s.env.Archs, abi, mask, r.big)
		}
	}
	return &r.regs
}

// Marks in a list of calls: what follows is of the kernel, or of the program (PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER); others are
// not looked at.
const (
	contextKernel = ^uint64(128) + 1
	contextUser   = ^uint64(512) + 1
	contextMax    = ^uint64(4095) + 1
)

// calls are the calls that the kernel listed: its own, and the program's.
func calls(chain []byte, big bool) (kernel, user []target.Listed) {
	list := &user
	for in := bin.New(chain, big); in.Len() >= 8; {
		switch pc := in.U64(); {
		case pc == contextKernel:
			list = &kernel
		case pc == contextUser:
			list = &user
		case pc >= contextMax:
			list = new([]target.Listed)
		case pc == 0 && in.Len() == 0: // the end of a chain of frame pointers
		default:
			*list = append(*list, target.Listed{PC: pc, Exact: len(*list) == 0})
		}
	}
	return kernel, user
}

// Bits of misc that say in which mode the processor was: that of a program, or another.
const modeBits, userMode = 7, 2

// here is the frame of a sample without a list of calls.
func here(ip uint64, mode uint16) (kernel, user []target.Listed) {
	one := []target.Listed{{PC: ip, Exact: true}}
	if mode == userMode {
		return nil, one
	}
	return one, nil
}
