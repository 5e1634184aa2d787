package faultlog

import (
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/firmware"
	"github.com/backsight/backsight/input/rtos"
	"github.com/backsight/backsight/target"
)

// finish adds what the memory beside a log shows: the other tasks, and of the threads that
// reports are about which task they are.
func finish(snap *target.Snapshot, ram *input.RAM) {
	var b target.Builder
	_ = firmware.AddRAM(&b, ram) // the reports have said what is wrong with the files
	snap.Memory = b.Memory(snap.Arch)
	if kernel := rtos.AddTasks(snap); snap.OS == "" {
		snap.OS = kernel
	}
}
