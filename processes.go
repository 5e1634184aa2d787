package backsight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/goroutines"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// CrashedProcess names the process of the task that crashed.
const CrashedProcess = "0"

// Processes is a Stream of the programs that ran on a machine, out of its memory, which Open, OpenSet, OpenReader or OpenMemory has opened as
// machine: a snapshot for each. which says which ones: CrashedProcess, a process's or a thread's number, or a name of programs, in which *
// stands for any letters. Each thread has the side of the kernel, too (target.Task.Kernel). The Stream's Close closes machine.
func Processes(ctx context.Context, machine input.Stream, which string, env input.Env) (input.Stream, error) {
	list, err := ProcessList(ctx, machine, which)
	if len(list) == 0 {
		return nil, err
	}
	s := &processStream{Stream: machine, env: complete(env), left: list}
	if err != nil {
		s.issues = []target.Issue{{Kind: target.IssueCapture, Text: err.Error()}}
	}
	return s, nil
}

// ProcessList are those processes as Processes names them, not opened yet. The error beside some of them says what is missing.
func ProcessList(ctx context.Context, machine input.Stream, which string) ([]*input.Stopped, error) {
	all, err := input.Processes(ctx, machine)
	if len(all) == 0 {
		return nil, err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(p *input.Stopped) bool { return !isMeant(p, which) })
	switch {
	case len(list) > 0:
		return list, err
	case which == CrashedProcess:
		return nil, errors.New("the task that crashed, if one did, is none of a program: name a process")
	}
	return nil, fmt.Errorf("no process %q; there are %s", which, processNames(all))
}

// isMeant tells whether a process is one that which names.
func isMeant(p *input.Stopped, which string) bool {
	is := func(found func(t *target.Thread) bool) bool {
		return slices.ContainsFunc(p.Threads, func(t target.Thread) bool { return found(&t) })
	}
	if which == CrashedProcess {
		return is(func(t *target.Thread) bool { return t.Crashed })
	}
	if pid, err := strconv.Atoi(which); err == nil {
		return is(func(t *target.Thread) bool { return t.ID == pid })
	}
	byPath, _ := path.Match(which, path.Base(p.Exec))
	byName, _ := path.Match(which, p.Threads[0].Name)
	return byPath || byName || which == "*"
}

// processNames lists the first few.
func processNames(list []*input.Stopped) (text string) {
	const most = 20
	for i, p := range list {
		if i == most {
			return text + " and others"
		}
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%d (%s)", p.PID, p.Threads[0].Name)
	}
	return text
}

// processStream opens one process after the other.
type processStream struct {
	input.Stream // of the machine
	env          *input.Env
	left         []*input.Stopped
	issues       []target.Issue // of the next one
}

// Next opens the next process. One that cannot be opened is an error behind which the next one can be read.
func (s *processStream) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	p := s.left[0]
	s.left = s.left[1:]
	one, err := s.env.OpenStopped(ctx, p)
	if err != nil {
		return nil, &input.Error{Path: p.Name, Offset: -1, Reason: fmt.Sprintf("process %d", p.PID), Err: err, Recoverable: true}
	}
	snap, err := one.Next(ctx)
	if err != nil {
		return nil, err
	}
	snap.Issues = append(s.issues, snap.Issues...)
	s.issues = nil
	return snap, nil
}

// kernelSides are the backtraces of where threads of a program stand in their machine's kernel, by the index of the thread; walk makes
// them.
func kernelSides(ctx context.Context, snap *target.Snapshot, walk func(context.Context, *target.Snapshot) ([]Backtrace, error)) (map[int]*Backtrace, error) {
	var own target.Snapshot
	var index []int
	for i := range snap.Threads {
		task := snap.Threads[i].Task
		if task == nil || task.Kernel == nil {
			continue
		}
		if own.Arch == nil {
			own = *task.Kernel.Machine
			own.Threads = nil
		}
		own.Threads, index = append(own.Threads, *task.Kernel.Thread), append(index, i)
	}
	if len(index) == 0 {
		return nil, nil
	}
	traces, err := walk(ctx, &own)
	sides := make(map[int]*Backtrace, len(traces))
	for k := range traces {
		sides[index[k]] = &traces[k]
	}
	return sides, err
}

// Enter gives the threads of a process out of ProcessList the registers that Backtraces would take for the program's: those, too, that
// functions of the kernel have saved, and none where the kernel had not saved them yet.
func (u *Unwinder) Enter(p *input.Stopped) {
	p.Threads = slices.Clone(u.completed(&target.Snapshot{Arch: p.Arch, Threads: p.Threads}).Threads)
	for i := range p.Threads {
		t := &p.Threads[i]
		if side := t.Task.Kernel; side != nil && side.Saved != 0 {
			b := Backtrace{}
			b.Frames, b.Stop = stackwalk.NewWalker(side.Machine, u.WalkerOptions()).Walk(side.Thread, nil)
			if !b.below(side) {
				t.Regs = cpu.Registers{}
			}
		}
	}
}

// completed is a snapshot whose threads have the registers, too, that a system call leaves to the kernel's functions to save, as MIPS's does:
// those of the kernel's outermost frame, where the chain reaches it without a guess.
func (u *Unwinder) completed(snap *target.Snapshot) *target.Snapshot {
	var own *target.Snapshot
	for i := range snap.Threads {
		t := &snap.Threads[i]
		lacks := snap.Arch.Preserved &^ t.Regs.Known
		if t.Task == nil || t.Task.Kernel == nil || t.Regs.Known == 0 || lacks == 0 || t.Task.Kernel.Machine.Arch != snap.Arch {
			continue
		}
		regs, ok := u.outermost(t.Task.Kernel)
		if lacks &= regs.Known; !ok || lacks == 0 {
			continue
		}
		if own == nil {
			copied := *snap
			own = &copied
			own.Threads = slices.Clone(snap.Threads)
		}
		for ; lacks != 0; lacks = lacks.Without(lacks.First()) {
			own.Threads[i].Regs.Set(lacks.First(), regs.Val[lacks.First()])
		}
	}
	return cmp.Or(own, snap)
}

// outermost are the registers of the outermost frame of a thread in the kernel; false where the chain breaks, or guesses.
func (u *Unwinder) outermost(side *target.KernelSide) (regs cpu.Registers, ok bool) {
	opt := u.WalkerOptions()
	opt.Registers = func(_ int, r *cpu.Registers) { regs = *r }
	frames, stop := stackwalk.NewWalker(side.Machine, opt).Walk(side.Thread, nil)
	guess := slices.ContainsFunc(frames, func(f unwind.Frame) bool { return f.Trust == unwind.Guess })
	return regs, stop.Reason == unwind.StopRoot && !guess
}

// enterAll puts the frames in which threads stand in the kernel in front of their own.
func enterAll(traces []Backtrace, sides map[int]*Backtrace) {
	for i, kernel := range sides {
		if i < len(traces) {
			traces[i].enter(kernel)
		}
	}
}

// below tells whether functions of the kernel have frames below where its entry saves the program's registers, so that these are saved.
func (b *Backtrace) below(side *target.KernelSide) bool {
	if side.Saved == 0 {
		return true
	}
	stack := target.Range{Lo: side.Thread.Stack.Lo, Hi: side.Saved + 1}
	sp, known := side.Thread.Regs.Lookup(side.Machine.Arch.SP)
	return known && sp != side.Saved && stack.Contains(sp) || slices.ContainsFunc(b.Frames, func(f unwind.Frame) bool {
		return f.Trust != unwind.Guess && f.HasCFA && stack.Contains(f.CFA)
	})
}

func (b *Backtrace) enter(kernel *Backtrace) {
	n, count := len(kernel.Frames), kernel.Repeats.Count(len(kernel.Frames))
	switch b.Kernel = n; {
	case !kernel.below(b.Thread.Task.Kernel):
		b.Frames, b.Repeats, b.Stop = nil, nil, unwind.Stop{Reason: unwind.StopNoRule}
		b.Doubt = fmt.Sprintf("thread %d: its processor stopped on the way into the kernel, before the program's registers were saved", b.Thread.ID)
	case len(b.Frames) > 0:
		b.Frames[0].Method = unwind.MethodException
	default:
		b.Stop = kernel.Stop
	}
	for i := range b.Repeats {
		b.Repeats[i].At += n
		b.Repeats[i].First += count
	}
	b.Frames, b.Repeats = slices.Concat(kernel.Frames, b.Frames), slices.Concat(kernel.Repeats, b.Repeats)
	if b.Tried != nil && kernel.Tried != nil {
		b.Tried = slices.Concat(kernel.Tried[:n], b.Tried)
	} else {
		b.Tried = nil
	}
	b.Doubt = cmp.Or(b.Doubt, kernel.Doubt)
	b.Overwritten = cmp.Or(b.Overwritten, kernel.Overwritten)
}

// Goroutines makes the goroutines of a snapshot's Go programs threads of it, stripped programs' too: target.Task.Goroutine says which is
// which. A thread of the system that runs a goroutine becomes that goroutine, one of the runtime that runs none is left out. The error
// is that of a file that cannot be read any more.
func Goroutines(ctx context.Context, snap *target.Snapshot) error {
	release, err := hold(snap)
	if err != nil {
		return err
	}
	defer release()
	return study.Blame(snap, mapped.Guard(func() { goroutines.Add(ctx, snap) }))
}
