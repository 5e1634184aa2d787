package perfdata

import (
	"context"
	"io"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// stream makes snapshots of samples: each has some of one process, taken while the same files were mapped, a thread each.
type stream struct {
	rec       *recording
	env       *input.Env
	events    *events
	processes map[uint32]*process
	ready     []*target.Snapshot
	lost      uint64
	throttled int
	waiting   int // samples that are pending
	skipped   int // samples without anything to walk
	ended     bool
	noted     map[string]bool
	kernel    kernel
	own       ownVDSO
	room      budget.Budget    // of mappings that are copied, for processes that were forked
	head      *target.Snapshot // read while the recording was opened
}

// A snapshot's samples, and their stacks in bytes: the more there are, the less the work for each, and the more is in memory.
const maxSamples, maxStacks = 256, 1 << 20

// maxPending bounds the samples that wait for others of their processes: each takes a kilobyte, and more than it has in the file.
const maxPending = 1 << 12

func newStream(r *recording, env *input.Env, e *events) *stream {
	return &stream{rec: r, env: env, events: e, processes: map[uint32]*process{}, noted: map[string]bool{}, room: budget.New("mappings", maxCopied, 0)}
}

// first reads up to the first snapshot, so that a recording without a sample is told of at once.
func (s *stream) first(ctx context.Context) (err error) {
	s.head, err = s.read(ctx)
	if err == io.EOF {
		return s.rec.errorf(-1, "a recording of perf without samples of user code: registers and stack (--call-graph dwarf), or calls (--call-graph fp)")
	}
	return err
}

// Next implements input.Stream.
func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if snap := s.head; snap != nil {
		s.head = nil
		return snap, nil
	}
	return s.read(ctx)
}

func (s *stream) read(ctx context.Context) (*target.Snapshot, error) {
	for len(s.ready) == 0 && !s.ended {
		ev, ok := s.events.next(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !ok {
			s.end()
			break
		}
		s.event(&ev)
	}
	if len(s.ready) == 0 {
		return nil, io.EOF
	}
	snap := s.ready[0]
	s.ready = s.ready[1:]
	snap.Issues, s.rec.issues = append(snap.Issues, s.rec.issues...), nil
	return snap, nil
}

// Close implements input.Stream.
func (s *stream) Close() error {
	s.events.packed.close()
	return nil
}

// end hands out what is left, and says what the recording lacks.
func (s *stream) end() {
	s.ended = true
	if s.lost > 0 {
		s.rec.issue("%d samples or events were lost: perf could not write as fast as they came", s.lost)
	}
	if s.throttled > 0 {
		s.rec.issue("the kernel throttled the recording %d times: there are fewer samples than asked for", s.throttled)
	}
	if s.skipped > 0 {
		s.rec.issue("%d samples have neither registers with a stack nor a list of calls", s.skipped)
	}
	s.flushAll()
}

// flushAll hands out the samples of all processes.
func (s *stream) flushAll() {
	pids := make([]uint32, 0, len(s.processes))
	for pid := range s.processes {
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	for _, pid := range pids {
		s.flush(s.processes[pid])
	}
}

// maxCopied bounds the mappings that are copied, and perMapping is for how many bytes of events there is one more.
const maxCopied, perMapping = 1 << 18, 16

// event takes an event.
func (s *stream) event(ev *event) {
	s.room.Add(uint64(len(ev.body) / perMapping))
	in := bin.New(ev.body, s.rec.big)
	switch ev.kind {
	case eventSample:
		s.sample(ev)
	case eventMmap, eventMmap2:
		if pid, m, ok := mapped(ev, s.rec.big); ok && pid == kernelPID {
			s.kernel.mapped(&m)
		} else if ok {
			if p := s.process(pid); p.changes(&m) {
				s.flush(p)
				s.add(p, m)
			}
		}
	case eventComm:
		pid, tid, name := in.U32(), in.U32(), in.CString()
		p := s.process(pid)
		if ev.misc&commExec != 0 {
			s.flush(p)
			p.maps, p.modules, p.shared, p.names = nil, nil, false, nil
		}
		p.rename(tid, name)
	case eventFork:
		s.fork(&in)
	case eventExit:
		pid, _, tid := in.U32(), in.U32(), in.U32()
		if p := s.processes[pid]; p != nil && pid == tid {
			s.flush(p)
			delete(s.processes, pid)
		}
	case eventLost:
		in.Skip(8)
		s.lost += in.U64()
	case eventLostSamples:
		s.lost += in.U64()
	case eventThrottle:
		s.throttled++
	default:
		s.rec.note(ev)
	}
}

// note takes an event that says of the recording what a file's header says.
func (r *recording) note(ev *event) {
	in := bin.New(ev.body, r.big)
	switch ev.kind {
	case eventBuildID:
		r.buildID(ev)
	case eventFeature:
		number := in.U64()
		r.feature(number, in.Bytes(uint64(in.Len())))
	case eventAttr:
		in.Skip(4)
		size := min(uint64(in.U32()), uint64(len(ev.body)))
		if len(r.attrs.list) < maxAttributes {
			r.attrs.add(readLayout(ev.body[:size], r.big), ev.body[size:], r.big)
		}
	}
}

// fork makes a process, or a thread, like the one that it comes from: process, parent, thread, parent's thread.
func (s *stream) fork(in *bin.Reader) {
	pid, parent, tid, of := in.U32(), in.U32(), in.U32(), in.U32()
	p, from := s.process(pid), s.process(parent)
	if name := from.name(of); name != "" {
		p.rename(tid, name)
	}
	if pid != parent && in.Err() == nil {
		s.flush(p)
		p.maps, p.modules, p.shared, from.shared = from.maps, from.modules, true, true
	}
}

// process is the process of a number.
func (s *stream) process(pid uint32) *process {
	p := s.processes[pid]
	if p == nil {
		p = &process{pid: pid}
		if len(s.processes) < maxProcesses {
			s.processes[pid] = p
		}
	}
	return p
}

// sample adds a sample to those of its process.
func (s *stream) sample(ev *event) {
	l := s.rec.attrs.of(ev.body, s.rec.big)
	if l == nil {
		return
	}
	one, ok := l.readSample(ev.body, s.rec.big)
	t, arch := s.thread(&one, l, ev.misc&modeBits)
	if !ok || arch == nil {
		s.skipped++
		return
	}
	p := s.process(one.pid)
	if p.pending != nil && (p.pending.Arch != arch || len(p.pending.Threads) >= maxSamples || p.captured >= maxStacks) {
		s.flush(p)
	}
	if p.pending == nil {
		p.pending = &target.Snapshot{Arch: arch, OS: "Linux", PID: int(p.pid), Memory: new(target.Memory), Sampled: true}
	}
	t.ID, t.Name = int(one.tid), p.name(one.tid)
	t.Moment = &target.Moment{Time: one.time, CPU: int(one.cpu), Period: one.period, Event: s.rec.attrs.name(l, s.rec.names)}
	p.pending.Threads = append(p.pending.Threads, t)
	if s.waiting++; s.waiting >= maxPending {
		s.flushAll()
		return
	}
	p.captured += len(one.stack)
	if p.pending.Command == "" {
		p.pending.Command = p.name(p.pid)
	}
}

// thread is a sample as a thread; arch is nil where there is nothing to walk.
func (s *stream) thread(one *sample, l *layout, mode uint16) (t target.Thread, arch *cpu.Arch) {
	m := findMachine(s.rec.machine, l.regs)
	if m == nil {
		return t, nil
	}
	abi := one.abi
	if abi == abiNone {
		abi = abi64
	}
	if arch = m.arch(s.env.Archs, abi, s.rec.big); arch == nil {
		return t, nil
	}
	if one.abi != abiNone {
		t.Regs = m.registers(one, l.regs, arch, s.rec.big)
	}
	t.Memory = new(target.Memory)
	if sp, ok := t.Regs.Lookup(arch.SP); ok {
		t.Memory.Hold(arch, sp, one.stack)
	}
	if t.Inner, t.Listed = calls(one.chain, s.rec.big); len(t.Inner)+len(t.Listed) == 0 && one.ip != 0 { // no calls were recorded
		t.Inner, t.Listed = here(one.ip, mode)
	}
	if _, ok := t.Regs.Lookup(arch.PC); ok && one.abi != abiNone {
		t.Listed = nil
	} else if len(t.Inner)+len(t.Listed) == 0 {
		return t, nil
	}
	return t, arch
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

// flush hands out the samples that a process has.
func (s *stream) flush(p *process) {
	snap := p.pending
	if snap == nil {
		return
	}
	if s.rec.arch = snap.Arch; p.modules == nil {
		s.load(p)
	}
	if snap.Modules = p.modules; slices.ContainsFunc(snap.Threads, func(t target.Thread) bool { return len(t.Inner) > 0 }) {
		s.addKernel(snap)
	}
	for _, m := range snap.Modules { // which of several ABIs the program has
		if m.Image != nil && m.Image.Arch.Name == snap.Arch.Name && m.Image.Arch.AddrSize == snap.Arch.AddrSize {
			snap.Arch = m.Image.Arch
			break
		}
	}
	s.waiting -= len(snap.Threads)
	p.pending, p.captured = nil, 0
	s.ready = append(s.ready, snap)
}

// note keeps issues, each once.
func (s *stream) note(issues []target.Issue) {
	for _, i := range issues {
		if !s.noted[i.Text] && len(s.noted) < maxProcesses {
			s.noted[i.Text] = true
			s.rec.issues = append(s.rec.issues, i)
		}
	}
}
