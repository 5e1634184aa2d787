package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/backsight/backsight/target"
)

// sampleFlags say which samples of a recording are wanted. The others are not unwound.
type sampleFlags struct {
	since string
	comms []string
	pids  []int
	cpus  []int
	given bool // one of them was

	from  uint64 // nanoseconds
	after bool   // from counts from the first sample on, not by the recording's clock
}

func (s *sampleFlags) add(cmd *subcommand) {
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "", "only samples from `TIME` on: seconds as perf script prints them, or 10s, 1m behind the first sample")
	f.Var(listValue{&s.comms}, "comm", "only samples of processes or threads with these `NAMES`")
	f.VarP(&pidValue{list: &s.pids}, "pid", "p", "a running process `PID`, or all of a program's name, which stands still for some milliseconds; with a recording, only its samples (repeatable)")
	f.IntSliceVar(&s.cpus, "cpu", nil, "only samples of these processors, `NUMBERS`")
}

// running takes the processes out of the flags where no capture is named of which they could choose samples.
func (s *sampleFlags) running(captures []string) (pids []int) {
	if len(captures) > 0 {
		return nil
	}
	pids, s.pids = s.pids, nil
	return pids
}

// check reads the time.
func (s *sampleFlags) check(cmd *subcommand) error {
	s.given = len(s.pids) > 0 || slices.ContainsFunc([]string{"since", "comm", "cpu"}, cmd.Flags().Changed)
	if s.since == "" {
		return nil
	}
	if seconds, err := strconv.ParseFloat(s.since, 64); err == nil && seconds >= 0 && seconds < 1<<33 {
		s.from = uint64(seconds * float64(time.Second))
		return nil
	}
	d, err := time.ParseDuration(s.since)
	if err != nil || d < 0 {
		return fmt.Errorf("--since %q is neither seconds of a recording's clock nor a time like 10s", s.since)
	}
	s.from, s.after = uint64(d), true
	return nil
}

// choose leaves the samples in a snapshot that were asked for.
func (s *sampleFlags) choose(snap *target.Snapshot) {
	if !s.given || snap == nil {
		return
	}
	kept := make([]target.Thread, 0, len(snap.Threads))
	for i := range snap.Threads {
		if s.wants(snap, &snap.Threads[i]) {
			kept = append(kept, snap.Threads[i])
		}
	}
	snap.Threads = kept
}

// wants tells whether a thread is of those that were asked for. What a capture does not tell of a thread is not what was asked for.
func (s *sampleFlags) wants(snap *target.Snapshot, t *target.Thread) bool {
	if m := t.Moment; m != nil {
		time := m.Time
		if s.after {
			time -= m.First
		}
		if time < s.from || len(s.cpus) > 0 && !slices.Contains(s.cpus, m.CPU) {
			return false
		}
	} else if s.since != "" || len(s.cpus) > 0 {
		return false
	}
	return (len(s.pids) == 0 || slices.Contains(s.pids, snap.PID)) &&
		(len(s.comms) == 0 || slices.Contains(s.comms, t.Name) || slices.Contains(s.comms, snap.Command))
}
