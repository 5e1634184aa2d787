package report_test

import (
	"context"
	"fmt"
	"log"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/symbol"
)

// A program that wants the frames of a report, and no text, takes them from the report.
func Example() {
	ctx := context.Background()
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{"../testdata/mips-deref/modules"}})
	defer files.Close()
	capture, err := backsight.Open(ctx, "../testdata/mips-deref/core.gz", input.Env{Files: files})
	if err != nil {
		log.Fatal(err)
	}
	defer capture.Close()
	snap, err := capture.Next(ctx)
	if err != nil {
		log.Fatal(err)
	}
	unwinder, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		log.Fatal(err)
	}
	traces, err := unwinder.Backtraces(ctx, snap)
	if err != nil {
		log.Fatal(err)
	}
	r := backsight.Report(ctx, snap, traces, &symbol.Symbolizer{})
	fmt.Println(r.Crash.Signal, r.Crash.Kind)
	frames := r.Threads[0].Frames
	for i := range frames[:3] {
		f := &frames[i]
		fmt.Printf("%s:%d: %s, begins at %#x, %s\n", f.File, f.Line, f.Function, f.FunctionAt(), f.Trust)
	}
	// Output:
	// SIGSEGV null-pointer
	// netd.c:24: pack, begins at 0x400007d0, certain
	// netd.c:32: on_route, begins at 0x40000844, certain
	// proto.c:17: word, begins at 0x3fea05b0, certain
}
