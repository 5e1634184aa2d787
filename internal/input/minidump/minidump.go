// Package minidump reads minidumps: of Breakpad, Crashpad, Windows, LLDB and of whoever writes the same.
//
//	header       MDMP, the directory of streams; big-endian machines write all of it swapped, PMDM
//	SystemInfo   processor, operating system
//	ThreadList   threads: where the stack and the CONTEXT lie in the file
//	Exception    which thread crashed, why, and its CONTEXT at that moment
//	ModuleList   binaries: address, size, name, identity
//	MemoryList   memory: stacks as a rule, and some bytes of code; Memory64List: all of it
//	LinuxMaps, …  files of /proc/PID, by Breakpad's writers
//
// The binaries are looked for as those of a core are: a dump and the binaries as they shipped give what a core gives.
//
// Specifications: Windows' minidumpapiset.h and winnt.h; google_breakpad/common/minidump_format.h,
// minidump_cpu_*.h, minidump_exception_*.h; Crashpad's minidump/minidump_extensions.h.
package minidump

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "minidump", Sniff: sniff, Open: open}
}

// The first bytes, as a little-endian and as a big-endian machine write them.
const little, big = "MDMP", "PMDM"

func sniff(head []byte) bool {
	return len(head) >= headerSize && (string(head[:4]) == little || string(head[:4]) == big)
}

func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if data == nil {
		return nil, broken
	}
	d, err := newDump(c.Name, data)
	if err != nil {
		return nil, err
	}
	if broken != nil {
		d.issue("%v", broken)
	}
	snap, err := d.read(ctx, env)
	if err != nil {
		return nil, err
	}
	return input.One(snap), nil
}

// read makes the snapshot of a dump.
func (d *dump) read(ctx context.Context, env *input.Env) (*target.Snapshot, error) {
	sys, err := d.system(env.Archs)
	if err != nil {
		return nil, err
	}
	crash := d.crash()
	threads := d.threads(sys.arch, &crash)
	if len(threads) == 0 {
		return nil, d.errorf(d.streams[threadList].rva, "a minidump without any thread's registers")
	}
	snap := &target.Snapshot{Arch: sys.arch, OS: sys.os, Threads: threads, PID: d.pid(), Command: d.command()}
	if d.time != 0 {
		snap.Time = time.Unix(int64(d.time), 0).UTC().Format(time.RFC3339)
	}
	runs := d.captured()
	d.fill(ctx, snap, env, &finder{arch: d.variant(sys.arch, env.Archs, runs), runs: runs, maps: d.maps(), os: sys.os}, d.listed)
	if snap.Fault = crash.fault(&sys); snap.Fault != nil {
		snap.Fault.Says = d.says()
	}
	return snap, nil
}

// fill adds modules and memory to a snapshot, and what was wrong with the dump.
func (d *dump) fill(ctx context.Context, snap *target.Snapshot, env *input.Env, f *finder, listed iter.Seq[*module]) {
	runs := f.runs
	f.dump, f.files, f.memory, f.runs = d, env.Files, memoryOf(ctx, f.arch, runs, nil), sorted(runs)
	snap.Modules, snap.Arch = f.modules(listed)
	snap.Memory = memoryOf(ctx, snap.Arch, runs, snap.Modules)
	if snap.Command == "" && len(snap.Modules) > 0 {
		snap.Command = f.program
	}
	snap.SortModules()
	highest := uint64(0)
	for _, m := range snap.Modules {
		highest |= m.Hi - 1
	}
	for _, r := range runs {
		highest |= r.addr
	}
	snap.CodeMask = target.AddressMask(snap.Arch, highest)
	d.unloaded(snap)
	d.leftOut()
	snap.Issues = d.issues
}

// issue notes what is wrong with the dump.
func (d *dump) issue(format string, args ...any) {
	d.issues = append(d.issues, target.Issue{Kind: target.IssueCapture, Subject: d.name, Text: d.name + ": " + fmt.Sprintf(format, args...)})
}

func (d *dump) errorf(off uint32, format string, args ...any) error {
	return &input.Error{Path: d.name, Offset: int64(off), Reason: fmt.Sprintf(format, args...)}
}
