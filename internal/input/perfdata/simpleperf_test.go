package perfdata

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/protobuf"
)

// fileStruct is a file with its functions as simpleperf wrote it early.
func (f *file) fileStruct(name string, kind uint32, first uint64, list []function, behind ...uint64) []byte {
	b := append([]byte(name+"\x00"), f.halves(kind)...)
	b = append(append(b, f.words(first)...), f.halves(uint32(len(list)))...)
	for _, fn := range list {
		b = append(append(append(b, f.words(fn.addr)...), f.halves(uint32(fn.size))...), fn.name+"\x00"...)
	}
	b = append(b, f.words(behind...)...)
	return append(f.halves(uint32(len(b))), b...)
}

// fileMessage is the same as a message: FileFeature of record_file.proto.
func (f *file) fileMessage(name string, kind uint32, first uint64, list []function, offset uint64) []byte {
	b := append(protobuf.AppendBytes(nil, 1, []byte(name)), protobuf.Numbers(0, uint64(kind), first)...)
	for _, fn := range list {
		b = protobuf.AppendBytes(b, 4, protobuf.AppendBytes(protobuf.Numbers(fn.addr, fn.size), 3, []byte(fn.name)))
	}
	b = protobuf.AppendBytes(b, 6, protobuf.Numbers(offset))
	return append(f.halves(uint32(len(b))), b...)
}

// TestFunctions: simpleperf puts the names of functions into a recording, and the calls that it found in place of registers and stack.
//
//	libx.so    linked at 0x2000, which lies at 0x1000 in the file
//	           file's 0x1000-0x3000 mapped at 0x70001000: 0x70001040 is 0x2040
//	app.jar    Java's bytecode, mapped as data: by offsets in the file
//	jit:1-2    what ART compiled, a file of its own: by target addresses
func TestFunctions(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.mmap(1, 7, 0x70001000, 0x2000, 0x1000, protExec, "/lib/libx.so")
	f.mmap(1, 7, 0x71000000, 0x2000, 0, 1, "/app.jar")
	f.mmap(1, 7, 0x72000000, 0x1000, 0, protExec, "/jit:1-2")
	calls := []uint64{contextKernel, 0xffffff8000001010, contextUser, 0x70001040, 0x70001100, 0x71000140, 0x72000010, 0x70001fff}
	f.event(eventSample, userMode, 2, f.words(calls[1]), f.halves(7, 7), f.words(2), f.halves(3, 0), f.words(1000, uint64(len(calls))), f.words(calls...), f.words(abiNone, 0))
	library := []function{{0x2100, 0x40, "caller"}, {0x2000, 0x100, "_ZN1x4leafEv"}}
	jar := []function{{0x100, 0x80, "app.Main.run"}}
	jit := []function{{0x72000000, 0x40, "app.Main.loop"}}
	kernel := []function{{0xffffff8000001000, 0x100, "el0_irq"}}
	f.feats[featureFile] = bytes.Join([][]byte{f.fileStruct("/lib/libx.so", fileELF, 0x2000, library, 0x1000), f.fileStruct("/app.jar", fileDEX, 0, jar[:1], 1<<32),
		f.fileStruct("/jit:1-2", fileELF, 0, jit, 0), f.fileStruct(kernelName, 0, 0, kernel)}, nil)
	early := f.bytes()
	delete(f.feats, featureFile)
	f.feats[featureFile2] = bytes.Join([][]byte{f.fileMessage("/lib/libx.so", fileELF, 0x2000, library, 0x1000), f.fileMessage("/app.jar", fileDEX, 0, jar, 0),
		f.fileMessage("/jit:1-2", fileELF, 0, jit, 0), f.fileMessage(kernelName, 0, 0, kernel, 0)}, nil)
	for name, data := range map[string][]byte{"structures": early, "messages": f.bytes(), "cut": f.bytes()[:len(f.bytes())-3]} {
		s, err := open(t.Context(), input.NewCapture("perf.data", data), environment())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		snap, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		th := &snap.Threads[0]
		for _, l := range append(th.Inner, th.Listed...) {
			fmt.Fprintf(&got, "%s+%#x ", l.Symbol, l.Offset)
		}
		if want := "el0_irq+0x10 _ZN1x4leafEv+0x40 caller+0x0 app.Main.run+0x40 app.Main.loop+0x10 +0x0 "; got.String() != want && name != "cut" {
			t.Errorf("%s:\n%s\nwant\n%s", name, got.String(), want)
		}
		if !th.Listed[1].Within {
			t.Errorf("%s: what simpleperf found lies within calls", name)
		}
	}
}
