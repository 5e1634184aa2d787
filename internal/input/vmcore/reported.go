package vmcore

import (
	"context"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/input/kernellog"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// takeRegisters takes the processor's registers as a debugger printed them, where the dump has none:
// of one processor, whatever the machine has. Where the dump has the same PC and SP, only the exception PC
// is new.
func (d *dump) takeRegisters(env *input.Env) error {
	if len(d.cpus) > 1 || d.shown != nil || env.Regs == "" {
		return nil
	}
	vals, err := firmware.ReadRegisters(env)
	if err != nil {
		return err
	}
	vals, epc := firmware.ExceptionPC(d.arch, vals)
	regs, issues := firmware.Registers(d.arch, vals)
	same := func(r cpu.Reg) bool {
		v, ok := regs.Lookup(r)
		return ok && d.cpus[0].Val[r] == v
	}
	if len(d.cpus) > 0 {
		if same(d.arch.PC) && same(d.arch.SP) {
			d.epc = epc
		}
		return nil
	}
	for _, text := range issues {
		d.issues = append(d.issues, target.Issue{Kind: target.IssueCapture, Subject: env.Regs, Text: env.Regs + ": " + text})
	}
	if regs.Known.Has(d.arch.PC) && regs.Known.Has(d.arch.SP) {
		d.cpus, d.epc = []cpu.Registers{regs}, epc
	}
	return nil
}

// takeReported takes from the kernel's log why a kernel that panicked did.
func (d *dump) takeReported(ctx context.Context, snap *target.Snapshot, found []tasks.Task) {
	if !kernellog.Panicked(snap.Log) {
		return
	}
	crash, ok := kernellog.LastCrash(ctx, snap.Log, d.arch, snap.Modules)
	if !ok {
		return
	}
	if len(d.cpus) == 0 && crash.HasPlace(d.arch) && takePrinted(snap, found, &crash) {
		d.issue(target.IssueCapture, "no registers of processors: those of task %d are as the kernel's log has them", crash.PID)
	}
	for i := range snap.Threads {
		if t := &snap.Threads[i]; t.Crashed && t.ID == crash.PID {
			crash.Fault.Thread = t.ID
			snap.Fault = &crash.Fault
			return
		}
	}
}

// takePrinted gives the task that crashed the registers that the kernel printed, for memory that
// comes without the processors' registers (raw RAM). The stack above the printed stack pointer is as it
// was then; the kernel has used the stack below since.
func takePrinted(snap *target.Snapshot, found []tasks.Task, crash *kernellog.Crash) bool {
	for i := range found {
		if t := &snap.Threads[i]; found[i].PID == crash.PID && (found[i].OnCPU || !running(found)) {
			t.Regs, t.Waits, t.Crashed = crash.Regs, false, true
			return true
		}
	}
	return false
}

// running tells whether any task is known to have been running.
func running(found []tasks.Task) bool {
	for i := range found {
		if found[i].OnCPU {
			return true
		}
	}
	return false
}
