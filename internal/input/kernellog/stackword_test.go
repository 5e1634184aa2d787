package kernellog

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/target"
)

// TestStackWords: the kernel lists a module's function without code and, behind it, a stale return
// address. The printed stack has another one of the kernel in front of that, and words that are
// none: a module's, a pointer to data, one with no call before.
func TestStackWords(t *testing.T) {
	const text, toy = 0x80100000, 0xc00a0000
	data := make([]byte, 0x200)
	for _, call := range []int{0x40, 0x80, 0xc0} { // each returns 8 bytes behind
		binary.LittleEndian.PutUint32(data[call:], 0x0040f809) // jalr v0
	}
	arch := mipsel(t)
	img := image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: text, Size: 0x200, Data: data, Exec: true}}}, nil)
	b := &binaries{arch: arch, machine: machineNamed(arch.Name), facts: &facts{}, kernel: &target.Module{Name: "vmlinux", Image: img, Range: target.Range{Lo: text, Hi: text + 0x200}},
		modules: map[string]*target.Module{"toy": {Name: "toy", Range: target.Range{Lo: toy, Hi: toy + 0x1000}}}}
	listed := []target.Listed{{PC: toy + 0x20, Exact: true}, {PC: text + 0x88}, {PC: text + 0xc8}}
	r := &record{regs: []register{{name: "$28"}}}
	for _, v := range []uint64{1, toy + 0x44, text + 0x50, text + 0x48, text + 0x88, text + 0xc8} {
		r.stack.words = append(r.stack.words, stackWord{v, true})
	}
	var got []string
	for _, l := range withStackWords(&evidence{record: r, binaries: b}, listed) {
		got = append(got, fmt.Sprintf("%x/searched %t/gap %t", l.PC, l.Searched, l.Gap))
	}
	want := "c00a0020/searched false/gap false 80100048/searched true/gap false 80100088/searched false/gap true 801000c8/searched false/gap false"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
}

func mipsel(t *testing.T) *cpu.Arch {
	for _, a := range mips.Archs() {
		if a.AddrSize == 4 && !a.BigEndian && a.Name == "mips" {
			return a
		}
	}
	t.Fatal("no little-endian MIPS")
	return nil
}

// TestCalleeOnStack: a kernel for ARM calls a function of a module without code through r5, which the function saves
// with r4, r6 and r7. The word is no return address; behind another call, far from the return address, or behind the
// return address into the function, it may be one.
func TestCalleeOnStack(t *testing.T) {
	const text, toy = 0xc0300000, 0xbf000000
	data := make([]byte, 0x200)
	binary.LittleEndian.PutUint32(data[0x40:], 0xe12fff35) // blx r5
	binary.LittleEndian.PutUint32(data[0x80:], 0xe12fff33) // blx r3
	arch := arm.Archs()[0]
	img := image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: text, Size: 0x200, Data: data, Exec: true}}}, nil)
	b := &binaries{arch: arch, machine: machineNamed(arch.Name), facts: &facts{}, kernel: &target.Module{Name: "vmlinux", Image: img, Range: target.Range{Lo: text, Hi: text + 0x200}},
		modules: map[string]*target.Module{"toy": {Name: "toy", Range: target.Range{Lo: toy, Hi: toy + 0x1000}}}}
	for want, words := range map[string][]uint64{
		"bf000bac c0300044":          {toy + 0xbac, 1, toy + 0x664, 1, 2, text + 0x44},
		"bf000bac bf000664 c0300084": {toy + 0xbac, 1, toy + 0x664, 1, 2, text + 0x84},
		"bf000bac bf000668 c0300044": {toy + 0xbac, 1, toy + 0x668, 1, 2, 3, 4, 5, 6, 7, text + 0x44},
		"bf000bac bf000c00 c0300044": {toy + 0xbac, 1, toy + 0xc00, 1, 2, text + 0x44},
	} {
		r := &record{regs: []register{{name: "sp"}}}
		for _, v := range words {
			r.stack.words = append(r.stack.words, stackWord{v, true})
		}
		var got []string
		for _, l := range withStackWords(&evidence{record: r, binaries: b}, []target.Listed{{PC: toy + 0xb00, Exact: true}})[1:] {
			got = append(got, fmt.Sprintf("%x", l.PC))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s, want %s", s, want)
		}
	}
}

// TestHoldsCode: where the log says it, words that point to a module's data are no return addresses.
func TestHoldsCode(t *testing.T) {
	var f facts
	for _, line := range []string{
		"crashy 20480 0 - Live 0xbf000000 (OE)",
		"/sys/module/crashy/sections/.text:0xbf000000", "/sys/module/crashy/sections/.rodata.str1.4:0xbf000800", "/sys/module/crashy/sections/.text.unlikely:0xbf000c00",
		"Register r12 information: 1-page vmalloc region starting at 0xbf000000 allocated at load_module+0xa90/0x21c8",
		"Register r4 information: 1-page vmalloc region starting at 0xbf002000 allocated at load_module+0xa90/0x21c8",
		"Register r10 information: 2-page vmalloc region starting at 0xbf004000 allocated at kernel_clone+0xac/0x3c4",
		"Register r1 information: 99999999999-page vmalloc region starting at 0xbf000000 allocated at load_module+0xa90/0x21c8",
	} {
		f.take(line)
	}
	for addr, want := range map[uint64]bool{0xbf000010: true, 0xbf000810: false, 0xbf000c10: true, 0xbf002380: false, 0xbf004380: true} {
		if f.holdsCode("crashy", addr) != want || !f.holdsCode("other", addr) {
			t.Errorf("%#x holds code: %v", addr, !want)
		}
	}
}
