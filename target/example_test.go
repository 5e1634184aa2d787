package target_test

import (
	"fmt"

	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// A format of captures makes a Snapshot of what it read: registers, and runs of memory, of which
// those added later lie over those added before.
func ExampleBuilder() {
	arch := x86.Archs()[0]
	var memory target.Builder
	memory.Add(0x1000, make([]byte, 32), 4096-32, target.PermRead|target.PermWrite) // zeros behind 32 bytes
	memory.Add(0x1010, []byte{0x78, 0x56, 0x34, 0x12, 0, 0, 0, 0}, 0, target.PermRead|target.PermWrite)
	thread := target.Thread{ID: 7, Crashed: true}
	thread.Regs.Set(arch.SP, 0x1010)
	snap := &target.Snapshot{Arch: arch, Threads: []target.Thread{thread}, Memory: memory.Memory(arch)}

	sp, _ := snap.Threads[0].Regs.Lookup(arch.SP)
	word, ok := snap.Memory.Word(sp)
	fmt.Printf("%#x holds %#x, %t\n", sp, word, ok)
	_, ok = snap.Memory.Word(0x2000)
	fmt.Printf("0x2000 was captured: %t\n", ok)
	// Output:
	// 0x1010 holds 0x12345678, true
	// 0x2000 was captured: false
}
