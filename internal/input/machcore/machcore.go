// Package machcore reads Mach-O cores of macOS: of the kernel (/cores/core.PID), of LLDB
// (process save-core).
//
//	LC_SEGMENT  memory
//	LC_THREAD   a thread: registers by flavor, the state of an exception
//	LC_NOTE     which images were loaded, how many bits addresses have
//
// Which images were loaded, notes say, else dyld's list in memory, else the mach headers that
// segments begin with. An image is the file with its UUID, or what is mapped of it.
//
// Specifications: mach-o/loader.h; xnu's osfmk/kern/kern_cdata and bsd/kern/mach_process; the
// notes as lldb's ObjectFileMachO reads them.
package machcore

import (
	"context"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "machcore", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool {
	_, what := readHeader(head)
	return what == ""
}

// core is a core while it is read.
type core struct {
	name     string
	data     []byte
	env      *input.Env
	header   header
	arch     *cpu.Arch
	commands commands
	mem      *target.Memory
	fault    *target.Fault
	left     budget.Budget // bytes of load commands
	issues   []target.Issue
}

func (c *core) issue(format string, args ...any) {
	c.issues = append(c.issues, target.Issue{Kind: target.IssueCapture, Subject: c.name, Text: fmt.Sprintf(format, args...)})
}

// open reads the whole core; it is one snapshot.
func open(ctx context.Context, capture *input.Capture, env *input.Env) (input.Stream, error) {
	data, err := capture.Bytes(ctx)
	if data == nil {
		return nil, err
	}
	c := core{name: capture.Name, data: data, env: env, left: budget.New("bytes of load commands", maxCommands, uint64(len(data))/2)}
	if err != nil {
		c.issue("%v", err)
	}
	snap, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	return input.One(snap), nil
}

func (c *core) errorf(off int64, format string, args ...any) error {
	return &input.Error{Path: c.name, Offset: off, Reason: fmt.Sprintf(format, args...)}
}

func (c *core) read(ctx context.Context) (*target.Snapshot, error) {
	h, what := readHeader(c.data)
	if what != "" {
		return nil, c.errorf(0, "%s", what)
	}
	c.header = h
	arch, ok := c.env.Archs.ByMachO(h.cpu)
	if !ok || arch.BigEndian != h.big {
		return nil, c.errorf(4, "a core of an unsupported processor: cputype %#x", uint32(h.cpu))
	}
	c.arch = arch
	if whole := c.commands.read(c.data, &c.header); whole < h.count {
		c.issue("%s: %d of %d load commands are whole; the others are not used", c.name, whole, h.count)
	}
	threads := c.threads()
	if len(threads) == 0 {
		return nil, c.errorf(int64(h.headerSize()), "a core without any thread's registers (LC_THREAD)")
	}
	c.mem = c.memory(ctx)
	snap := &target.Snapshot{Arch: arch, OS: "macOS", Threads: threads, Memory: c.mem, Modules: c.modules(), Fault: c.fault, CodeMask: c.codeMask()}
	if snap.CodeMask == 0 {
		snap.CodeMask = darwin.CodeMask(arch)
	}
	snap.Issues = c.issues
	snap.SortModules()
	return snap, nil
}

// memory is what the segments hold. The part of a segment that the file leaves out was all zeros.
func (c *core) memory(ctx context.Context) *target.Memory {
	var b target.Builder
	b.Until(ctx)
	cut := 0
	for _, l := range c.commands.loads {
		size := min(l.filesize, l.size)
		if l.off >= uint64(len(c.data)) && size > 0 {
			cut++
			continue
		}
		data := c.data[min(l.off, uint64(len(c.data))):]
		zero := l.size - size
		if uint64(len(data)) < size {
			cut, zero = cut+1, 0
		}
		b.Add(l.addr, data[:min(size, uint64(len(data)))], zero, perm(l.prot))
	}
	if cut > 0 {
		c.issue("%s: the file ends before the memory of %d of %d segments", c.name, cut, len(c.commands.loads))
	}
	return b.Memory(c.arch)
}

// perm are the permissions of VM_PROT_*.
func perm(prot uint32) (p target.Perm) {
	for i, bit := range [...]target.Perm{target.PermRead, target.PermWrite, target.PermExec} {
		if prot>>i&1 != 0 {
			p |= bit
		}
	}
	return p
}
