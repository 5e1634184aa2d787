package perfdata

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

// stream makes snapshots of samples: each has some of one process, taken while the same files were mapped, a thread each.
type stream struct {
	rec       *recording
	env       *input.Env
	events    merged
	processes map[uint32]*process
	pending   []*process // those that have samples, and some that had
	held      int        // bytes that samples hold which are pending
	exited    []uint32   // processes, those that exited last
	ready     []*target.Snapshot
	lacks     lacks
	ended     bool
	noted     map[string]bool
	kernel    kernel
	loaded    loaded
	own       ownKernel
	room      room
}

// room is what may still be spent.
type room struct {
	mappings budget.Budget // that are copied or looked at, for processes that were forked, or map and run in turn
	code     budget.Budget // of functions that were made, in bytes
}

// lacks is what a recording lacks: what was lost, how often it was throttled, samples without anything to walk, and the name of the
// processor that registers are of.
type lacks struct {
	lost               uint64
	throttled, skipped int
	machine            bool
}

// skippedText says how many samples have nothing to walk, and why.
func (l *lacks) skippedText() string {
	if l.machine {
		return fmt.Sprintf("%d samples are left out: the recording does not say of which processor their registers are; --arch does", l.skipped)
	}
	return fmt.Sprintf("%d samples have neither registers with a stack nor a list of calls", l.skipped)
}

// A snapshot's samples, and what they hold in bytes: the more there are, the less the work for each, and the more is in memory. That
// many processes may have room for as many samples as they had before.
const maxSamples, maxCaptured, fewProcesses = 256, 1 << 20, 8

// maxHeld bounds the bytes of samples that wait for others of their processes: each holds its event, and perSample besides; of a call
// in it, perCall times its bytes once it is a frame.
const maxHeld, perSample, perCall = 16 << 20, 2 << 10, 16

// maxCode bounds the code of functions that were made. Node.js and HotSpot make some ten megabytes, of which stacks lead to some.
const maxCode = 64 << 20

func newStream(r *recording, env *input.Env, files ...*events) *stream {
	return &stream{rec: r, env: env, events: files, processes: map[uint32]*process{}, noted: map[string]bool{}, loaded: loaded{},
		own:  ownKernel{release: ownRelease(env.Files)},
		room: room{budget.New("mappings", maxCopied, 0), budget.New("bytes of functions that were made", maxCode, 0)}}
}

// first reads up to the first snapshot, so that a recording without a sample is told of at once.
func (s *stream) first(ctx context.Context) error {
	snap, err := s.Next(ctx)
	if snap != nil {
		s.ready = append([]*target.Snapshot{snap}, s.ready...)
	}
	if err == io.EOF {
		why := "a recording without samples of user code: nothing ran, or for too short a time"
		if s.lacks.skipped > 0 && !s.lacks.machine {
			why = "a recording of perf without samples of user code: they have no registers and stack (--call-graph dwarf) and no calls (--call-graph fp)"
		}
		if s.rec.directory {
			why += "; those of perf record --threads lie in other files beside it: name the directory"
		}
		for _, i := range s.rec.issues {
			why += "; " + strings.TrimPrefix(i.Text, s.rec.name+": ")
		}
		return s.rec.errorf(-1, "%s", why)
	}
	return err
}

// Next implements input.Stream. The last snapshot waits for the end of the recording, and says what that lacks.
func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	for len(s.ready) < 2 && !s.ended {
		ev, ok := s.events.next(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !ok {
			s.end(ctx)
			break
		}
		s.event(ctx, &ev)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.ready) == 0 {
		return nil, io.EOF
	}
	snap := s.ready[0]
	s.ready[0], s.ready = nil, s.ready[1:]
	snap.Issues, s.rec.issues = append(snap.Issues, s.rec.issues...), nil
	return snap, nil
}

// Close implements input.Stream.
func (s *stream) Close() error {
	s.events.close()
	return nil
}

// end hands out what is left, and says what the recording lacks.
func (s *stream) end(ctx context.Context) {
	s.ended = true
	if s.lacks.lost > 0 {
		s.rec.issue("%d samples or events were lost: perf could not write as fast as they came", s.lacks.lost)
	}
	if s.lacks.throttled > 0 {
		s.rec.issue("the kernel throttled the recording %d times: there are fewer samples than asked for", s.lacks.throttled)
	}
	if s.lacks.skipped > 0 {
		s.rec.issue("%s", s.lacks.skippedText())
	}
	s.flushAll(ctx)
}

// maxCopied bounds the mappings that are looked at anew, or copied, which counts as perCopy, or moved, perMove of which count as one;
// perMapping is for how many bytes of events there is one more.
const maxCopied, perMapping, perCopy, perMove = 1 << 18, 16, 8, 256

// event takes an event.
func (s *stream) event(ctx context.Context, ev *event) {
	s.room.mappings.Add(uint64(len(ev.body) / perMapping))
	in := bin.New(ev.body, s.rec.big)
	switch ev.kind {
	case eventSample:
		s.sample(ctx, ev)
	case eventMmap, eventMmap2:
		s.mmap(ctx, ev)
	case eventComm:
		pid, tid, name := in.U32(), in.U32(), in.CString()
		p := s.process(pid)
		if ev.misc&commExec != 0 {
			s.flush(ctx, p)
			p.maps, p.modules, p.shared, p.names, p.exited = nil, nil, false, nil, false
		}
		p.rename(tid, name)
	case eventFork:
		s.fork(ctx, &in)
	case eventExit:
		if pid, _, tid := in.U32(), in.U32(), in.U32(); pid == tid {
			s.exit(ctx, pid)
		}
	case eventLost:
		in.Skip(8)
		s.lacks.lost += in.U64()
	case eventLostSamples:
		s.lacks.lost += in.U64()
	case eventThrottle:
		s.lacks.throttled++
	case eventKsymbol:
		s.kernel.made(ev.body, s.rec.big)
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

// mmap maps something in a process, or says where the kernel is.
func (s *stream) mmap(ctx context.Context, ev *event) {
	pid, m, ok := mapped(ev, s.rec.big)
	switch {
	case !ok:
	case pid == kernelPID:
		s.kernel.mapped(&m)
	default:
		s.loaded.add(&m)
		m.exec = m.exec || s.rec.files[m.name] != nil // Java's bytecode
		if p := s.process(pid); !p.made.Mapped(m.name) && p.changes(&m) {
			s.flush(ctx, p)
			s.add(p, m)
		}
	}
}

// fork makes a process, or a thread, like the one that it comes from: process, parent, thread, parent's thread.
func (s *stream) fork(ctx context.Context, in *bin.Reader) {
	pid, parent, tid, of := in.U32(), in.U32(), in.U32(), in.U32()
	p, from := s.process(pid), s.process(parent)
	if pid != parent && in.Err() == nil {
		s.flush(ctx, p)
		p.maps, p.modules, p.shared, from.shared = from.maps, from.modules, true, true
		if p.exited {
			p.names, p.exited = nil, false
		}
	}
	if name := from.name(of); name != "" {
		p.rename(tid, name)
	}
}

// maxExited is how many processes are kept whose first thread has ended: others may go on, and the kernel in their name.
const maxExited = 1 << 8

// exit ends a process's first thread.
func (s *stream) exit(ctx context.Context, pid uint32) {
	p := s.processes[pid]
	if p == nil || p.exited {
		return
	}
	s.flush(ctx, p)
	p.exited, s.exited = true, append(s.exited, pid)
	if len(s.exited) <= maxExited {
		return
	}
	if old := s.processes[s.exited[0]]; old != nil && old.exited {
		s.flush(ctx, old)
		delete(s.processes, old.pid)
	}
	s.exited = s.exited[1:]
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

// note keeps issues, each once.
func (s *stream) note(issues []target.Issue) {
	for _, i := range issues {
		if !s.noted[i.Text] && len(s.noted) < maxProcesses {
			s.noted[i.Text] = true
			s.rec.issues = append(s.rec.issues, i)
		}
	}
}
