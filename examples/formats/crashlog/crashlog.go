// Package crashlog reads what the fault handler of a board writes to its console, a
// kind of capture that Backsight does not know by itself:
//
//	*** FAULT netboard
//	image fw.hex
//	reg pc 00000034
//	reg sp 20001f90
//	stack 20001f90 ae010000000000000d0f0020
//
// The board has one processor, so that the log does not name it.
package crashlog

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

const magic = "*** FAULT "

// Format describes this package to input.Open. Logs are of programs for arch.
func Format(arch *cpu.Arch) input.Format {
	return input.Format{
		Name:  "crashlog",
		Sniff: func(head []byte) bool { return bytes.HasPrefix(head, []byte(magic)) },
		Open: func(_ context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
			return &stream{capture: c, files: env.Files, arch: arch}, nil
		},
	}
}

// stream is an open log, which has one snapshot.
type stream struct {
	capture *input.Capture
	files   *input.Files
	arch    *cpu.Arch
	done    bool
}

func (s *stream) Close() error { return nil }

// Next implements input.Stream.
func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	b := builder{dir: s.capture.Dir, files: s.files, thread: target.Thread{ID: 1, Crashed: true},
		snap: &target.Snapshot{Arch: s.arch, OS: "bare", Fault: &target.Fault{Name: "HardFault", Thread: 1}}}
	lines := bufio.NewScanner(s.capture.Stream()) // refuses lines above 64 KB
	for n := 1; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.line(lines.Text()); err != nil {
			return nil, &input.Error{Path: s.capture.Name, Offset: -1, Reason: fmt.Sprintf("line %d", n), Err: err}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, &input.Error{Path: s.capture.Name, Offset: -1, Reason: "cannot be read", Err: err}
	}
	return b.snapshot(), nil
}

// builder collects what a log says.
type builder struct {
	dir    string
	files  *input.Files
	snap   *target.Snapshot
	thread target.Thread
	memory target.Builder
}

// line reads one line. Lines of other kinds are the console's.
func (b *builder) line(s string) error {
	words := strings.Fields(s)
	switch {
	case len(words) == 2 && words[0] == "image":
		b.image(words[1])
	case len(words) == 3 && words[0] == "reg":
		return b.register(words[1], words[2])
	case len(words) == 3 && words[0] == "stack":
		return b.stack(words[1], words[2])
	}
	return nil
}

// image maps the firmware, which runs at the addresses that it was linked for.
func (b *builder) image(name string) {
	img, issues := b.files.Find(input.BinaryRef{Name: name, Arch: b.snap.Arch, Dir: b.dir})
	b.snap.Issues = append(b.snap.Issues, issues...)
	if img != nil {
		b.snap.Modules = append(b.snap.Modules, target.NewModule(name, img, 0))
	}
}

func (b *builder) register(name, value string) error {
	reg, ok := b.snap.Arch.RegByName(name)
	v, err := strconv.ParseUint(value, 16, 32)
	if ok && err == nil {
		b.thread.Regs.Set(reg, v)
	}
	return err
}

func (b *builder) stack(addr, dump string) error {
	a, err := strconv.ParseUint(addr, 16, 32)
	if err != nil {
		return err
	}
	bytes, err := hex.DecodeString(dump)
	b.memory.Add(a, bytes, 0, target.PermUnknown)
	return err
}

func (b *builder) snapshot() *target.Snapshot {
	b.snap.Threads = []target.Thread{b.thread}
	b.snap.Memory = b.memory.Memory(b.snap.Arch)
	b.snap.SortModules()
	return b.snap
}
