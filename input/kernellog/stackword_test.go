package kernellog

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/image"
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
	b := &binaries{arch: arch, kernel: &target.Module{Name: "vmlinux", Image: img, Range: target.Range{Lo: text, Hi: text + 0x200}},
		modules: map[string]*target.Module{"toy": {Name: "toy", Range: target.Range{Lo: toy, Hi: toy + 0x1000}}}}
	listed := []target.Listed{{PC: toy + 0x20, Exact: true}, {PC: text + 0x88}, {PC: text + 0xc8}}
	r := &record{regs: []register{{name: "$28"}}}
	for _, v := range []uint64{1, toy + 0x44, text + 0x50, text + 0x48, text + 0x88, text + 0xc8} {
		r.stack.words = append(r.stack.words, word{v, true})
	}
	var got []string
	for _, l := range withStackWords(listed, r, b) {
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
