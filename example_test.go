package backsight_test

import (
	"context"
	"fmt"
	"log"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/symbol"
)

func Example() {
	ctx := context.Background()
	files := input.NewFiles(input.FileOptions{Archs: backsight.CPUs(), Sysroot: "testdata/mips-deref/modules"})
	defer files.Close()
	capture, err := backsight.Open(ctx, "testdata/mips-deref/core.gz", files)
	if err != nil {
		log.Fatal(err)
	}
	defer capture.Close()
	snap, err := capture.Next()
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
	var names symbol.Symbolizer
	for _, f := range traces[0].Frames {
		fmt.Printf("%#x", f.PC)
		if m := f.Module; m != nil && m.Image != nil {
			at := names.Lookup(m.Image, m.ToImage(f.CallSite))
			fmt.Printf(" %s %s:%d", at.Function, at.File, at.Line)
		}
		fmt.Printf(" (%s, %s)\n", f.Method, f.Trust)
	}
	fmt.Println("stop:", traces[0].Stop.Reason)
	// Output:
	// 0x400007d0 pack netd.c:24 (context, certain)
	// 0x400008b0 on_route netd.c:32 (cfi, certain)
	// 0x3fea064c word proto.c:17 (cfi, certain)
	// 0x3fea06e4 proto_parse proto.c:30 (cfi, certain)
	// 0x3fea0734 proto_parse proto.c:26 (cfi, certain)
	// 0x3fea0734 proto_parse proto.c:26 (cfi, certain)
	// 0x3fea0734 proto_parse proto.c:26 (cfi, certain)
	// 0x40000824 serve netd.c:39 (cfi, certain)
	// 0x4000063c main netd.c:47 (cfi, certain)
	// 0x3fce0974  :0 (cfi, certain)
	// 0x3fce0ab0 __libc_start_main :0 (cfi, certain)
	// 0x400006b0 __start :0 (cfi, certain)
	// stop: root
}
