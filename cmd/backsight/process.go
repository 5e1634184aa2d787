package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/gcore"
	"github.com/backsight/backsight/internal/procfs"
	"github.com/backsight/backsight/target"
)

// processStack bounds what is copied of each thread's stack, in bytes: that of Linux' default limit.
const processStack = 8 << 20

// processes are the running processes of bt -p, by the names that stand for them.
type processes struct {
	pids  []int
	every time.Duration // between two looks
	count int           // of looks
	next  time.Time     // when to look again
	left  int           // processes of this look
	// freeze: they stand still until their backtraces are written.
	freeze bool

	remotes    []string
	keepHalted bool
	mu         sync.Mutex
	held       []io.Closer // of remotes, which stand still until these are closed
	stops      []standstill
}

// consistent finds flags that say nothing.
func (p *processes) consistent() error {
	if p.keepHalted && len(p.remotes) == 0 {
		return errors.New("--keep-halted says of --remote what becomes of the target")
	}
	return named("--remote", p.remotes)
}

// captures are the names of the processes, once for each look.
func (p *processes) captures() (names []string) {
	for range p.count {
		for _, pid := range p.pids {
			names = append(names, processName(pid))
		}
		for _, addr := range p.remotes {
			names = append(names, remoteName(addr))
		}
	}
	return names
}

// wait waits for the next look.
func (p *processes) wait(ctx context.Context) {
	if p.left > 0 {
		p.left--
		return
	}
	p.left = len(p.pids) + len(p.remotes) - 1
	select {
	case <-time.After(time.Until(p.next)):
	case <-ctx.Done():
	}
	p.next = time.Now().Add(p.every)
}

func remoteName(addr string) string { return "remote " + addr }

func processName(pid int) string { return "process " + strconv.Itoa(pid) }

// roots are the roots of processes that see other files than this one: in containers. Of a process that sees the same files from
// another root, by chroot(2), /proc tells the names as this process sees them: those of Firefox close themselves in an empty folder.
func (p *processes) roots() (dirs []string) {
	own, _ := os.Readlink("/proc/self/ns/mnt")
	for _, pid := range p.pids {
		dir := procfs.Living("/proc/" + strconv.Itoa(pid))
		space, _ := os.Readlink(dir + "/ns/mnt")
		root, err := os.Readlink(dir + "/root")
		exe, _ := os.Readlink(dir + "/exe")
		if err == nil && (space != own || root != "/" && !same(dir+"/exe", exe)) {
			dirs = append(dirs, dir+"/root")
		}
	}
	return dirs
}

// open opens a process as a capture, which the name stands for; ok is false for the name of a file.
func (p *processes) open(ctx context.Context, name string, env input.Env) (s input.Stream, ok bool, err error) {
	if addr, is := strings.CutPrefix(name, remoteName("")); is && slices.Contains(p.remotes, addr) {
		p.wait(ctx)
		s, err := p.remote(ctx, addr, env)
		return s, true, err
	}
	for _, pid := range p.pids {
		if name != processName(pid) {
			continue
		}
		p.wait(ctx)
		core, err := gcore.Of(pid, gcore.Options{Archs: backsight.CPUs(), Stack: processStack, Others: processStack, Freeze: p.freeze})
		if err != nil {
			return nil, true, err
		}
		p.stoppedBy(pid, core)
		s, err := backsight.OpenReader(ctx, name, core.Reader(), env)
		if err != nil {
			core.Release()
			return nil, true, err
		}
		return &running{s, core}, true, nil
	}
	return nil, false, nil
}

// release lets all go on that stands still, however the work has ended.
func (p *processes) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range slices.Backward(p.held) {
		_ = s.Close() // who closed it before was told
	}
	p.held = nil
}

// running is the stream of a process: its snapshot has the threads' names, and no fault.
type running struct {
	input.Stream
	core *gcore.Core
}

// Close lets a process go on that was frozen.
func (r *running) Close() error {
	r.core.Release()
	return r.Stream.Close()
}

func (r *running) Next(ctx context.Context) (*target.Snapshot, error) {
	snap, err := r.Stream.Next(ctx)
	if err != nil {
		return snap, err
	}
	giveNames(snap, r.core)
	for i := range snap.Threads {
		t := &snap.Threads[i]
		t.Crashed = false
		if w, ok := r.core.Waits[t.ID]; ok {
			state := map[byte]string{'S': "sleeping", 'D': "uninterruptible"}[w.State]
			t.Task = &target.Task{State: state, Call: w.Call, Channel: w.Channel}
		}
	}
	snap.Fault = nil
	if r.core.Missed > 0 {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture,
			Text: fmt.Sprintf("%d threads did not stop: they sleep in the kernel", r.core.Missed)})
	}
	return snap, nil
}

// giveNames gives the threads of a core their names.
func giveNames(snap *target.Snapshot, core *gcore.Core) {
	for i := range snap.Threads {
		snap.Threads[i].Name = core.Threads[snap.Threads[i].ID]
	}
}
