// Package snapshot reads the JSON snapshot format: registers, memory and the
// binaries that were mapped, as one object or as JSON Lines, one object a line.
//
//	{"arch":"mips","endian":"big","abi":"o32",
//	 "regs":{"pc":"0x400d2c","sp":"0x7fffe000",…},
//	 "memory":[{"base":"0x7fffdf00","bytes":"<base64>"}],
//	 "images":[{"path":"firmware.elf","bias":"0x0"}]}
//
// A batch of any length is read in constant memory. A line that is broken is an
// error of its own; the lines behind it are read.
package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open.
func Format() input.Format {
	return input.Format{Name: "snapshot", Sniff: sniff, Open: open}
}

// sniff: the first byte that is not white space opens an object. Where further lines do, too, one of them at least
// has what makes a snapshot: logs are JSON Lines as well.
func sniff(head []byte) bool {
	has := func(key string) bool { return bytes.Contains(head, []byte(key)) }
	if has("\n{") && !slices.ContainsFunc([]string{`"arch"`, `"regs"`, `"memory"`, `"images"`, `"threads"`}, has) {
		return false
	}
	s := scanner{b: head}
	if len(head) >= 3 && string(head[:3]) == "\xef\xbb\xbf" {
		s.pos = 3
	}
	return s.peek() == '{'
}

func open(_ context.Context, capture *input.Capture, env *input.Env) (input.Stream, error) {
	return &stream{
		name: capture.Name, forget: capture.Forget, lines: newLines(capture.Stream(), capture.Data),
		build: builder{env: env, name: capture.Name, dir: capture.Dir, names: make(map[*cpu.Arch]map[string]cpu.Reg)},
	}, nil
}

// stream is an open capture.
type stream struct {
	name   string
	forget func() // gives back the memory of what was read
	lines  *lines
	rec    record
	build  builder
}

// Next implements input.Stream.
func (s *stream) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.lines.ctx = ctx
	text, err := s.lines.next()
	switch {
	case err == io.EOF:
		return nil, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errLongLine):
		return nil, s.broken(0, err.Error())
	case err != nil:
		return nil, &input.Error{Path: s.name, Offset: s.lines.nextOffset, Reason: "reading stopped", Err: err}
	}
	sc := scanner{ctx: ctx, b: text}
	s.rec.reset(len(text))
	s.rec.read(&sc)
	if len(text) > keepBuffer {
		s.forget()
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if sc.failed() {
		return nil, s.broken(sc.pos, sc.what)
	}
	snap, err := s.build.snapshot(ctx, &s.rec)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, s.broken(0, err.Error())
	}
	return snap, nil
}

// broken is what is wrong at a position of the current object.
func (s *stream) broken(pos int, what string) error {
	return &input.Error{
		Path: s.name, Offset: s.lines.offset + int64(pos),
		Reason: fmt.Sprintf("line %d: %s", s.lines.line, what), Recoverable: true,
	}
}

// Close implements input.Stream.
func (s *stream) Close() error { return nil }
