package vmcore

import (
	"context"
	"errors"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/kernel"
	"github.com/backsight/backsight/internal/input/kernellog"
	"github.com/backsight/backsight/target"
)

// openStopped reads a machine that runs Linux and that a debugger's server has stopped, by its physical memory.
func openStopped(ctx context.Context, s *input.Stopped, env *input.Env) (input.Stream, error) {
	if s.Auxv != nil || s.Physical == nil || len(s.RAM) == 0 || s.Arch.Micro() || ranOther(env.Files) {
		return nil, input.ErrUnrecognised
	}
	d := dump{name: s.Name, arch: s.Arch}
	var b target.Builder
	for _, r := range s.RAM {
		b.AddPaged(r.Lo, r.Hi-r.Lo, s.Physical, target.PermUnknown)
	}
	d.physical = b.Memory(&cpu.Arch{AddrSize: 8, BigEndian: s.Arch.BigEndian})
	for i := range s.Threads {
		d.cpus = append(d.cpus, s.Threads[i].Regs)
	}
	stream, err := d.machine(ctx, env)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(input.ErrUnrecognised, err)
	}
	if !kernellog.Panicked(stream.snap.Log) { // else the first processor did not crash, it was stopped
		for i := range stream.threads {
			stream.threads[i].Crashed = false
		}
	}
	return stream, nil
}

// ranOther tells whether the user named binaries, and none of them is a kernel of Linux.
func ranOther(files *input.Files) bool {
	named := files.Images()
	if exe := files.Exe(); exe != "" {
		named = append(slices.Clip(named), input.NamedImage{Path: exe})
	}
	return len(named) > 0 && !slices.ContainsFunc(named, func(n input.NamedImage) bool {
		img, err := files.Open(n.Path)
		return err == nil && kernel.Banner(img) != ""
	})
}
