// Command profiler is the unwinding half of a sampling profiler. A kernel hands over
// samples: the registers of an interrupted thread and a copy of the top of its stack
// (perf_event_open's PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER). Here the
// threads of a core file are sampled, again and again.
//
//	profiler -sysroot DIR CORE
//
// It prints the stacks that it saw, innermost function last, with the number of samples
// of each, as flame graphs are drawn from. It fails if unwinding allocates memory once
// every stack has been seen.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"runtime"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 100_000, "how many samples to take")
	sysroot := flag.String("sysroot", "", "the folder with the program's files")
	flag.Parse()
	if err := run(context.Background(), flag.Arg(0), *sysroot, *n); err != nil {
		log.Fatal("profiler: ", err)
	}
}

func run(ctx context.Context, core, sysroot string, n int) error {
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{sysroot}})
	defer files.Close()
	capture, err := backsight.Open(ctx, core, input.Env{Files: files})
	if err != nil {
		return err
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		return err
	}
	samples := sample(snap)
	// What a profiler knows of a program: its processor, and what is mapped where.
	program := &target.Snapshot{Arch: snap.Arch, Modules: snap.Modules}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		return err
	}
	p := newProfile(u.Walker(program))
	for i := range samples { // each stack for the first time
		p.add(&samples[i])
	}
	before := mallocs()
	for i := range n - len(samples) {
		p.add(&samples[i%len(samples)])
	}
	allocations := mallocs() - before
	fmt.Printf("%d samples, %d frames, %d allocations a sample\n", n, p.frames, allocations/uint64(n))
	if allocations > tolerated {
		return fmt.Errorf("%d allocations in %d samples", allocations, n)
	}
	p.print(ctx, program, backsight.Names(false))
	return nil
}

// tolerated is what the Go runtime may allocate for itself, however many samples there
// are.
const tolerated = 100

// mallocs counts the allocations of this process so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// perSample is how much of a stack a sample has.
const perSample = 16 << 10

// sample samples every thread of a stopped program.
func sample(snap *target.Snapshot) []unwind.Sample {
	var all []unwind.Sample
	for i := range snap.Threads {
		s := unwind.Sample{Regs: snap.Threads[i].Regs, Stack: make([]byte, perSample)}
		s.Base, _ = s.Regs.Lookup(snap.Arch.SP)
		s.Stack = s.Stack[:snap.Memory.Read(s.Base, s.Stack)]
		all = append(all, s)
	}
	return all
}
