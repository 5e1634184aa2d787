package main

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

// listThreads writes the threads of a snapshot, which are the reports of a log, one a line:
//
//	3  oops: CPU 0 PID 95 busybox (crashed)
func listThreads(snap *target.Snapshot) (out []byte) {
	for i := range snap.Threads {
		t := &snap.Threads[i]
		out = strconv.AppendInt(out, int64(t.ID), 10)
		out = append(append(out, "  "...), typeset.Text(t.Name)...)
		if t.Crashed {
			out = append(out, " (crashed)"...)
		}
		out = append(out, '\n')
	}
	return out
}

// kernelLog is the log of a snapshot's kernel, harmless on a terminal.
func kernelLog(snap *target.Snapshot) (out []byte) {
	for line := range strings.Lines(snap.Log) {
		out = append(append(out, typeset.Text(strings.TrimSuffix(line, "\n"))...), '\n')
	}
	return out
}
