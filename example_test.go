package backsight_test

import (
	"context"
	"log"
	"os"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/render"
)

func Example() {
	where := backsight.Config{Files: input.FileOptions{Sysroots: []string{"testdata/mips-deref/modules"}}}
	for report, err := range backsight.Backtraces(context.Background(), "testdata/mips-deref/core.gz", where) {
		if err != nil {
			log.Fatal(err)
		}
		os.Stdout.Write(render.AppendText(nil, report, render.Style{}))
	}
	// Output:
	// Thread 30978 (crashed): SIGSEGV
	//     the program reads from 0x40 through a pointer that is NULL
	//     a0 came from an argument of pack
	//     command: usr/bin/netd
	// #0  0x400007d0  pack+0x0                 netd.c:24
	// #1  0x400008b0  on_route+0x6c            netd.c:32
	// #2  0x3fea064c  word+0x9c                proto.c:17
	// #3  0x3fea06e4  proto_parse+0x74         proto.c:30
	// #4  0x3fea0734  proto_parse+0xc4         proto.c:26
	// #5  0x3fea0734  proto_parse+0xc4         proto.c:26
	// #6  0x3fea0734  proto_parse+0xc4         proto.c:26
	// #7  0x40000824  serve+0x48               netd.c:39
	// #8  0x4000063c  main+0x3c                netd.c:47
	// #9  0x3fce0974  libc.so.6+0x20974        [cfi]
	// #10 0x3fce0ab0  __libc_start_main+0xd4   in libc.so.6
	// #11 0x400006b0  __start+0x50             in netd
	//     stop: root
}
