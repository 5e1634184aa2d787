package faultlog

import (
	"bytes"
	"context"
	"fmt"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/internal/input/rtos"
	"github.com/backsight/backsight/target"
)

// finish adds what the memory beside a log shows: the other tasks, and which tasks the threads of
// the reports are. Issues say where memory or binaries do not go with the log.
func finish(ctx context.Context, snap *target.Snapshot, ram *input.RAM) {
	var b target.Builder
	b.Until(ctx)
	_ = firmware.AddRAM(&b, ram) // the reports have said what is wrong with the files
	snap.Memory = b.Memory(snap.Arch)
	if kernel := rtos.AddTasks(ctx, snap); snap.OS == "" {
		snap.OS = kernel
	}
	for i := range snap.Threads {
		if t := &snap.Threads[i]; t.Task != nil && t.Memory != nil && sameMoment(t.Memory, snap.Memory) {
			t.Memory = nil
		}
	}
	snap.Issues = append(snap.Issues, outside(snap)...)
	snap.Issues = append(snap.Issues, otherProgram(snap)...)
}

// sameMoment tells whether memory shows all that a report does: what the task of the report wrote, other tasks' stacks have, too.
func sameMoment(report, memory *target.Memory) bool {
	for _, seg := range report.Segments() {
		for at := uint64(0); at < seg.Size(); {
			b := memory.Bytes(seg.Addr + at)
			n := min(len(b), len(seg.Data[at:]))
			if n == 0 || !bytes.Equal(b[:n], seg.Data[at:][:n]) {
				return false
			}
			at += uint64(n)
		}
	}
	return true
}

// outside has an issue for each report of no task whose stack pointer lies outside all memory: the user
// stated a wrong address, or the memory is of another part of the device.
func outside(snap *target.Snapshot) (issues []target.Issue) {
	segments := snap.Memory.Segments()
	if len(segments) == 0 {
		return nil
	}
	last := segments[len(segments)-1]
	for i := range snap.Threads {
		sp, ok := snap.Threads[i].Regs.Lookup(snap.Arch.SP)
		if _, in := snap.Memory.Uint(sp-1, 1); !ok || in || snap.Threads[i].Task != nil {
			continue
		}
		issues = append(issues, target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf(
			"%s: SP, %#x, lies in none of the memory, which is %#x to %#x: its tasks are not found from here",
			snap.Threads[i].Name, sp, segments[0].Addr, last.Addr+last.Size())})
	}
	return issues
}

// otherProgram is the issue that the binaries may be of another build than the device's.
func otherProgram(snap *target.Snapshot) []target.Issue {
	text := rtos.OtherProgram(snap)
	if text == "" {
		return nil
	}
	return []target.Issue{{Kind: target.IssueCapture, Text: text}}
}
