package rtos

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// Format is the memory of a microcontroller without a report of a crash, as a probe dumps
// it: each task of a kernel is a thread, and so is the processor where its registers are
// given.
func Format() input.Format {
	return input.Format{Name: "ram", OpenMemory: openMemory, OpenStopped: openStopped}
}

func openMemory(ctx context.Context, ram *input.RAM, env *input.Env) (input.Stream, error) {
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
	b.Until(ctx)
	snap.Issues = append(snap.Issues, firmware.AddRAM(&b, ram)...)
	snap.Memory = b.Memory(p.Arch)
	snap.SortModules()
	if regs, issues := firmware.Registers(p.Arch, vals); regs.Known.Has(p.Arch.PC) {
		snap.Threads = append(snap.Threads, target.Thread{Name: "processor", Regs: regs, Crashed: true})
		for _, text := range issues {
			snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Subject: env.Regs, Text: env.Regs + ": " + text})
		}
	}
	if snap.OS = AddTasks(ctx, snap); ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if len(snap.Threads) == 0 {
		return nil, input.ErrUnrecognised
	}
	return &once{snap}, nil
}

// AddTasks makes the tasks of a kernel in snap's memory threads, and returns the kernel's
// name, "" where there is no kernel. A task on whose stack a thread of snap runs is that thread:
// the thread gets the task's name behind its own name, and the bounds of the task's stack. Where
// no thread of snap runs on the stack of the running task, the registers that the kernel kept of
// this task are stale. Where ctx ends, tasks are missing.
func AddTasks(ctx context.Context, snap *target.Snapshot) (kernel string) {
	k, ok := Find(ctx, snap)
	if !ok {
		return ""
	}
	all := k.all()
	k.describe(all, nil)
	overrun := k.overrun(all)
	current := k.current(snap.Modules, all)
	runs := make(map[uint64]bool) // by control block
	var tasks []*Task
	for i := range snap.Threads {
		t := &snap.Threads[i]
		task := k.of(t, current)
		if task == nil {
			continue
		}
		if !runs[task.Block] {
			tasks = append(tasks, task)
		}
		runs[task.Block] = true
		t.Stack, t.Task = task.Stack, &task.Task
		if task.Name != "" {
			t.Name += " (task " + task.Name + ")"
		}
	}
	others := len(tasks)
	for _, t := range all {
		if !runs[t.Block] {
			tasks = append(tasks, t)
		}
	}
	k.describe(tasks, runs)
	snap.Issues = append(snap.Issues, overrun...)
	k.addThreads(snap, tasks, others)
	return k.Name
}

// addThreads makes the tasks from others on threads; those before are threads of snap.
func (k *Kernel) addThreads(snap *target.Snapshot, tasks []*Task, others int) {
	stale := theyRun(tasks[others:]) // on other processors
	if others == 0 {
		stale = k.mayRun(tasks)
	}
	threads, why := slices.Clip(snap.Threads), ", and the processor's registers are not here (--regs)"
	if len(threads) > 0 {
		why = ", and no report shows where its stack stands"
	}
	for _, task := range tasks[others:] {
		t := task.Thread()
		t.ID, t.Stale = len(threads), task.overwritten || slices.Contains(stale, task)
		threads = append(threads, t)
	}
	snap.Threads = threads
	if len(stale) > 0 {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Text: oldFrames(stale, why)})
	}
}

// oldFrames says of which tasks the frames may be old. Where the kernel does not tell the running
// task, the running task may even be missing: what the kernel saved of it at the last switch may
// be overwritten since. why says what is missing.
func oldFrames(stale []*Task, why string) string {
	switch t := stale[0]; {
	case t.State == running && len(stale) > 1:
		return fmt.Sprintf("%d tasks were running%s: their frames are old", len(stale), why)
	case t.State == running:
		return fmt.Sprintf("task %q was running%s: its frames are old", t.Name, why)
	case len(stale) == 1:
		return fmt.Sprintf("task %q may have been running%s: its frames may be old", t.Name, why)
	}
	return fmt.Sprintf("one of %d tasks may have been running%s: their frames may be old", len(stale), why)
}

// stackPointer is the SP of the running task: on a Cortex-M that handles an exception, or whose frame was not pushed, the process
// stack pointer, where that register is known; elsewhere SP.
func stackPointer(arch *cpu.Arch, regs *cpu.Registers) (uint64, bool) {
	status, known := regs.Lookup(arch.Status)
	if psp, ok := arch.RegByName("psp"); ok && (status&0x1ff != 0 || !known) {
		if v, ok := regs.Lookup(psp); ok {
			return v, true
		}
	}
	return regs.Lookup(arch.SP)
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
