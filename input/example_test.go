package input_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
)

// A capture, compressed or not, is opened by the first format that knows it. Binaries that it
// names are found below a copy of the machine's files.
func ExampleOpen() {
	ctx, archs := context.Background(), cpu.Set(mips.Archs())
	files := input.NewFiles(input.FileOptions{Archs: archs, Formats: []image.Format{elf.Format()}, Sysroots: []string{"../testdata/mips-deref/modules"}})
	defer files.Close()
	capture, err := (&input.Env{Archs: archs, Formats: []input.Format{elfcore.Format()}, Files: files}).Open(ctx, "../testdata/mips-deref/core.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer capture.Close()
	for {
		snap, err := capture.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		pc, _ := snap.Threads[0].Regs.Lookup(snap.Arch.PC)
		fmt.Printf("%s: %s at %#x\n", snap.Command, snap.Fault.Name, pc)
		for _, m := range snap.Modules {
			fmt.Printf("%#x-%#x %s\n", m.Lo, m.Hi, m.Name)
		}
	}
	// Output:
	// usr/bin/netd: SIGSEGV at 0x400007d0
	// 0x3fcc0000-0x3fe9c450 /lib/libc.so.6
	// 0x3fea0000-0x3feb0810 /usr/lib/libproto.so
	// 0x3febe000-0x3fefef50 /lib/ld.so.1
	// 0x40000000-0x40010a40 ../testdata/mips-deref/modules/usr/bin/netd
}
