package rtos

import (
	"context"
	"io"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/firmware"
	"github.com/backsight/backsight/target"
)

// Format is the memory of a microcontroller without a report of a crash, as a probe dumps
// it: each task of a kernel is a thread, and so is the processor where its registers are
// given.
func Format() input.Format {
	return input.Format{Name: "ram", OpenMemory: openMemory}
}

func openMemory(_ context.Context, ram *input.RAM, env *input.Env) (input.Stream, error) {
	vals, err := firmware.ReadRegisters(env)
	if err != nil {
		return nil, err
	}
	hint := env.Files.Raw()
	if hint == nil {
		hint = firmware.Hint(env.Archs, vals)
	}
	p := firmware.Open(env, hint)
	if p.Arch == nil || len(p.Modules) == 0 {
		return nil, input.ErrUnrecognised
	}
	snap := &target.Snapshot{Arch: p.Arch, Modules: p.Modules, Issues: p.Issues}
	var b target.Builder
	snap.Issues = append(snap.Issues, firmware.AddRAM(&b, ram)...)
	snap.Memory = b.Memory(p.Arch)
	snap.SortModules()
	if regs, issues := firmware.Registers(p.Arch, vals); regs.Known.Has(p.Arch.PC) {
		snap.Threads = append(snap.Threads, target.Thread{Name: "processor", Regs: regs, Crashed: true})
		for _, text := range issues {
			snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Subject: env.Regs, Text: env.Regs + ": " + text})
		}
	}
	snap.OS = AddTasks(snap)
	if len(snap.Threads) == 0 {
		return nil, input.ErrUnrecognised
	}
	return &once{snap}, nil
}

// AddTasks makes the tasks of a kernel in snap's memory threads, and returns the kernel's
// name, "" where there is none. A task on whose stack a thread of snap runs is that thread:
// it gets the task's name behind its own, and the bounds of the stack.
func AddTasks(snap *target.Snapshot) (kernel string) {
	k, ok := Find(snap)
	if !ok {
		return ""
	}
	running := make(map[uint64]bool) // by control block
	for i := range snap.Threads {
		t := &snap.Threads[i]
		task, on := k.Of(stackPointer(snap.Arch, &t.Regs))
		if !on {
			continue
		}
		running[task.Block] = true
		t.Stack = task.Stack
		if task.Name != "" {
			t.Name += " (task " + task.Name + ")"
		}
	}
	threads := snap.Threads[:len(snap.Threads):len(snap.Threads)]
	for i := range k.Tasks {
		if !running[k.Tasks[i].Block] {
			t := k.Tasks[i].Thread()
			t.ID = len(threads)
			threads = append(threads, t)
		}
	}
	snap.Threads = threads
	return k.Name
}

// stackPointer is the SP of the task that runs: on a Cortex-M the process stack pointer,
// where it is known and the processor handles an exception.
func stackPointer(arch *cpu.Arch, regs *cpu.Registers) uint64 {
	if psp, ok := arch.RegByName("psp"); ok && regs.Val[arch.Status]&0x1ff != 0 {
		if v, ok := regs.Lookup(psp); ok {
			return v
		}
	}
	return regs.Val[arch.SP]
}

// once is a stream of one snapshot.
type once struct{ snap *target.Snapshot }

func (o *once) Next(ctx context.Context) (*target.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.snap == nil {
		return nil, io.EOF
	}
	snap := o.snap
	o.snap = nil
	return snap, nil
}

func (o *once) Close() error { return nil }
