package image_test

import (
	"fmt"
	"log"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/image/elf"
)

// An executable is opened by the first format that knows it; addresses are those that the file
// states.
func Example() {
	img, err := image.Open("../testdata/mips-deref/modules/usr/bin/netd", []image.Format{elf.Format()}, image.Options{Archs: cpu.Set(mips.Archs())})
	if err != nil {
		log.Fatal(err)
	}
	defer img.Close()
	main, ok := img.Symbols.Named("main")
	if !ok {
		log.Fatal("no main")
	}
	word, _ := img.Uint(main.Addr, 4)
	fmt.Printf("%s: main at %#x, first instruction %#08x\n", img.Arch, main.Addr, word)
	inside, _ := img.Symbols.At(main.Addr + 8)
	fmt.Printf("%#x is in %s, in code: %t\n", main.Addr+8, inside.Name, img.Segments.Executable(main.Addr+8))
	// Output:
	// mips o32 big-endian: main at 0x600, first instruction 0x3c1c0002
	// 0x608 is in main, in code: true
}
