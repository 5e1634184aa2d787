// Package plcrash reads the crash reports of PLCrashReporter and its forks: 8 bytes, "plcrash"
// and a version, then a protobuf message.
//
//	registers of the crashed thread, frames of every thread, images by UUID; no memory
//
// Schema: PLCrashReport.proto of github.com/microsoft/plcrashreporter.
package plcrash

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/darwin"
	"github.com/backsight/backsight/target"
)

const (
	magic      = "plcrash"
	version    = 1
	headerSize = len(magic) + 1
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "plcrash", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) && len(head) >= headerSize }

// maxReport bounds a report in bytes: one with 19 threads and 400 images has 60 kB.
const maxReport = 64 << 20

func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if data == nil {
		return nil, broken
	}
	if len(data) > maxReport {
		return nil, &input.Error{Path: c.Name, Offset: maxReport, Reason: "a PLCrashReporter report of more than 64 MB"}
	}
	if data[headerSize-1] != version {
		return nil, &input.Error{Path: c.Name, Offset: int64(headerSize - 1),
			Reason: fmt.Sprintf("version %d of PLCrashReporter's reports is not known", data[headerSize-1])}
	}
	r, whole := decode(data[headerSize:])
	arch, ok := r.arch(env.Archs)
	if !ok {
		return nil, &input.Error{Path: c.Name, Offset: int64(headerSize), Reason: "the report names no processor that is known"}
	}
	out := r.convert(arch)
	out.Issues = r.room.Issues(c.Name)
	if whole < len(data)-headerSize || broken != nil {
		out.Issues = append(out.Issues, target.Issue{Kind: target.IssueCapture, Subject: c.Name,
			Text: fmt.Sprintf("%s: offset %#x: the report is damaged here; what stands before is used", c.Name, headerSize+whole)})
	}
	return input.One(out.Snapshot(env.Files)), nil
}

const (
	osUnknown   = 3
	archUnknown = 6
)

// architectures are the values of the schema's enum Architecture, as Mach-O's cputype.
var architectures = [...]cpu.MachOType{7, 0x0100_0007, 12, 18, 0x0100_0012, 12}

// arch is the processor of the program: by the deprecated enum where it tells, which is the
// program's own (an i386 program on an x86-64 system), else by the first image, else by the
// machine.
func (r *report) arch(archs cpu.Set) (*cpu.Arch, bool) {
	if a := r.system.architecture; a < uint64(len(architectures)) {
		return archs.ByMachO(architectures[a])
	}
	for i := range r.images {
		if c := r.images[i].code; c != nil {
			return archs.ByMachO(cpu.MachOType(c.typ))
		}
	}
	if r.machine != nil {
		return archs.ByMachO(cpu.MachOType(r.machine.processor.typ))
	}
	return nil, false
}

// convert is the report as all reports of Darwin are.
func (r *report) convert(arch *cpu.Arch) *darwin.Report {
	names := map[uint64]string{0: "macOS", 1: "iOS", 2: "iOS", 4: "tvOS"}
	out := &darwin.Report{Arch: arch, OS: names[r.system.os], Command: r.app.identifier}
	if t := r.system.timestamp; t > 0 {
		out.Time = time.Unix(t, 0).UTC().Format(time.RFC3339)
	}
	if p := r.process; p != nil {
		out.PID = int(p.id)
		if out.Command = p.path; p.path == "" {
			out.Command = p.name
		}
	}
	for i := range r.images {
		b := &r.images[i]
		out.Binaries = append(out.Binaries, darwin.Binary{Name: b.name, Base: b.base, Size: b.size, UUID: b.uuid})
	}
	out.Fault = &target.Fault{Name: r.signal.name, Address: r.signal.address, HasAddress: r.signal.address != 0}
	for i := range r.threads {
		t := &r.threads[i]
		if t.crashed {
			out.Fault.Thread = int(t.number)
		}
		out.Threads = append(out.Threads, t.convert(arch))
	}
	if e := r.exception; e != nil {
		name := darwin.Shortened("exception " + e.name + ": " + e.reason)
		out.Threads = append(out.Threads, target.Thread{ID: len(r.threads), Name: name, Listed: listed(e.frames)})
	}
	return out
}

func (t *thread) convert(arch *cpu.Arch) target.Thread {
	out := target.Thread{ID: int(t.number), Crashed: t.crashed, Listed: listed(t.frames)}
	if len(out.Listed) > 0 {
		out.Listed[0].Exact = true
	}
	for _, r := range t.registers {
		darwin.Register(arch, &out.Regs, r.name, r.value)
	}
	return out
}

// listed are the frames that the reporter found. A symbol of its own says where it begins.
func listed(frames []stackFrame) []target.Listed {
	out := make([]target.Listed, len(frames))
	for i := range frames {
		f := &frames[i]
		out[i].PC = f.pc
		if s := f.symbol; s != nil {
			out[i].Symbol, out[i].Offset = strings.TrimPrefix(s.name, "_"), f.pc-s.start
			out[i].Outermost = darwin.Outermost(out[i].Symbol)
		}
	}
	return out
}
