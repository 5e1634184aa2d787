package kernellog_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/kernels"
	"github.com/backsight/backsight/target"
)

// opened is the snapshot of a log whose kernel lies in the sysroot as vmlinuz.
func opened(t *testing.T, log string, kernel []byte) *target.Snapshot {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "vmlinuz-6.1.0-synth"), kernel, 0o600); err != nil {
		t.Fatal(err)
	}
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{dir}})
	t.Cleanup(func() { _ = files.Close() })
	s, err := backsight.OpenReader(context.Background(), "log", strings.NewReader(log), input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// uImage is a kernel for MIPS as U-Boot loads it (include/image.h).
func uImage(kernel []byte) []byte {
	head := make([]byte, 64)
	for i, v := range []uint32{0x27051956, 0, 0, uint32(len(kernel)), 0x80100000, 0x80100400, 0, 5<<24 | 5<<16 | 2<<8} {
		binary.BigEndian.PutUint32(head[4*i:], v)
	}
	return append(head, kernel...)
}

// TestNamesHaveAddresses: where a log has symbols alone, the kernel's file has their
// addresses, at the offset that the kernel was moved by.
func TestNamesHaveAddresses(t *testing.T) {
	code, data := kernels.ARM64()
	symbols := code.Symbols()
	first, second := symbols[4], symbols[5]
	size := second.Addr - first.Addr
	log := fmt.Sprintf(`[    0.000000] %s
CPU: 0 PID: 95 Comm: sh Not tainted 6.1.0-synth #1
pstate: 00000005 (nzcv)
pc : %[2]s+0x4/%#[3]x
lr : %[2]s+0x4/%#[3]x
Call trace:
 %[2]s+0x4/%#[3]x
 %[2]s+0x8/0x12340
---[ end trace 0000000000000000 ]---
Kernel Offset: 0x10000 from %#[4]x
`, kernels.Banner, first.Name[1:], size, 0)
	snap := opened(t, log, data)
	th := &snap.Threads[0]
	want := first.Addr + 4 + 0x10000
	if l := th.Listed[0]; l.PC != want || !l.ByName || !l.Exact {
		t.Errorf("the innermost frame is %+v, want it at %#x", l, want)
	}
	if l := th.Listed[1]; l.PC != 0 {
		t.Errorf("a function of another size was found at %#x: the file is of another build", l.PC)
	}
	if pc, _ := th.Regs.Lookup(snap.Arch.PC); pc != want {
		t.Errorf("pc is %#x, want %#x", pc, want)
	}
}

// TestAddressesTellTheOffset: addresses printed with their symbols tell where the kernel
// ran, and its file the byte order.
func TestAddressesTellTheOffset(t *testing.T) {
	code, data := kernels.MIPS()
	first, second := code.Symbols()[4], code.Symbols()[5]
	log := fmt.Sprintf(`[    0.000000] %s
$ 0   : 00000000 81d4b3b4 00000010 c00a0000
epc   : %08x %[3]s+0x4/%#[4]x
Call Trace:
[<%08[2]x>] %[3]s+0x4/%#[4]x
`, kernels.Banner, uint32(first.Addr+4+0x30000), first.Name[1:], second.Addr-first.Addr)
	snap := opened(t, log, uImage(data))
	if len(snap.Modules) != 1 || snap.Modules[0].Bias != 0x30000 || !snap.Arch.BigEndian {
		t.Fatalf("modules %+v, %v", snap.Modules, snap.Arch)
	}
}

// TestCodeOfAnotherBuild: the code in a report is compared with the file's.
func TestCodeOfAnotherBuild(t *testing.T) {
	code, data := kernels.MIPS()
	first, second := code.Symbols()[4], code.Symbols()[5]
	log := fmt.Sprintf(`[    0.000000] %s
$ 0   : 00000000 81d4b3b4 00000010 c00a0000
epc   : %08x %[3]s+0x4/%#[4]x
Call Trace:
[<%08[2]x>] %[3]s+0x4/%#[4]x
Code: 01234567 89abcdef <deadbeef> 12345678
`, kernels.Banner, uint32(first.Addr+4), first.Name[1:], second.Addr-first.Addr)
	snap := opened(t, log, uImage(data))
	if got := fmt.Sprint(snap.Issues); !strings.Contains(got, "another build") {
		t.Errorf("issues %s", got)
	}
}

// TestPrintedWordsTellTheOffset: where a report names functions of a module alone, the words that
// it prints of the stack fit the kernel's functions at one distance. Two that fit are too few.
func TestPrintedWordsTellTheOffset(t *testing.T) {
	code, data := kernels.MIPS()
	for _, c := range []struct {
		words int
		bias  uint64
	}{{6, 0x30000}, {2, 0}} {
		var stack strings.Builder
		for _, s := range code.Symbols()[4 : 4+c.words] {
			fmt.Fprintf(&stack, " %08x", uint32(s.Addr+0x30000))
		}
		log := fmt.Sprintf(`[    0.000000] %s
$ 0   : 00000000 00000001 00000010 c00a0000
$28   : 817a4000 817a5ec0 81009480 c00a5658
epc   : c00a5624 bug_c+0x18/0x1c [crashy]
Stack :%s
        ...
Call Trace:
[<c00a5624>] bug_c+0x18/0x1c [crashy]
`, kernels.Banner, stack.String())
		snap := opened(t, log, uImage(data))
		if m := snap.Modules[0]; m.Bias != c.bias || (c.bias != 0) != strings.Contains(fmt.Sprint(snap.Issues), "words of the stack") {
			t.Errorf("%d words: moved by %#x, issues %v", c.words, m.Bias, snap.Issues)
		}
	}
}
