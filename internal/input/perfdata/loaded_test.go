package perfdata

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// TestSameBuild: a file is the one that was mapped where a part has the pages of a segment, or those up to the image's end.
func TestSameBuild(t *testing.T) {
	segment := func(addr, off uint64, size int, exec bool) image.Segment {
		return image.Segment{Addr: addr, FileOff: off, Size: uint64(size), Data: make([]byte, size), Exec: exec}
	}
	library := &image.Image{Header: image.Header{Segments: image.Segments{segment(0, 0, 0x5000, false), segment(0x5000, 0x5000, 0x25111, true), segment(0x2b900, 0x2b900, 0x2810, false)}}}
	old := &image.Image{Header: image.Header{Segments: image.Segments{segment(0x400000, 0, 0x1a2f4, true), segment(0x61a300, 0x1a300, 0x900, false)}}}
	dll := &image.Image{Header: image.Header{Segments: image.Segments{segment(0x1000, 0x400, 0x3000, true)}}}
	for _, tt := range []struct {
		what  string
		img   *image.Image
		parts []section // offset, size
		same  bool
	}{
		{"its segment", library, []section{{0x5000, 0x26000}}, true},
		{"pages of 64 KB", library, []section{{0, 0x30000}}, true},
		{"another build's, shorter", library, []section{{0x5000, 0x25000}}, false},
		{"another build's, elsewhere", library, []section{{0x6000, 0x26000}}, false},
		{"a part that the program mapped again", library, []section{{0x5000, 0x26000}, {0x9000, 0x2000}}, true},
		{"that part alone", library, []section{{0x9000, 0x2000}}, false},
		{"code first, up to the program's end", old, []section{{0, 0x21b000}}, true},
		{"code first, alone", old, []section{{0, 0x1b000}}, true},
		{"Windows' files are copied", dll, []section{{0, 0x1000}}, true},
		{"nothing told", library, nil, true},
	} {
		l := loaded{}
		for _, p := range tt.parts {
			l.add(&mapping{Range: target.Range{Lo: 0x7f0000000000, Hi: 0x7f0000000000 + p.size}, off: p.off, name: "/lib/x.so", exec: true})
		}
		if l.sameBuild("/lib/x.so", tt.img) != tt.same {
			t.Errorf("%s: %v", tt.what, !tt.same)
		}
	}
}

// TestWithoutMachine: perf before Linux 4.14 does not say through a pipe which processor a recording is of. Calls are shown all the same;
// registers are those of the processor that the user states, else of the one that has just these.
func TestWithoutMachine(t *testing.T) {
	f := newFile(binary.LittleEndian)
	f.feats = nil
	f.mmap(1, 7, 0x400000, 0x1000, 0, protExec, "/bin/sh")
	f.sample(2, 7, 7, nil, 0x7000, 0x400100, make([]byte, 8))
	f.attr = f.words(0, 0, 0, testFields&^(hasRegsUser|hasStackUser), 0, sampleIDAll)
	calls := *f
	calls.events = calls.events[:1:1]
	calls.event(eventSample, userMode, 2, calls.words(0x400100), calls.halves(7, 7), calls.words(2), calls.halves(3, 0), calls.words(1000, 2, 0x400100, 0x400200))
	const want = "unknown 7  /bin/sh@0x400000\n  7  at 2: pc 0x0 sp 0x0 stack 0 0x400100 0x400200\n"
	if got := summary(t, calls.pipe()); got != want {
		t.Errorf("calls:\n%swant\n%s", got, want)
	}
	f.attr = f.words(0, 0, 0, testFields, 0, sampleIDAll, 0, 0, 0, 0, testRegs|1<<63)
	if got := summary(t, f.pipe()); !strings.Contains(got, "--arch does") {
		t.Errorf("registers of nobody knows which processor: %s", got)
	}
	for _, tt := range []struct {
		user, is string
		mask     uint64
	}{{"", "x86_64", testRegs}, {"", "", 1}, {"aarch64", "aarch64", 1}, {"i386", "i", 1}, {"i386", "i", testRegs}} {
		user, _ := environment().Archs.ByName(tt.user, "", false)
		if m := findMachine("", user, tt.mask); m == nil && tt.is != "" || m != nil && m.uname != tt.is {
			t.Errorf("%s, registers %#x: %+v", tt.user, tt.mask, m)
		}
	}
}
