package vmcore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/kernellog"
	"github.com/backsight/backsight/internal/paging"
	"github.com/backsight/backsight/internal/processes"
	"github.com/backsight/backsight/target"
)

// machineStream is a machine's snapshot, and what its processes are found by.
type machineStream struct {
	input.Stream
	dump    *dump
	view    view
	env     *input.Env
	snap    *target.Snapshot
	threads []target.Thread // of snap, those of the view's tasks first
}

var _ input.Machine = (*machineStream)(nil)

// Processes implements input.Machine.
func (s *machineStream) Processes(ctx context.Context) (list []*input.Stopped, err error) {
	d, v := s.dump, &s.view
	t := translation{ctx, d.arch, d.physical, d.info}
	k := processes.Kernel{Arch: d.arch, Memory: v.space.memory, Physical: t.words(), At: v.space.physical, Types: v.kernel.types, Lazy: d.lazy()}
	k.Compat, _ = s.env.Archs.ByELF(machineOf(d.arch).compat, 1, d.arch.BigEndian, 0, 0)
	if tables, ok := t.tables(v.copy); ok {
		k.Schemes = []paging.Scheme{tables.User()}
	}
	found, err := processes.Find(ctx, &k, v.tasks)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	swapped := s.swapped(ctx, found)
	for i := range found {
		list = append(list, s.stopped(&found[i], &k, swapped))
	}
	if err != nil {
		err = d.errorf("%v", err)
	}
	return list, err
}

// lazy tells whether a system call saves only some registers: x86-64 has saved all since Linux 4.17 (arch/x86/entry/entry_64.S,
// PUSH_AND_CLEAR_REGS).
func (d *dump) lazy() bool {
	var major, minor int
	n, _ := fmt.Sscanf(d.info.Release(), "%d.%d", &major, &minor)
	return d.arch.Name == "x86_64" && (n < 2 || major < 4 || major == 4 && minor < 17)
}

// physical is the physical address that one of the kernel's shows.
func (s *space) physical(virtual uint64) (uint64, bool) {
	for i := range s.mappings {
		if m := &s.mappings[i]; virtual-m.Virtual < m.Size {
			return virtual - m.Virtual + m.Physical, true
		}
	}
	return 0, false
}

// stopped is a process as a debugger would have it.
func (s *machineStream) stopped(p *processes.Process, k *processes.Kernel, swapped *swapped) *input.Stopped {
	pages := &programPages{p.Tables, swapped}
	out := &input.Stopped{Name: s.dump.name, Arch: s.dump.arch, Auxv: p.Auxv, Memory: pages}
	if p.Word < k.Arch.AddrSize && k.Compat != nil {
		out.Arch = k.Compat
	}
	for i, n := range p.Tasks {
		kernel := &s.threads[n]
		th := target.Thread{ID: kernel.ID, Name: kernel.Name, Crashed: kernel.Crashed, Task: &target.Task{}}
		if kernel.Task != nil {
			th.Task.State = kernel.Task.State
		}
		pc, known := kernel.Regs.Lookup(s.dump.arch.PC)
		switch regs, runs := k.Running(p, &kernel.Regs); {
		case runs:
			th.Regs = regs
		case known && s.isKernel(pc), !known && s.panickedAlone(n):
			th.Crashed = th.Crashed || !known
			th.Task.Kernel = &target.KernelSide{Machine: s.snap, Thread: kernel}
			if panicked := kernel.Crashed && kernellog.Panicked(s.snap.Log); known && !kernel.Waits && !panicked { // who panics does not leave the kernel
				th.Task.Kernel.Saved = s.view.tasks[n].Stack.Hi - p.Below
			}
			if i < len(p.Regs) {
				th.Regs = p.Regs[i]
			}
		}
		out.Threads = append(out.Threads, th)
	}
	out.PID = leader(out.Threads)
	out.Issues = s.missing(pages, out)
	out.Exec = cmp.Or(program(p, out.Arch), out.Threads[0].Name)
	mappings := text(p.Maps)
	out.File = func(path string, limit int) ([]byte, error) {
		if path != fmt.Sprintf("/proc/%d/maps", out.PID) || len(mappings) > limit {
			return nil, os.ErrNotExist
		}
		return mappings, nil
	}
	return out
}

// isKernel tells whether a PC is the kernel's.
func (s *machineStream) isKernel(pc uint64) bool {
	pc, _ = s.dump.arch.SplitCode(pc)
	_, mapped := s.view.space.memory.PermAt(pc)
	return mapped || s.view.kernel.text.Contains(pc)
}

// panickedAlone tells whether a task is the only one that ran when the kernel panicked, which does not return to a program: without
// registers of processors it is known to be in the kernel by that.
func (s *machineStream) panickedAlone(task int) bool {
	running := 0
	for i := range s.view.tasks {
		if s.view.tasks[i].OnCPU {
			running++
		}
	}
	return running == 1 && s.view.tasks[task].OnCPU && kernellog.Panicked(s.snap.Log)
}

// missing says which threads' stacks are not in memory, or not where they begin, and why.
func (s *machineStream) missing(pages *programPages, out *input.Stopped) (issues []target.Issue) {
	counts := map[string]int{}
	for i := range out.Threads {
		th := &out.Threads[i]
		if sp, known := th.Regs.Lookup(out.Arch.SP); !known {
			counts["where they stand is not known: neither their registers nor those at the kernel's entry are there"]++
		} else if why := pages.whyMissing(sp & out.Arch.AddrMask()); why != "" {
			counts[why]++
		}
	}
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: s.dump.name,
			Text: fmt.Sprintf("%s: process %d: of %d of %d threads %s", s.dump.name, out.PID, counts[why], len(out.Threads), why)})
	}
	return issues
}

// leader is the number of a process: that of its first task, which is on the kernel's list of processes.
func leader(threads []target.Thread) int { return threads[0].ID }

// program is the path that the program's headers are mapped from, "" where that is not known.
func program(p *processes.Process, arch *cpu.Arch) string {
	const atPHdr = 3
	at := p.Aux(arch, atPHdr)
	if i := slices.IndexFunc(p.Maps, func(m processes.Mapping) bool { return m.Contains(at) }); i >= 0 {
		return p.Maps[i].Path
	}
	return ""
}

// text are mappings as /proc/PID/maps has them (proc(5)). A file has a number there, which nobody asks for.
func text(list []processes.Mapping) []byte {
	var b []byte
	for i := range list {
		m := &list[i]
		mode, inode := []byte("---p"), 0
		for i, bit := range [...]target.Perm{target.PermRead, target.PermWrite, target.PermExec} {
			if m.Perm&bit != 0 {
				mode[i] = "rwx"[i]
			}
		}
		if m.Path != "" {
			inode = 1
		}
		b = fmt.Appendf(b, "%x-%x %s %x 00:00 %d %s\n", m.Lo, m.Hi, mode, m.Offset, inode, strings.ReplaceAll(m.Path, "\n", `\012`))
	}
	return b
}
