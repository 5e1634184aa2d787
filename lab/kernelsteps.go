package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/lab/kernelsteps"
	"github.com/backsight/backsight/lab/stepper"
	"github.com/backsight/backsight/target"
)

// runKernelSteps steps a kernel that lab/kernels.sh started, and prints how whole its backtraces are.
func runKernelSteps(args []string) error {
	fs := flag.NewFlagSet("kernelsteps", flag.ExitOnError)
	server := fs.String("gdb", "", "QEMU's GDB server: HOST:PORT or unix:PATH")
	dump := fs.String("dump", "", "the machine's memory: a vmcore, or raw memory from address 0 (.ram)")
	functions := fs.String("functions",
		"vfs_read,vfs_write,pipe_read,schedule,do_nanosleep,hrtimer_start_range_ns,ksys_read,handle_mm_fault", "functions to step, by name")
	steps := fs.Int("steps", 400, "instructions of each function, at most")
	limit := fs.Duration("limit", 2*time.Minute, "time for a function that is not called")
	if err := fs.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	snap, err := machine(ctx, *dump)
	if err != nil {
		return err
	}
	client, err := stepper.Dial(ctx, *server, snap.Arch)
	if err != nil {
		return err
	}
	defer client.Close()
	timer := time.AfterFunc(*limit, func() { _ = client.Close() })
	k := kernelsteps.Kernel{Server: client, Snap: snap, Steps: *steps}
	var all kernelsteps.Tally
	fmt.Printf("%-28s %6s %6s %6s %6s\n", "", "steps", "whole", "wrong", "lies")
	for name := range strings.SplitSeq(*functions, ",") {
		t, err := k.Function(ctx, name)
		timer.Reset(*limit)
		if all.Add(t); err != nil {
			fmt.Printf("%-28s %v\n", name, err)
			continue
		}
		fmt.Printf("%-28s %6d %6d %6d %6d  %#x\n", name, t.Steps, t.Whole, t.Wrong, t.Lies, t.First)
	}
	fmt.Printf("%-28s %6d %6d %6d %6d\n", "all", all.Steps, all.Whole, all.Wrong, all.Lies)
	return nil
}

// machine is a dump of its memory, which stays open.
func machine(ctx context.Context, dump string) (*target.Snapshot, error) {
	env := input.Env{Files: backsight.NewFiles(input.FileOptions{})}
	var stream input.Stream
	var err error
	if strings.HasSuffix(dump, ".ram") {
		env.RAM = []input.NamedImage{input.ParseNamedImage(dump + "@0")}
		stream, err = backsight.OpenMemory(ctx, env)
	} else {
		stream, err = backsight.Open(ctx, dump, env)
	}
	if err != nil {
		return nil, err
	}
	return stream.Next(ctx)
}
