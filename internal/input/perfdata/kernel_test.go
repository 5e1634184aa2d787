package perfdata

import (
	"encoding/binary"
	"strings"
	"testing"
)

// TestLoadedByKernel: frames in a module of the kernel, and in what it made of a BPF program, lie in these. Of what was mapped since, none is
// what was there before.
func TestLoadedByKernel(t *testing.T) {
	f := newFile(binary.LittleEndian)
	const at = 0xffffffffc0100000
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(0xffffffff81000000, 0x1000, 0xffffffff81000000), []byte(kernelName+"_text\x00"))
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(at, 0x3000, 0), []byte("[nf_tables]\x00"))
	f.event(eventMmap, 1, 1, f.halves(kernelPID, 0), f.words(at+0x8000, 0x1000, 0), []byte("[old]\x00"))
	f.event(eventKsymbol, 0, 2, f.words(at+0x8800), f.halves(0x100, 1), []byte("bpf_prog_6deef7357e7b4530\x00"))
	f.event(eventKsymbol, 0, 2, f.words(at+0x9800), f.halves(0x100, 1|1<<16), []byte("bpf_prog_removed\x00"))
	f.sample(3, 7, 7, []uint64{contextKernel, at + 0x8800, at + 0x1000, at + 0x9810, 0xffffffff81000010}, 0x7000, 0x1100, nil)
	got := summary(t, f.bytes())
	want := "x86_64 7  [kernel.kallsyms]@0xffffffff81000000 [nf_tables]@0xffffffffc0100000 bpf_prog_6deef7357e7b4530@0xffffffffc0108800\n"
	if !strings.HasPrefix(got, want) {
		t.Errorf("%swant\n%s", got, want)
	}
}
