// Package vmcore reads the memory of a whole machine that ran Linux: ELF vmcores (kdump,
// QEMU's dump-guest-memory), makedumpfile's compressed and flattened dumps, raw physical
// memory, and /proc/kcore, the memory of the machine that runs.
//
//	file ─► physical memory ─► VMCOREINFO ─► kernel's address space ─┬─► tasks: threads
//	        registers of CPUs                 (page tables)          └─► kernel, modules: images out of memory
//
// Each task is a thread, with the registers that it was switched out with; a task that was
// running has those of its processor, where the dump has these. Kernel and modules are
// analysed as they lie in memory: the kernel changes its own code while it starts (ftrace,
// alternatives, jump labels). Their files, where found, add lines and names.
//
// Specifications: Documentation/admin-guide/kdump/; QEMU docs/interop/vmcoreinfo;
// System V gABI for the notes.
package vmcore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open. It comes before elfcore, whose files look
// alike.
func Format() input.Format {
	return input.Format{Name: "vmcore", Sniff: sniff, Set: setOf, Open: open, OpenMemory: openMemory, OpenStopped: openStopped}
}

// open reads a dump.
func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	if file := c.ReaderAt(); file != nil {
		d, err := readKcore(c.Name, file, env.Archs)
		if err != nil {
			return nil, err
		}
		d.issue(target.IssueCapture, "the machine runs: tasks that ran while they were read may be wrong or incomplete")
		return d.stream(ctx, env)
	}
	pages, complete, err := pagesOf(ctx, c)
	if err != nil && pages.Size() == 0 {
		return nil, err
	}
	d, readErr := read(ctx, c, pages, env.Archs)
	if readErr != nil {
		return nil, readErr
	}
	if err != nil {
		d.issue(target.IssueCapture, "%v", err)
	}
	if !complete {
		d.issue(target.IssueCapture, "truncated: the flattened dump has no end")
	}
	s, err := d.stream(ctx, env)
	if err != nil && d.missing != "" {
		return nil, d.errorf("%s", d.missing)
	}
	return s, err
}

// pagesOf are the bytes of a dump, one that was flattened put in order; complete is false where that one has no end.
func pagesOf(ctx context.Context, c *input.Capture) (pages input.Pages, complete bool, err error) {
	if !strings.HasPrefix(string(c.Head), flatMagic) {
		pages, err = c.Pages(ctx)
		return pages, true, err
	}
	data, err := c.Bytes(ctx)
	if data == nil {
		return pages, true, err
	}
	data, complete = unflatten(data)
	return input.PagesOf(data), complete, err
}

// read reads a dump of one of the formats with a header.
func read(ctx context.Context, c *input.Capture, pages input.Pages, archs cpu.Set) (*dump, error) {
	rest, err := others(ctx, c, &pages)
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(pages.Bytes(0, uint64(len(kdumpMagic))), []byte(kdumpMagic)):
		return readKdump(ctx, c.Name, pages, rest)
	}
	return readELF(ctx, c.Name, &pages, archs)
}

// openMemory reads physical memory without a header.
func openMemory(ctx context.Context, ram *input.RAM, env *input.Env) (input.Stream, error) {
	d := dump{}
	var b target.Builder
	b.Until(ctx)
	for i := range ram.Regions {
		d.name = ram.Regions[i].Name
		ram.Regions[i].AddTo(&b)
	}
	d.physical = b.Memory(rawWords)
	s, err := d.stream(ctx, env)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", input.ErrUnrecognised, err)
	}
	return s, nil
}

// rawWords reads physical memory, whose addresses may be wider than those of the processor.
var rawWords = &cpu.Arch{AddrSize: 8}

// dump is what a file says of a machine.
type dump struct {
	name     string
	arch     *cpu.Arch // nil: not known yet
	physical *target.Memory
	missing  string // which memory other files have; "": none
	notes    []noteSegment
	info     vmcoreinfo.Info
	cpus     []cpu.Registers
	epc      uint64    // the exception PC of the only processor, 0: not known
	count    int       // of processors, 0: not known
	shown    []segment // those of /proc/kcore, the memory of the machine that runs; nil: another dump
	issues   []target.Issue
}

func (d *dump) issue(kind target.IssueKind, format string, args ...any) {
	d.issues = append(d.issues, target.Issue{Kind: kind, Subject: d.name, Text: d.name + ": " + fmt.Sprintf(format, args...)})
}

func (d *dump) errorf(format string, args ...any) error {
	return &input.Error{Path: d.name, Offset: -1, Reason: fmt.Sprintf(format, args...)}
}
